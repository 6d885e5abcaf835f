package fieldpath

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Manager returns the field manager that last set the field, and the time. It returns "" if managedFields
// does not record the field. Entries with the field itself take precedence over entries with only an
// enclosing object, because other managers may set fields in that object.
func (p Path) Manager(obj *unstructured.Unstructured) (manager string, at time.Time) {
	closest := 0
	place, _, taken, err := p.Locate(obj.Object)
	if err != nil {
		return "", at
	}
	for _, entry := range obj.GetManagedFields() {
		depth := p.managedAt(entry, obj.Object, place, taken)
		if depth == 0 {
			continue
		}
		var t time.Time
		if entry.Time != nil {
			t = entry.Time.Time
		}
		if depth > closest || depth == closest && t.After(at) {
			manager, at, closest = entry.Manager, t, depth
		}
	}
	return manager, at
}

// ManagedBy reports whether an entry of managedFields contains the field at the path in obj, or an
// entire enclosing list or object.
func (p Path) ManagedBy(entry metav1.ManagedFieldsEntry, obj map[string]any) bool {
	place, _, taken, err := p.Locate(obj)
	return err == nil && p.managedAt(entry, obj, place, taken) > 0
}

// managedAt returns the number of steps of the path that an entry of managedFields records, or zero
// if the entry does not contain the field. place and taken are results of Locate.
func (p Path) managedAt(entry metav1.ManagedFieldsEntry, obj map[string]any, place Place, taken int) int {
	depth := 0
	Recorded(entry).Iterate(func(recorded fieldpath.Path) {
		if (len(recorded) <= taken || taken == len(p.Steps)) && agrees(recorded, place, obj) {
			depth = max(depth, min(len(recorded), len(place)))
		}
	})
	return depth
}

// Recorded returns the fields in an entry of managedFields, without their enclosing objects and lists.
// The set is empty if the entry is invalid.
func Recorded(entry metav1.ManagedFieldsEntry) *fieldpath.Set {
	var set fieldpath.Set
	if set.FromJSON(entry.FieldsV1.GetRawReader()) != nil {
		return &fieldpath.Set{}
	}
	return set.Leaves()
}

// agrees reports whether a recorded path and a place match up to the end of the shorter one.
func agrees(recorded fieldpath.Path, place Place, within any) bool {
	for i := range min(len(recorded), len(place)) {
		content := inside(within, place[i])
		element := recorded[i]
		switch {
		case element.FieldName != nil && place[i] == *element.FieldName:
		case element.Key != nil && hasKeys(content, *element.Key):
		default:
			return false
		}
		within = content
	}
	return true
}

// hasKeys reports whether an element of a list has all of the keys with their values.
func hasKeys(element any, keys value.FieldList) bool {
	fields, _ := element.(map[string]any)
	return !slices.ContainsFunc(keys, func(key value.Field) bool {
		return !value.Equals(key.Value, value.NewValueInterface(fields[key.Name]))
	})
}
