package cmd

import (
	"fmt"
	"slices"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/schemawalk"
)

// pathFlag is the value of --replicas-path.
type pathFlag struct {
	path *fieldpath.Path
}

// Set takes a value from the command line.
func (f *pathFlag) Set(word string) error {
	path, err := fieldpath.ParsePath(word)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(path.Steps, hasPlaceholder) {
		return fmt.Errorf("path %q: replace %s with the key of the element", word, schemawalk.Unknown)
	}
	f.path = &path
	return nil
}

// hasPlaceholder reports whether a step of a path was copied from a list of candidates
// without putting in the key.
func hasPlaceholder(s fieldpath.Step) bool {
	return s.Name == schemawalk.Unknown || slices.ContainsFunc(s.Where, func(c fieldpath.Comparison) bool { return c.Value == schemawalk.Unknown })
}

// String returns the value.
func (f *pathFlag) String() string {
	if f.path == nil {
		return ""
	}
	return f.path.String()
}

// Type names the kind of value in help texts.
func (f *pathFlag) Type() string { return "path" }
