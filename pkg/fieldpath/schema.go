package fieldpath

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// partsKey is the key under which SchemaOf stores all schemas of a document, for Resolve.
const partsKey = "components"

// Resolve returns the schema to which a reference refers, or nil if root lacks it. A schema that is not a
// reference is returned unchanged. If a reference has a default, the API server wraps the reference in allOf.
func Resolve(root, schema map[string]any) map[string]any {
	ref, _ := schema["$ref"].(string)
	if all, _ := schema["allOf"].([]any); len(all) == 1 {
		only, _ := all[0].(map[string]any)
		ref, _ = only["$ref"].(string)
	}
	if ref == "" {
		return schema
	}
	return Object(root, partsKey, strings.TrimPrefix(ref, "#/components/schemas/"))
}

// SchemaOf returns the schema of a kind in an OpenAPI v3 document, with all schemas of the document under partsKey.
func SchemaOf(document []byte, kind schema.GroupVersionKind) (map[string]any, error) {
	var doc struct {
		Components struct {
			Schemas map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", kind.Kind, err)
	}
	for _, part := range doc.Components.Schemas {
		found, _ := part.(map[string]any)
		all := Objects(found["x-kubernetes-group-version-kind"])
		if len(all) == 1 && all[0]["group"] == kind.Group && all[0]["version"] == kind.Version && all[0]["kind"] == kind.Kind {
			found = maps.Clone(found)
			found[partsKey] = doc.Components.Schemas // built-in kinds refer to other schemas
			return found, nil
		}
	}
	return nil, fmt.Errorf("read the schema of %s: %w", kind.Kind, errNoSchema)
}

var errNoSchema = errors.New("the server's OpenAPI document does not describe this type")

// Open reports whether an object may have fields that its schema does not describe.
func Open(schema map[string]any) bool {
	return schema["x-kubernetes-preserve-unknown-fields"] == true
}

// Object returns the nested object at a path of field names, or nil.
func Object(of map[string]any, names ...string) map[string]any {
	for _, name := range names {
		of, _ = of[name].(map[string]any)
	}
	return of
}

// Strings returns the strings in a list. It skips other elements.
func Strings(value any) []string { return elements[string](value) }

// Objects returns the objects in a list. It skips other elements.
func Objects(value any) []map[string]any { return elements[map[string]any](value) }

func elements[T any](value any) []T {
	list, _ := value.([]any)
	var all []T
	for _, v := range list {
		if element, is := v.(T); is {
			all = append(all, element)
		}
	}
	return all
}
