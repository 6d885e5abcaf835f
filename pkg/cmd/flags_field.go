package cmd

import (
	"errors"
	"fmt"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// fieldFlag is the value of --template-path and --image-path: a field under .spec.
type fieldFlag struct {
	path *fieldpath.Path
}

// Set takes a value from the command line.
func (f *fieldFlag) Set(word string) error {
	path, err := fieldpath.ParseSteps(word)
	if err != nil {
		return fmt.Errorf("path %q: %w", word, err)
	}
	last := path.Steps[len(path.Steps)-1]
	if path.Steps[0].Name != "spec" || len(path.Steps) == 1 || last.Kind != fieldpath.Field {
		return errors.New("it must be a field in .spec, such as .spec.template")
	}
	f.path = &path
	return nil
}

// String returns the value.
func (f *fieldFlag) String() string {
	if f.path == nil {
		return ""
	}
	return f.path.String()
}

// Type names the kind of value in help texts.
func (f *fieldFlag) Type() string { return "path" }
