package strategy

import (
	"errors"
	"maps"
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// DecodeStatus returns the part of a stored status that plans write. It replaces an invalid value with
// one that no plan computes, so that the status is written again. A field without a path is zero.
func DecodeStatus(at kinds.StatusPaths, obj *unstructured.Unstructured) plan.Status {
	var s plan.Status
	s.ObservedGeneration, _, _ = unstructured.NestedInt64(obj.Object, at.ObservedGeneration...)
	s.Selector, _, _ = unstructured.NestedString(obj.Object, at.Selector...)
	s.Conditions = decodeConditions(storedConditions(at, obj.Object))
	for count, path := range s.Counts(at) {
		if len(path) == 0 {
			continue
		}
		switch n, found, err := unstructured.NestedInt64(obj.Object, path...); {
		case err != nil || n < 0 || n > math.MaxInt32:
			*count = -1 // no plan computes a negative count
		case found:
			*count = int32(n)
		}
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

// storedConditions returns all stored conditions, including conditions from other programs. It does not copy them.
func storedConditions(at kinds.StatusPaths, object map[string]any) []any {
	stored, _, _ := unstructured.NestedFieldNoCopy(object, at.Conditions...)
	list, _ := stored.([]any)
	return list
}

// decodeConditions returns the conditions that plans write. It skips invalid conditions.
func decodeConditions(stored []any) []metav1.Condition {
	var list []metav1.Condition
	for _, name := range []string{apis.ConditionReady, apis.ConditionProgressing, apis.ConditionReplicaFailure, apis.ConditionPaused} {
		var c metav1.Condition
		fields := findCondition(stored, name)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &c); fields != nil && err == nil {
			list = append(list, c)
		}
	}
	return list
}

// findCondition returns the first condition of a type, or nil if there is none.
func findCondition(stored []any, name string) map[string]any {
	for _, element := range stored {
		if fields, _ := element.(map[string]any); fields["type"] == name {
			return fields
		}
	}
	return nil
}

// EncodeStatus merges a plan's status into the stored status of an object, and returns the result. It keeps all other
// fields, even inside conditions. The list of pod names is never null, because schemas reject null.
func EncodeStatus(at kinds.StatusPaths, s plan.Status, obj *unstructured.Unstructured) (any, error) {
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
	for count, path := range s.Counts(at) {
		put(int64(*count), path)
	}
	for name, value := range at.Empty {
		if _, there := stored[name]; !there {
			put(value, []string{"status", name})
		}
	}
	put(s.ObservedGeneration, at.ObservedGeneration)
	put(s.Selector, at.Selector)
	if len(at.PodNames) > 0 {
		errs = append(errs, unstructured.SetNestedStringSlice(object, s.PodNames, at.PodNames...))
	}
	if len(at.Conditions) > 0 {
		conditions := storedConditions(at, object)
		for _, c := range s.Conditions {
			ours, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&c)
			errs = append(errs, err)
			if fields := findCondition(conditions, c.Type); fields != nil {
				maps.Copy(fields, ours)
			} else {
				conditions = append(conditions, ours)
			}
		}
		put(conditions, at.Conditions)
	}
	return object["status"], errors.Join(errs...)
}
