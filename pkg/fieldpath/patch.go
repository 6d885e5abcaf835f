package fieldpath

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// operation is one operation of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// Patch makes the JSON patch that sets the integer at the path to n in the
// object as it was read, and changes nothing else. It begins by replacing the
// resourceVersion with the one that was read: if the object has changed since,
// the server answers with a conflict, as a failed test operation would not, and
// the places that were found are places in that very version.
//
// Fields that are absent are added, with the objects around them. An element of
// a list is not: it is an error if there is none, as are an object without
// resourceVersion, a value that is there and is no integer, and all for which
// Get returns an error.
func (p Path) Patch(obj map[string]any, n int64) ([]byte, error) {
	version, _, err := unstructured.NestedString(obj, "metadata", "resourceVersion")
	if err != nil {
		return nil, fmt.Errorf("read the version of the object: %w", err)
	}
	if version == "" {
		return nil, errors.New("the object has no resourceVersion, which a safe change requires")
	}
	change, err := p.change(obj, n)
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal([]operation{{"replace", "/metadata/resourceVersion", version}, change})
	if err != nil {
		return nil, fmt.Errorf("make the patch: %w", err)
	}
	return patch, nil
}

// change is the operation that sets the integer.
func (p Path) change(obj map[string]any, n int64) (operation, error) {
	at, value, taken, err := p.Locate(obj)
	if err != nil {
		return operation{}, err
	}
	rest := p.Steps[taken:]
	if len(rest) == 0 {
		if _, is := Integer(value); !is && value != nil {
			return operation{}, p.notInteger(value)
		}
		return operation{"replace", pointer(at), n}, nil
	}
	for i, s := range rest {
		if s.Kind != Field {
			return operation{}, fmt.Errorf("%s does not exist: elements of a list are changed, never added", Path{p.Steps[:taken+i+1]})
		}
	}
	if value == nil {
		return operation{"replace", pointer(at), nest(rest, n)}, nil // instead of the null
	}
	return operation{"add", pointer(append(at, rest[0].Name)), nest(rest[1:], n)}, nil
}

// nest is n within an object for each of the fields.
func nest(fields []Step, n int64) any {
	var value any = n
	for _, f := range slices.Backward(fields) {
		value = map[string]any{f.Name: value}
	}
	return value
}

// pointer is a Place as a JSON pointer (RFC 6901).
func pointer(at Place) string {
	var b strings.Builder
	for _, key := range at {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(fmt.Sprint(key)))
	}
	return b.String()
}
