package cmd

import (
	"errors"
	"io"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
)

// errNothingFound is the error of a verb that has no object to change or to wait for,
// because nothing matches its arguments.
var errNothingFound = errors.New("no matching resources found")

// sayNothingFound says that there are no objects in a namespace, or in all for "". That is
// no error of a verb that reads, deletes, or parks objects, or waits until they are gone: it
// has nothing to do.
func sayNothingFound(w io.Writer, objects, namespace string) error {
	if namespace != "" {
		namespace = " in " + namespace + " namespace"
	}
	return escape.PrintLine(w, "No %s found%s.", objects, namespace)
}

// sayNothingFound says that nothing matches the arguments.
func (f *targetFlags) sayNothingFound(o *commonOptions) error {
	namespace, _, err := o.clients.Namespace()
	if err != nil {
		return err
	}
	if f.allNamespaces {
		namespace = ""
	}
	return sayNothingFound(o.streams.ErrOut, "resources", namespace)
}
