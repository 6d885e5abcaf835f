package kinds

import "github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"

// PauseSwitch returns the path of the boolean field that pauses the controller of an object. For a
// custom kind, it is a usual name that the schema has. PauseSwitch returns nil if there is none.
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
