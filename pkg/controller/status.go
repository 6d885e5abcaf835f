package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/replica"
)

// shows says for which parts of a plan's status a kind has a place.
func shows(at replica.StatusPaths) plan.Fields {
	return plan.Fields{
		Selector: len(at.Selector) > 0,
		Desired:  len(at.Desired) > 0, Current: len(at.Current) > 0, Updated: len(at.Updated) > 0,
		Ready: len(at.Ready) > 0, Available: len(at.Available) > 0,
		PodNames: len(at.PodNames) > 0, ObservedGeneration: len(at.ObservedGeneration) > 0, Conditions: len(at.Conditions) > 0,
	}
}

// counts gives the place of each count of a status.
func counts(at replica.StatusPaths, s *plan.Status) map[*int32][]string {
	return map[*int32][]string{
		&s.Desired: at.Desired, &s.Current: at.Current, &s.Updated: at.Updated, &s.Ready: at.Ready, &s.Available: at.Available,
	}
}

// conditionsHolder is what the converter, which takes no lists, converts
// conditions in.
type conditionsHolder struct {
	Conditions []metav1.Condition `json:"conditions"`
}

// decodeStatus reads what is stored. What is of an unexpected type is not what
// a plan wrote, and as good as absent.
func decodeStatus(at replica.StatusPaths, obj *unstructured.Unstructured) (plan.Status, error) {
	var s plan.Status
	if len(at.ObservedGeneration) > 0 {
		s.ObservedGeneration, _, _ = unstructured.NestedInt64(obj.Object, at.ObservedGeneration...)
	}
	if len(at.Conditions) > 0 {
		stored, _, err := unstructured.NestedFieldNoCopy(obj.Object, at.Conditions...)
		if err != nil {
			return s, fmt.Errorf("read the status: %w", err)
		}
		holder := conditionsHolder{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"conditions": stored}, &holder); err != nil {
			return s, fmt.Errorf("read the conditions: %w", err)
		}
		s.Conditions = holder.Conditions
	}
	for count, path := range counts(at, &s) {
		if len(path) > 0 {
			n, _, _ := unstructured.NestedInt64(obj.Object, path...)
			*count = int32(n) //nolint:gosec // the schema bounds it, and else it is no count of a plan
		}
	}
	if len(at.Selector) > 0 {
		s.Selector, _, _ = unstructured.NestedString(obj.Object, at.Selector...)
	}
	if len(at.PodNames) > 0 {
		s.PodNames, _, _ = unstructured.NestedStringSlice(obj.Object, at.PodNames...)
	}
	return s, nil
}

// encodeStatus gives the fields of an object that say a plan's status. A list
// of names is never null, which schemas refuse.
func encodeStatus(at replica.StatusPaths, s plan.Status) (map[string]any, error) {
	held, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&conditionsHolder{s.Conditions})
	fields := map[string]any{}
	put := func(value any, path []string) {
		if len(path) > 0 && err == nil {
			err = unstructured.SetNestedField(fields, value, path...)
		}
	}
	for count, path := range counts(at, &s) {
		put(int64(*count), path)
	}
	for name, value := range at.Empty {
		put(value, []string{"status", name})
	}
	put(s.ObservedGeneration, at.ObservedGeneration)
	put(held["conditions"], at.Conditions)
	put(s.Selector, at.Selector)
	names := make([]any, len(s.PodNames))
	for i, name := range s.PodNames {
		names[i] = name
	}
	put(names, at.PodNames)
	return fields, err
}

// errConflict says that the object has changed since the plan saw it.
var errConflict = errors.New("the object has changed")

// keepStatus writes the status that a plan found and, until the context ends, how
// far its execution has come. It returns the plan whose status was written last,
// and it alone writes notes meanwhile: what it wrote.
func (w *work) keepStatus(ctx context.Context, o *owners, obj *unstructured.Unstructured, rec *notes,
	view plan.View, found plan.Plan) (told plan.Plan, err error) {
	told = found
	for {
		if found.WriteStatus {
			now, err := w.writeStatus(ctx, o, obj.GetResourceVersion(), found.Status)
			if err != nil {
				return told, err
			}
			stored := view.Owner.Status
			if now != nil {
				obj, rec.ownerWritten = now, later(now.GetResourceVersion(), rec.ownerWritten)
				stored, err = decodeStatus(o.kind.Recipe.Status, now)
			}
			rec.plan.Written = &plan.Written{At: view.Now, Status: found.Status, Stored: stored}
			if told = found; err != nil {
				return told, err
			}
		}
		select {
		case <-ctx.Done():
			return told, nil
		case <-time.After(plan.StatusInterval):
		}
		if view, err = w.c.look(o, obj, rec); err != nil {
			return told, err
		}
		found = planOf(o.kind)(view)
	}
}

// writeStatus writes a status, on condition that the object is still as the plan
// saw it, and returns the object with what came of it; nil: there is no such
// object, or its CRD has no status.
func (w *work) writeStatus(ctx context.Context, o *owners, resourceVersion string, status plan.Status) (*unstructured.Unstructured, error) {
	ctx, cancel := finish(ctx)
	defer cancel()
	fields, err := encodeStatus(w.kind.Recipe.Status, status)
	if err != nil {
		return nil, fmt.Errorf("write the status: %w", err)
	}
	fields["metadata"] = map[string]any{"resourceVersion": resourceVersion, "uid": w.owner.UID}
	patch, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("write the status: %w", err)
	}
	// A CRD may have no place for a part of it, which is then dropped: that is no
	// reason to warn the person who runs the loop.
	obj, err := o.client.Namespace(w.namespace).Patch(ctx, w.owner.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: replica.FieldManager, FieldValidation: metav1.FieldValidationIgnore}, "status")
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsConflict(err):
		return nil, errConflict
	case err != nil:
		return nil, fmt.Errorf("write the status: %w", err)
	}
	return obj, nil
}
