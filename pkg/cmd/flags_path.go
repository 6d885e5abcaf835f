package cmd

import "github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"

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
	f.path = &path
	return nil
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
