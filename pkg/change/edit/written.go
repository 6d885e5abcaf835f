package edit

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// Field is a field that was written.
type Field struct {
	Path fieldpath.Path
	// Before and After are nil if there is no value. After is from the response, because webhooks may change values.
	Before, After any

	// parents lists the paths of the enclosing objects that the write created, innermost first.
	parents []fieldpath.Path
}

// Written is a completed change.
type Written struct {
	// Object is the object after the change.
	Object *unstructured.Unstructured
	// Fields are the written fields, including fields whose value did not change.
	Fields []Field
}

// Created returns the creation of an object as a change. Fields contains the fields of the request, except
// the type, the metadata, and the status, with their values in the response.
func Created(request, answer *unstructured.Unstructured) Written {
	w := Written{Object: answer}
	for _, name := range slices.Sorted(maps.Keys(request.Object)) {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, name) {
			w.Fields = append(w.Fields, Field{Path: fieldpath.Fields(name), After: reduce(answer.Object[name], request.Object[name])})
		}
	}
	return w
}

// reduce returns a value without the fields that shape lacks.
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

// OverwrittenError means that a field no longer has the written value.
type OverwrittenError struct {
	Path fieldpath.Path
	// Wrote is the written value, and Now is the current value. A missing value is nil.
	Wrote, Now any
	// By describes who changed the field: a user, a field manager, or the server.
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
	return escape.Line(fmt.Sprintf("%s %s, and %s %s", e.Path, wrote, e.By, did))
}

func (e *OverwrittenError) Unwrap() error { return outcome.ErrOverwritten }

// Check returns an OverwrittenError if an object no longer has the written values.
func (w Written) Check(obj *unstructured.Unstructured) error {
	for _, f := range w.Fields {
		if _, _, err := f.undo(obj); err != nil {
			return err
		}
	}
	return nil
}

// reverse returns the edits that revert a write in the current object, or the error that Check returns.
func (w Written) reverse(obj *unstructured.Unstructured) ([]fieldpath.Edit, error) {
	var edits []fieldpath.Edit
	left := obj.DeepCopy()
	plan := func(e fieldpath.Edit) error {
		edits = append(edits, e)
		return e.Apply(left.Object)
	}
	for _, f := range w.Fields {
		now, undone, err := f.undo(obj)
		if err != nil {
			return nil, err
		}
		if reflect.DeepEqual(undone, now) {
			continue
		}
		if err := plan(fieldpath.Edit{Path: f.Path, Value: undone}); err != nil {
			return nil, err
		}
		for _, parent := range f.parents {
			around, _ := parent.Value(left.Object)
			if fields, is := around.(map[string]any); !is || len(fields) > 0 {
				break
			}
			if err := plan(fieldpath.Edit{Path: parent}); err != nil {
				return nil, err
			}
		}
	}
	return edits, nil
}

// undo returns the current value of the field and the value without the write, or an OverwrittenError if the written
// value is gone. It checks only the parts that the write changed or, if the write changed none, all parts.
func (f Field) undo(obj *unstructured.Unstructured) (now, undone any, err error) {
	now, _ = f.Path.Value(obj.Object) // nil if the field does not exist
	before, unchanged := f.Before, same(f.Before, f.After)
	if unchanged {
		before = nil
	}
	undone, lost := restore(f.Path, before, f.After, now)
	switch {
	case lost != nil:
		own := "another run of this program"
		if by := obj.GetAnnotations()[apis.AnnotationChangedBy]; by != "" {
			own = by + ", with this program,"
		}
		lost.By = Writer(obj, lost.Path, own)
		return nil, nil, lost
	case unchanged:
		return now, now, nil
	}
	return now, undone, nil
}

// Kept reports whether now still contains every change between before and after. It matches list elements by name.
func Kept(before, after, now any) bool {
	_, lost := restore(fieldpath.Path{}, before, after, now)
	return lost == nil
}

// restore undoes the changes between before and after in the current value, and keeps all other changes.
// If another user has changed a written part, it returns an error with the path of this part.
func restore(at fieldpath.Path, before, after, now any) (any, *OverwrittenError) {
	if same(after, now) {
		return before, nil
	}
	b, _, whole := parts(before)
	a, keyed, split := parts(after)
	n, _, splitNow := parts(now)
	if !split || !splitNow || before != nil && !whole {
		return nil, &OverwrittenError{Path: at, Wrote: after, Now: now}
	}
	n = maps.Clone(n)
	for _, name := range sets.List(sets.KeySet(a).Union(sets.KeySet(b))) {
		if same(b[name], a[name]) {
			continue
		}
		step := fieldpath.Step{Kind: fieldpath.Field, Name: name}
		if keyed {
			step = fieldpath.Step{Kind: fieldpath.Selection, Where: []fieldpath.Comparison{{Key: fieldpath.Fields("name"), Value: name}}}
		}
		value, lost := restore(at.With(step), b[name], a[name], n[name])
		if lost != nil {
			return nil, lost
		}
		n[name] = value
		if value == nil || keyed && b[name] == nil {
			delete(n, name)
		}
	}
	switch {
	case before == nil && len(n) == 0:
		return nil, nil
	case keyed:
		return inOrder(n, now, before), nil
	}
	return n, nil
}

// inOrder returns the elements in the order of now. Elements that are only in before keep their positions.
func inOrder(elements map[string]any, now, before any) []any {
	var list []any
	left := maps.Clone(elements)
	add := func(place int, like any) {
		name := nameOf(like)
		if element, is := left[name]; is {
			list = slices.Insert(list, min(place, len(list)), element)
			delete(left, name)
		}
	}
	current, _ := now.([]any)
	for _, element := range current {
		add(len(list), element)
	}
	earlier, _ := before.([]any)
	for i, element := range earlier {
		add(i, element)
	}
	return list
}

func nameOf(element any) string {
	fields, _ := element.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}

// parts returns the fields of an object, or the elements of a list by name if all elements have unique
// names. keyed means that value is such a list. For any other value, such as an empty list, ok is false.
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
		name := nameOf(element)
		if _, twice := all[name]; twice || name == "" {
			return nil, false, false
		}
		all[name] = element
	}
	return all, true, true
}

// same reports whether two values are equal. A null field equals an absent field, because both are nil.
func same(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }

// Writer describes who last wrote a field. It returns own for this program, and "someone else" if managedFields lack
// the field, as after a removal.
func Writer(obj *unstructured.Unstructured, at fieldpath.Path, own string) string {
	switch manager, _ := at.Manager(obj); manager {
	case "":
		return "someone else"
	case kinds.FieldManager:
		return own
	default:
		return fmt.Sprintf("the field manager %q", manager)
	}
}

// text formats a value for a message: a string unchanged, and any other value as truncated JSON.
func text(value any) string {
	if word, is := value.(string); is {
		return word
	}
	data, _ := json.Marshal(value) // a value of an object is valid JSON
	const most = 80
	if words := []rune(string(data)); len(words) > most {
		return string(words[:most]) + "…"
	}
	return string(data)
}
