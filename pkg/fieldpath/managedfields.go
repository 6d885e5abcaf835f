package fieldpath

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Manager returns who last set the field of an object, and when, as managedFields
// records it. It is "" if nobody is recorded.
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

// ManagedBy reports whether an entry of managedFields has the field of the object,
// or has as a whole the list or object that the field is in.
func (p Path) ManagedBy(entry metav1.ManagedFieldsEntry, obj map[string]any) bool {
	place, _, taken, err := p.Locate(obj)
	if err != nil {
		return false
	}
	managed := false
	Recorded(entry).Iterate(func(recorded fieldpath.Path) {
		managed = managed || (len(recorded) <= taken || taken == len(p.Steps)) && agrees(recorded, place, obj)
	})
	return managed
}

// Recorded returns the fields that an entry of managedFields has, without the objects
// and lists around them. It is empty if the entry cannot be read.
func Recorded(entry metav1.ManagedFieldsEntry) *fieldpath.Set {
	var set fieldpath.Set
	if set.FromJSON(entry.FieldsV1.GetRawReader()) != nil {
		return &fieldpath.Set{}
	}
	return set.Leaves()
}

// agrees reports whether a recorded path and a place lead the same way, as far as both
// go.
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
