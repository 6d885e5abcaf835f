package printer

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Kind is one resource type in the output of "kinds".
type Kind struct {
	Kind     string `json:"kind"`
	Group    string `json:"group"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
	// Field is the replica field, or "" if it is unknown.
	Field string `json:"field,omitempty"`
	// OtherCounts lists other spec fields that look like counts.
	OtherCounts []string `json:"otherCounts,omitempty"`
	// Found describes how the field was found. Error is the reason why the search failed, or "".
	Found string `json:"found"`
	Error string `json:"error,omitempty"`
	// Candidates lists possible replica fields if Field is unknown.
	Candidates []string `json:"candidates,omitempty"`
	// MayScale is true if the user has permission to change the count, and nil if this is unknown.
	MayScale *bool `json:"mayScale,omitempty"`
	// Objects is the number of objects in all namespaces, or nil if it is unknown.
	Objects *int64 `json:"objects,omitempty"`
	// Reconciled means that "run-controller" can reconcile the kind.
	Reconciled bool `json:"reconciled"`
	// Status describes how the status of objects is interpreted. It is set only for kinds that the command line names.
	Status any `json:"status,omitempty"`
	// Wrong lists the problems with the declaration in the CRD.
	Wrong []string `json:"wrong,omitempty"`
}

// Kinds writes a row for each resource type.
func Kinds(w io.Writer, kinds []*Kind, wide bool) error {
	rows := [][]string{{"KIND", "GROUP", "FIELD", "SOURCE", "CAN SCALE", "OBJECTS", "CONTROLLER"}}
	for _, k := range kinds {
		field := k.Field
		switch {
		case wide && len(k.OtherCounts) > 0:
			field += ", also " + strings.Join(k.OtherCounts, ", ")
		case len(k.OtherCounts) > 0:
			field += fmt.Sprintf(" (+%d)", len(k.OtherCounts))
		case field == "" && wide && len(k.Candidates) > 0:
			field = strings.Join(k.Candidates, "?,") + "?"
		case field == "" && len(k.Candidates) > 0:
			field = k.Candidates[0] + "?"
			if more := len(k.Candidates) - 1; more > 0 {
				field += fmt.Sprintf(" (+%d)", more)
			}
		}
		reconciled := yesNo(&k.Reconciled)
		if len(k.Wrong) > 0 {
			reconciled = "invalid annotations"
		}
		objects := "<unknown>"
		if k.Objects != nil {
			objects = strconv.FormatInt(*k.Objects, 10)
		}
		rows = append(rows, []string{k.Kind, orNone(k.Group), orNone(field), k.Found, yesNo(k.MayScale), objects, reconciled})
	}
	t := newText(w)
	t.table(rows)
	for _, k := range kinds {
		for _, problem := range k.Wrong {
			if wide {
				t.line("the annotations of the CRD %s.%s are invalid: %s", k.Resource, k.Group, problem)
			}
		}
	}
	return t.Flush()
}

func yesNo(b *bool) string {
	switch {
	case b == nil:
		return "<unknown>"
	case *b:
		return "yes"
	}
	return "no"
}
