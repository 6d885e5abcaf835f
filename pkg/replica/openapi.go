package replica

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// schemaOf picks the schema of a kind out of an OpenAPI v3 document. The kinds
// that a schema is of are in its extension x-kubernetes-group-version-kind.
func schemaOf(document []byte, kind schema.GroupVersionKind) (map[string]any, error) {
	var doc struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", kind.Kind, err)
	}
	for _, raw := range doc.Components.Schemas {
		var head struct {
			Kinds []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		}
		// Other extensions of the name may have another form; they are not it.
		if json.Unmarshal(raw, &head) != nil || len(head.Kinds) != 1 || head.Kinds[0] != kind {
			continue
		}
		var found map[string]any
		if err := json.Unmarshal(raw, &found); err != nil {
			return nil, fmt.Errorf("read the schema of %s: %w", kind.Kind, err)
		}
		return found, nil
	}
	return nil, fmt.Errorf("read the schema of %s: %w", kind.Kind, errNoSchema)
}
