package kinds

import (
	"errors"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// errNoSwitch means that a kind of another program cannot be paused.
var errNoSwitch = errors.New("its type has no switch for that: no boolean field .spec.paused, .spec.suspend or .spec.updateStrategy.paused")

// PauseSwitch returns the boolean field that pauses the controller of an object: the built-in
// one, or else the one in the schema.
func PauseSwitch(kind Kind, schema map[string]any) ([]string, error) {
	if kind.BuiltIn() {
		if path := workloads()[kind.CRD()].pauseSwitch; path != nil {
			return path, nil
		}
		return nil, errNoSwitch
	}
	for _, path := range [][]string{{"spec", "paused"}, {"spec", "suspend"}, {"spec", "updateStrategy", "paused"}} {
		at := schema
		for _, name := range path {
			at = fieldpath.Object(fieldpath.Resolve(schema, at), "properties", name)
		}
		if fieldpath.Resolve(schema, at)["type"] == "boolean" {
			return path, nil
		}
	}
	return nil, errNoSwitch
}
