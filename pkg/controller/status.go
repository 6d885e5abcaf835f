package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// shows says for which parts of a plan's status a kind has a place.
func shows(at kinds.StatusPaths) plan.StatusMask {
	return plan.StatusMask{
		Selector: len(at.Selector) > 0,
		Desired:  len(at.Desired) > 0, Current: len(at.Current) > 0, Updated: len(at.Updated) > 0,
		Ready: len(at.Ready) > 0, Available: len(at.Available) > 0,
		PodNames: len(at.PodNames) > 0, ObservedGeneration: len(at.ObservedGeneration) > 0, Conditions: len(at.Conditions) > 0,
	}
}

// counts gives the place of each count of a status.
func counts(at kinds.StatusPaths, s *plan.Status) map[*int32][]string {
	return map[*int32][]string{
		&s.Desired: at.Desired, &s.Current: at.Current, &s.Updated: at.Updated, &s.Ready: at.Ready, &s.Available: at.Available,
	}
}

// foreign is a count or a name that no plan finds: what is stored in its place is
// not what a plan wrote.
const foreign = -1

// decodeStatus reads what is stored of what a plan writes. What is of an
// unexpected type is not what a plan wrote.
func decodeStatus(at kinds.StatusPaths, obj *unstructured.Unstructured) plan.Status {
	var s plan.Status
	if len(at.ObservedGeneration) > 0 {
		s.ObservedGeneration, _, _ = unstructured.NestedInt64(obj.Object, at.ObservedGeneration...)
	}
	if len(at.Conditions) > 0 {
		s.Conditions = decodeConditions(storedConditions(at, obj))
	}
	for count, path := range counts(at, &s) {
		if len(path) == 0 {
			continue
		}
		switch n, found, err := unstructured.NestedInt64(obj.Object, path...); {
		case err != nil || n < 0 || n > math.MaxInt32:
			*count = foreign
		case found:
			*count = int32(n)
		}
	}
	if len(at.Selector) > 0 {
		s.Selector, _, _ = unstructured.NestedString(obj.Object, at.Selector...)
	}
	if len(at.PodNames) > 0 {
		names, _, err := unstructured.NestedStringSlice(obj.Object, at.PodNames...)
		if err != nil {
			names = []string{""} // no pod has that name
		}
		s.PodNames = names
	}
	return s
}

// storedConditions are the conditions of an object as they are stored, those of
// others included. They are shared: nobody may change them.
func storedConditions(at kinds.StatusPaths, obj *unstructured.Unstructured) []any {
	stored, _, err := unstructured.NestedFieldNoCopy(obj.Object, at.Conditions...)
	if err != nil {
		return nil
	}
	list, _ := stored.([]any)
	return list
}

// ourConditions are the types of the conditions that a plan writes.
func ourConditions() []string {
	return []string{apis.ConditionReady, apis.ConditionProgressing, apis.ConditionReplicaFailure}
}

// decodeConditions reads those that a plan writes. One that cannot be read is as
// good as absent, whoever wrote it.
func decodeConditions(stored []any) []metav1.Condition {
	var list []metav1.Condition
	for _, name := range ourConditions() {
		i := conditionOf(stored, name)
		if i < 0 {
			continue
		}
		fields, _ := stored[i].(map[string]any)
		var c metav1.Condition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &c); err == nil {
			list = append(list, c)
		}
	}
	return list
}

// conditionOf is the place of the first condition of a type, -1 for none.
func conditionOf(stored []any, name string) int {
	return slices.IndexFunc(stored, func(element any) bool {
		fields, _ := element.(map[string]any)
		return fields["type"] == name
	})
}

