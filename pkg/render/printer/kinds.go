package printer

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Kind is what "kinds" shows of one resource type.
type Kind struct {
	Kind     string `json:"kind"`
	Group    string `json:"group"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
	// Field is the replica field, empty if nothing names it.
	Field string `json:"field,omitempty"`
	// Beside are other fields of the spec that look like counts.
	Beside []string `json:"beside,omitempty"`
	// Found says how the field was found, and Error why that is unknown.
	Found string `json:"found"`
	Error string `json:"error,omitempty"`
	// Candidates are the fields that may be meant if nothing names it.
	Candidates []string `json:"candidates,omitempty"`
	// MayScale reports whether this user may change the count, nil if unknown.
	MayScale *bool `json:"mayScale,omitempty"`
	// Objects is how many there are in all namespaces, nil if unknown.
	Objects *int64 `json:"objects,omitempty"`
	// Reconciled reports whether "run-controller" can reconcile it.
	Reconciled bool `json:"reconciled"`
	// Status is what the status of its objects can say, for kinds that were named.
	Status map[string]any `json:"status,omitempty"`
	// Wrong is what is wrong with the declaration in its CRD.
	Wrong []string `json:"wrong,omitempty"`
}

// Kinds writes a row for each resource type.
func Kinds(w io.Writer, kinds []*Kind, wide bool) error {
	rows := [][]string{{"KIND", "GROUP", "FIELD", "SOURCE", "CAN SCALE", "OBJECTS", "CONTROLLER"}}
	for _, k := range kinds {
		field := k.Field
		switch {
		case wide && len(k.Beside) > 0:
			field += ", also " + strings.Join(k.Beside, ", ")
		case len(k.Beside) > 0:
			field += fmt.Sprintf(" (+%d)", len(k.Beside))
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
	p := &text{w: w}
	p.table(rows)
	for _, k := range kinds {
		for _, problem := range k.Wrong {
			if wide {
				p.line("the annotations of the CRD %s.%s are invalid: %s", k.Resource, k.Group, problem)
			}
		}
	}
	return p.err
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
