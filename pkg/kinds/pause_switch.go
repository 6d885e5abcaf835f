package kinds

import "github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"

// PauseSwitch returns the path of the boolean field that pauses an object of the kind, or nil. For a
// custom kind, it returns the first common path that is a boolean in the schema.
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