// encodeStatus puts a plan's status into the status that an object has, and
// returns that. What somebody else has written beside it stays as it is, also
// within a condition. A list of names is never null, which schemas refuse.
func encodeStatus(at kinds.StatusPaths, s plan.Status, obj *unstructured.Unstructured) (any, error) {
	stored, _ := obj.Object["status"].(map[string]any)
	object := map[string]any{}
	if stored != nil {
		object["status"] = runtime.DeepCopyJSON(stored)
	}
	var errs []error
	put := func(value any, path []string) {
		if len(path) > 0 {
			errs = append(errs, unstructured.SetNestedField(object, value, path...))
		}
	}
	for count, path := range counts(at, &s) {
		put(int64(*count), path)
	}
	for name, value := range at.Empty {
		if _, there := stored[name]; !there {
			put(value, []string{"status", name})
		}
	}
	put(s.ObservedGeneration, at.ObservedGeneration)
	put(s.Selector, at.Selector)
	names := make([]any, len(s.PodNames))
	for i, name := range s.PodNames {
		names[i] = name
	}
	put(names, at.PodNames)
	if len(at.Conditions) > 0 {
		conditions := slices.Clone(storedConditions(at, obj))
		for _, c := range s.Conditions {
			ours, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&c)
			errs = append(errs, err)
			if i := conditionOf(conditions, c.Type); i >= 0 {
				all, _ := conditions[i].(map[string]any)
				all = maps.Clone(all)
				maps.Copy(all, ours)
				conditions[i] = all
			} else {
				conditions = append(conditions, ours)
			}
		}
		put(conditions, at.Conditions)
	}
	return object["status"], errors.Join(errs...)
}

// errConflict says that the object has changed since the plan saw it.
var errConflict = errors.New("the object has changed")

// keepStatus writes the status that a plan found and, until the context ends, how
// far its execution has come. It returns the plan whose status was written last,
// and it alone writes notes meanwhile: what it wrote.
func (w *work) keepStatus(ctx context.Context, o *owners, obj *unstructured.Unstructured, rec *objectState,
	view plan.View, found plan.Actions) (told plan.Actions, err error) {
	told = found
	for {
		if found.WriteStatus && !o.withdrawn.Load() {
			now, err := w.writeStatus(ctx, o, obj, found.Status)
			if err != nil {
				return told, err
			}
			stored := view.Owner.Status
			if now != nil {
				obj, rec.ownerWritten = now, later(now.GetResourceVersion(), rec.ownerWritten)
				stored = decodeStatus(o.kind.Mapping.Status, now)
			}
			rec.plan.Written = &plan.Written{At: view.Now, Status: found.Status, Stored: stored}
			told = found
		}
		select {
		case <-ctx.Done():
			return told, nil
		case <-time.After(plan.StatusInterval):
		}
		if view, err = w.c.look(o, obj, rec); err != nil {
			return told, err
		}
		found = strategyOf(o.kind)(view)
	}
}

// writeStatus writes a status, on condition that the object is still as the plan
// saw it, and returns the object with what came of it; nil: there is no such
// object, or its CRD has no status.
func (w *work) writeStatus(ctx context.Context, o *owners, seen *unstructured.Unstructured, status plan.Status) (*unstructured.Unstructured, error) {
	ctx, cancel := finish(ctx)
	defer cancel()
	whole, err := encodeStatus(w.kind.Mapping.Status, status, seen)
	if err != nil {
		return nil, fmt.Errorf("write the status: %w", err)
	}
	// A merge patch would drop the nulls in what others wrote. The version, of which
	// no other object has the same, makes a lost race a conflict.
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/resourceVersion", "value": seen.GetResourceVersion()},
		{"op": "add", "path": "/status", "value": whole},
	})
	if err != nil {
		return nil, fmt.Errorf("write the status: %w", err)
	}
	k := key{kind: w.kind.CRD(), namespace: w.namespace, name: w.owner.Name}
	w.c.expectations.expectStatus(k, status.Masked(shows(w.kind.Mapping.Status))) // its event may come before the answer
	// A CRD may have no place for a part of it, which is then dropped: that is no
	// reason to warn the person who runs the loop.
	obj, err := o.client.Namespace(w.namespace).Patch(ctx, w.owner.Name, types.JSONPatchType, patch,
		metav1.PatchOptions{FieldManager: kinds.FieldManager, FieldValidation: metav1.FieldValidationIgnore}, "status")
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsConflict(err):
		return nil, errConflict
	case err != nil:
		return nil, fmt.Errorf("write the status: %w", err)
	}
	w.c.expectations.expectStatus(k, decodeStatus(w.kind.Mapping.Status, obj))
	return obj, nil
}

// statusChanged reports whether somebody else has changed what a plan writes of
// an object's status.
func (c *Controller) statusChanged(k key, kind kinds.Kind, before, after *unstructured.Unstructured) bool {
	now := decodeStatus(kind.Mapping.Status, after)
	return !equality.Semantic.DeepEqual(now, decodeStatus(kind.Mapping.Status, before)) && !c.expectations.statusExpected(k, now)
}
