package candidates

import (
	"fmt"
	"slices"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// ParsePath is like fieldpath.ParsePath, but rejects a path that contains Unknown.
func ParsePath(word string) (fieldpath.Path, error) {
	path, err := fieldpath.ParsePath(word)
	if err == nil && slices.ContainsFunc(path.Steps, hasPlaceholder) {
		err = fmt.Errorf("path %q: replace %s with the key of the element", word, Unknown)
	}
	return path, err
}

func hasPlaceholder(s fieldpath.Step) bool {
	return s.Name == Unknown || slices.ContainsFunc(s.Where, func(c fieldpath.Comparison) bool { return c.Value == Unknown })
}
