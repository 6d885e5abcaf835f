package cmd

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/schemawalk"
)

func addReplicasPathFlag(cmd *cobra.Command, path **fieldpath.Path) {
	cmd.Flags().Var(replicasPathFlag(path), "replicas-path", "JSONPath of the replica field, for types that do not name it.")
}

func replicasPathFlag(path **fieldpath.Path) parsedFlag[fieldpath.Path] {
	return parsedFlag[fieldpath.Path]{path, parseReplicasPath, "path"}
}

func parseReplicasPath(word string) (fieldpath.Path, error) {
	path, err := fieldpath.ParsePath(word)
	if err == nil && slices.ContainsFunc(path.Steps, hasPlaceholder) {
		err = fmt.Errorf("path %q: replace %s with the key of the element", word, schemawalk.Unknown)
	}
	return path, err
}

// hasPlaceholder reports whether a step of a path was copied from a list of candidates
// without putting in the key.
func hasPlaceholder(s fieldpath.Step) bool {
	return s.Name == schemawalk.Unknown || slices.ContainsFunc(s.Where, func(c fieldpath.Comparison) bool { return c.Value == schemawalk.Unknown })
}

// specFieldFlag is the value of --template-path and --image-path: a field under .spec.
func specFieldFlag(path **fieldpath.Path) parsedFlag[fieldpath.Path] {
	return parsedFlag[fieldpath.Path]{path, parseSpecField, "path"}
}

func parseSpecField(word string) (fieldpath.Path, error) {
	path, err := fieldpath.ParseSteps(word)
	if err != nil {
		return path, fmt.Errorf("path %q: %w", word, err)
	}
	last := path.Steps[len(path.Steps)-1]
	if path.Steps[0].Name != "spec" || len(path.Steps) == 1 || last.Kind != fieldpath.Field {
		return path, errors.New("it must be a field in .spec, such as .spec.template")
	}
	return path, nil
}
