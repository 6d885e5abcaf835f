package cmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/replicafield"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// unknownField reports whether a server refused a change because an object has no such
// field: then it quotes the whole object.
func unknownField(err error) bool {
	return (apierrors.IsBadRequest(err) || apierrors.IsInvalid(err)) && strings.Contains(err.Error(), "unknown field ")
}

// noField is the error for a path to a field that a schema does not have. It names the
// nearest fields.
func noField(t observe.Target, path fieldpath.Path, schema map[string]any) error {
	taken, siblings := missingAt(path, schema)
	var nearest []string
	if taken < len(path.Steps) {
		nearest = nearestTo(path.Steps[taken].Name, siblings)
	}
	for i, name := range nearest {
		steps := append(slices.Clone(path.Steps[:taken]), fieldpath.Step{Kind: fieldpath.Field, Name: name})
		nearest[i] = fieldpath.Path{Steps: append(steps, path.Steps[taken+1:]...)}.String()
	}
	if len(nearest) == 0 {
		for _, c := range replicafield.Candidates(schema, nil) {
			nearest = append(nearest, c.Path)
		}
		nearest = nearest[:min(len(nearest), 3)]
	}
	return fmt.Errorf("%s has no field %s%s", t, path, didYouMean(nearest))
}

// missingAt is how many steps of a path a schema has, and the fields that it has where
// the next step is missing.
func missingAt(path fieldpath.Path, schema map[string]any) (taken int, siblings []string) {
	for i, step := range path.Steps {
		if step.Kind != fieldpath.Field {
			schema = fieldpath.Object(schema, "items")
			continue
		}
		properties := fieldpath.Object(schema, "properties")
		next, is := properties[step.Name].(map[string]any)
		if !is {
			return i, slices.Sorted(maps.Keys(properties))
		}
		schema = next
	}
	return len(path.Steps), nil
}

// unreadField is the error for a count whose field the CRD names, which the user may not
// read.
func unreadField(kind kinds.Kind) error {
	return fmt.Errorf("%w: no permission to read the CRD %s, which names the field behind /scale; name it with --replicas-path", outcome.ErrForbidden, kind.CRD())
}
