package kinds

import "github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"

// PauseSwitch returns the boolean field that pauses the controller of an object: the built-in
// one, or else the one in the schema. It is nil if there is none.
func PauseSwitch(kind Kind, schema map[string]any) []string {
	if kind.BuiltIn() {
		return workloads()[kind.CRD()].pauseSwitch
	}
	for _, path := range [][]string{{"spec", "paused"}, {"spec", "suspend"}, {"spec", "updateStrategy", "paused"}} {
		at := schema
		for _, name := range path {
			at = fieldpath.Object(fieldpath.Resolve(schema, at), "properties", name)
		}
		if fieldpath.Resolve(schema, at)["type"] == "boolean" {
			return path
		}
	}
	return nil
}
