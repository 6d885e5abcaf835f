package printer

import (
	"fmt"
	"io"
	"strings"
)

// Kind is what "kinds" shows of one resource type.
type Kind struct {
	Kind     string `json:"kind"`
	Group    string `json:"group"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
	// Field is where the replica count lives; "" where nothing says it.
	Field string `json:"field,omitempty"`
	// Beside are other fields of the spec that look like counts.
	Beside []string `json:"beside,omitempty"`
	// Found says how the field was found, and Error why that could not be found out.
	Found string `json:"found"`
	Error string `json:"error,omitempty"`
	// Candidates are the fields that could be meant where nothing says it.
	Candidates []string `json:"candidates,omitempty"`
	// MayScale reports whether this user may change the count; nil: not known.
	MayScale *bool `json:"mayScale,omitempty"`
	// Objects is how many there are in all namespaces; nil: not known.
	Objects *int64 `json:"objects,omitempty"`
	// Reconciled reports whether "run-controller" can reconcile it.
	Reconciled bool `json:"reconciled"`
	// Status is what the status of its objects can tell; only of kinds that were
	// asked for by name.
	Status map[string]any `json:"status,omitempty"`
	// Wrong is what is wrong with the declaration by which it should be.
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
		rows = append(rows, []string{k.Kind, orNone(k.Group), orNone(field), k.Found, yesNo(k.MayScale), known(k.Objects), reconciled(k)})
	}
	p := &text{w: w}
	p.table(rows)
	if wide {
		for _, k := range kinds {
			for _, problem := range k.Wrong {
				p.line("the annotations of the CRD %s.%s are invalid: %s", k.Resource, k.Group, problem)
			}
		}
	}
	return p.err
}

func reconciled(k *Kind) string {
	if len(k.Wrong) > 0 {
		return "invalid annotations"
	}
	return yesNo(&k.Reconciled)
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

func known(n *int64) string {
	if n == nil {
		return "<unknown>"
	}
	return fmt.Sprint(*n)
}
