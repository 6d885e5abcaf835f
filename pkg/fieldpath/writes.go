package fieldpath

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

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
	switch m.Subresource {
	case "status":
		return false, true
	case "scale":
		return true, false
	case "":
	default:
		return false, false
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
