package fieldpath

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Manager returns the field manager that last set the field, and when, or "" if managedFields lacks the field.
// An entry with the field outranks an entry with only an enclosing object, where other managers may set fields.
func (p Path) Manager(obj *unstructured.Unstructured) (manager string, at time.Time) {
	closest := 0
	spots, _, err := p.locate(obj.Object)
	if err != nil {
		return "", at
	}
	for _, entry := range obj.GetManagedFields() {
		depth := p.managedAt(entry, spots)
		if depth == 0 {
			continue
		}
		t := ptr.Deref(entry.Time, metav1.Time{}).Time
		if depth > closest || depth == closest && t.After(at) {
			manager, at, closest = entry.Manager, t, depth
		}
	}
	return manager, at
}

// ManagedBy reports whether an entry of managedFields contains the field, a field in it, or all of an enclosing field.
func (p Path) ManagedBy(entry metav1.ManagedFieldsEntry, obj map[string]any) bool {
	spots, _, err := p.locate(obj)
	return err == nil && p.managedAt(entry, spots) > 0
}

// managedAt returns how many steps of the path an entry of managedFields records, or zero if ManagedBy is false for
// the entry. spots is the result of locate.
func (p Path) managedAt(entry metav1.ManagedFieldsEntry, spots []spot) int {
	depth := 0
	Recorded(entry).Iterate(func(recorded fieldpath.Path) {
		if (len(recorded) <= len(spots) || len(spots) == len(p.Steps)) && agrees(recorded, spots) {
			depth = max(depth, min(len(recorded), len(spots)))
		}
	})
	return depth
}

// Recorded returns the innermost fields in an entry of managedFields, or an empty set if the entry is invalid.
func Recorded(entry metav1.ManagedFieldsEntry) *fieldpath.Set {
	var set fieldpath.Set
	if set.FromJSON(entry.FieldsV1.GetRawReader()) != nil {
		return &fieldpath.Set{}
	}
	return set.Leaves()
}

// agrees reports whether a recorded path and spots match up to the end of the shorter one.
func agrees(recorded fieldpath.Path, spots []spot) bool {
	for i := range min(len(recorded), len(spots)) {
		element, at := recorded[i], spots[i]
		switch {
		case element.FieldName != nil && at.key == *element.FieldName:
		case element.Key != nil && hasKeys(at.value, *element.Key):
		default:
			return false
		}
	}
	return true
}

func hasKeys(element any, keys value.FieldList) bool {
	fields, _ := element.(map[string]any)
	return !slices.ContainsFunc(keys, func(key value.Field) bool {
		return !value.Equals(key.Value, value.NewValueInterface(fields[key.Name]))
	})
}

// Write describes a write that managedFields records.
type Write struct {
	Manager   string      `json:"manager"`
	Operation string      `json:"operation"`
	Time      metav1.Time `json:"time,omitzero"`
}

// LastWrites returns the latest writes to the spec and to the status. Each is nil if no such write has a time.
func LastWrites(managers []metav1.ManagedFieldsEntry) (spec, status *Write) {
	for _, m := range managers {
		if m.Time == nil {
			continue
		}
		write := &Write{Manager: m.Manager, Operation: string(m.Operation), Time: *m.Time}
		ofSpec, ofStatus := Writes(m)
		if ofSpec && (spec == nil || spec.Time.Before(m.Time)) {
			spec = write
		}
		if ofStatus && (status == nil || status.Time.Before(m.Time)) {
			status = write
		}
	}
	return spec, status
}

// Writes reports whether an entry of managedFields records a write to the spec or to the status. Metadata, apiVersion,
// kind, and subresources except status and scale count as neither. Other fields and invalid entries count as spec.
func Writes(m metav1.ManagedFieldsEntry) (spec, status bool) {
	if m.Subresource != "" {
		return m.Subresource == "scale", m.Subresource == "status"
	}
	var fields fieldpath.Set
	if err := fields.FromJSON(m.FieldsV1.GetRawReader()); err != nil {
		return true, false
	}
	fields.Iterate(func(path fieldpath.Path) {
		switch name := path[0].FieldName; {
		case name == nil, *name == "metadata", *name == "apiVersion", *name == "kind":
		case *name == "status":
			status = true
		default:
			spec = true
		}
	})
	return spec, status
}
