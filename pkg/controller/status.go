package controller

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

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
