package edit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// Field is a field that was written.
type Field struct {
	Path fieldpath.Path
	// Before and After are its values before and after the write, nil if there was none.
	// After is the value in the answer of the server, where a webhook may have changed it.
	Before, After any
}

// Written is a change that was made.
type Written struct {
	// Object is the object after the change.
	Object *unstructured.Unstructured
	// Fields are those that were written, also if the value stayed the same.
	Fields []Field
}

// Created returns the change that made an object. Its fields are those of the request,
// with the values in the answer.
func Created(request, answer *unstructured.Unstructured) Written {
	w := Written{Object: answer}
	for _, name := range slices.Sorted(maps.Keys(request.Object)) {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, name) {
			w.Fields = append(w.Fields, Field{Path: fieldpath.Fields(name), After: reduce(answer.Object[name], request.Object[name])})
		}
	}
	return w
}

// reduce returns the part of a value that another value has, too.
func reduce(value, shape any) any {
	fields, is := value.(map[string]any)
	wanted, both := shape.(map[string]any)
	if is && both {
		part := map[string]any{}
		for name := range wanted {
			part[name] = reduce(fields[name], wanted[name])
		}
		return part
	}
	return value
}

// OverwrittenError means that a field no longer has the value that was written.
type OverwrittenError struct {
	Path fieldpath.Path
	// Wrote and Now are the values; nil is none.
	Wrote, Now any
	// By is who changed the field.
	By string
}

func (e *OverwrittenError) Error() string {
	did := fmt.Sprintf("set it to %s", text(e.Now))
	if e.Now == nil {
		did = "removed it"
	}
	wrote := fmt.Sprintf("was set to %s", text(e.Wrote))
	if e.Wrote == nil {
		wrote = "was removed"
	}
	return fmt.Sprintf("%s %s, and %s %s", e.Path, wrote, e.By, did)
}

// Unwrap returns outcome.ErrOverwritten.
func (e *OverwrittenError) Unwrap() error { return outcome.ErrOverwritten }

// Check returns an OverwrittenError if an object no longer has what was written to it.
// Only what the write has changed counts; after a write that changed nothing, all that it
// wrote does.
func (w Written) Check(obj *unstructured.Unstructured) error {
	for _, f := range w.Fields {
		now, err := f.Path.Value(obj.Object)
		if err != nil {
			now = nil // the field is not where it was
		}
		before := f.Before
		if same(before, f.After) {
			before = nil
		}
		if lost := compare(f.Path, before, f.After, now); lost != nil {
			lost.By = writer(obj, lost.Path)
			return lost
		}
	}
	return nil
}

// compare finds the first part of a value that was changed from before to after and is
// something else now.
func compare(at fieldpath.Path, before, after, now any) *OverwrittenError {
	if same(after, now) {
		return nil
	}
	b, _, whole := parts(before)
	a, keyed, split := parts(after)
	n, _, same1 := parts(now)
	if !split || !same1 || before != nil && !whole {
		return &OverwrittenError{Path: at, Wrote: after, Now: now}
	}
	names := slices.Sorted(maps.Keys(a))
	for name := range b {
		if _, stays := a[name]; !stays {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if same(b[name], a[name]) {
			continue
		}
		step := fieldpath.Step{Kind: fieldpath.Field, Name: name}
		if keyed {
			step = fieldpath.Step{Kind: fieldpath.Selection, Where: []fieldpath.Comparison{{Key: []string{"name"}, Value: name}}}
		}
		if lost := compare(at.With(step), b[name], a[name], n[name]); lost != nil {
			return lost
		}
	}
	return nil
}

// parts takes an object, or a list whose elements have names of their own, apart.
func parts(value any) (all map[string]any, keyed, ok bool) {
	if fields, is := value.(map[string]any); is {
		return fields, false, true
	}
	list, is := value.([]any)
	if !is || len(list) == 0 {
		return nil, false, false
	}
	all = map[string]any{}
	for _, element := range list {
		fields, _ := element.(map[string]any)
		name, _ := fields["name"].(string)
		if _, twice := all[name]; twice || name == "" {
			return nil, false, false
		}
		all[name] = element
	}
	return all, true, true
}

// same compares values. A field that is null is as good as none.
func same(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }

// writer names who wrote a field of an object last, according to its managed fields. Nobody
// is recorded for a field that was removed.
func writer(obj *unstructured.Unstructured, at fieldpath.Path) string {
	manager, _ := at.Manager(obj)
	switch by := obj.GetAnnotations()[apis.AnnotationChangedBy]; {
	case manager == "":
		return "someone else"
	case manager != kinds.FieldManager:
		return fmt.Sprintf("the field manager %q", manager)
	case by != "":
		return fmt.Sprintf("%s, with this program,", by)
	}
	return "another run of this program"
}

// text returns a value in a few words.
func text(value any) string {
	if word, is := value.(string); is {
		return word
	}
	data, err := json.Marshal(value)
	if err != nil {
		return "another value"
	}
	const most = 80
	if words := []rune(string(data)); len(words) > most {
		return string(words[:most]) + "…"
	}
	return string(data)
}
