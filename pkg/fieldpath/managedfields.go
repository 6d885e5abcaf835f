package fieldpath

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Manager is who last set the field of an object, as the server has recorded it
// in managedFields, and when. It is "" where nobody is recorded.
func (p Path) Manager(obj *unstructured.Unstructured) (manager string, at time.Time) {
	for _, entry := range obj.GetManagedFields() {
		if !p.ManagedBy(entry, obj.Object) {
			continue
		}
		var t time.Time
		if entry.Time != nil {
			t = entry.Time.Time
		}
		if manager == "" || t.After(at) {
			manager, at = entry.Manager, t
		}
	}
	return manager, at
}

// ManagedBy reports whether an entry has the field of the object or, where a list
// is managed as a whole, what the field is in.
func (p Path) ManagedBy(entry metav1.ManagedFieldsEntry, obj map[string]any) bool {
	var managed map[string]any
	if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &managed) != nil {
		return false
	}
	var value any = obj
	for i, s := range p.Steps {
		if i > 0 && len(managed) == 0 {
			return true // of what is further in, nothing is recorded
		}
		found := s.find(value)
		if len(found) != 1 {
			return false
		}
		value = inside(value, found[0])
		if managed = under(managed, found[0], value); managed == nil {
			return false
		}
	}
	return true
}

// under is what is recorded below a field, or below an element of a list, which
// is recorded with its keys.
func under(managed map[string]any, key, value any) map[string]any {
	if name, is := key.(string); is {
		return Object(managed, "f:"+name)
	}
	element, _ := value.(map[string]any)
	for name := range managed {
		var keys map[string]any
		if json.Unmarshal([]byte(strings.TrimPrefix(name, "k:")), &keys) == nil && has(element, keys) {
			return Object(managed, name)
		}
	}
	return nil
}

// has reports whether an element has all of the keys with their values.
func has(element, keys map[string]any) bool {
	for k, v := range keys {
		if fmt.Sprint(element[k]) != fmt.Sprint(v) {
			return false
		}
	}
	return true
}
