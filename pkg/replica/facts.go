package replica

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// The status fields in which kinds tell how many pods they have and how many of
// them are ready, the most usual first.
func currentFields() []string {
	return []string{"replicas", "currentReplicas", "currentNumberScheduled", "instances", "size", "clusterSize", "shards", "nodes"}
}

func readyFields() []string {
	return []string{"readyReplicas", "availableReplicas", "numberReady", "readyInstances", "readyNodes", "ready"}
}

// TellsReady says whether a kind's status, as its schema has it, tells how many
// pods are ready: then it is none where the field is absent.
func TellsReady(schema map[string]any) bool {
	status := fields(schema, "properties", "status", "properties")
	return slices.ContainsFunc(readyFields(), func(name string) bool { return status[name] != nil })
}

// Facts reads from an object what a verdict is made of.
func (k Kind) Facts(obj *unstructured.Unstructured) (status.Object, error) {
	o := status.Object{
		Type:       k.String(),
		Namespace:  obj.GetNamespace(),
		Name:       obj.GetName(),
		UID:        obj.GetUID(),
		Created:    obj.GetCreationTimestamp().Time,
		Deleting:   obj.GetDeletionTimestamp() != nil,
		Generation: obj.GetGeneration(),
		Desired:    k.Desired(obj),
		Foreign:    !k.Shipped(),
	}
	fields, _, err := unstructured.NestedMap(obj.Object, "status")
	if err != nil {
		return o, fmt.Errorf("read the status of %s: %w", o.Name, err)
	}
	seen, tracked := firstInteger(fields, "observedGeneration")
	o.ObservedGeneration, o.Untracked = seen, !tracked && o.Foreign
	current, _ := firstInteger(fields, currentFields()...)
	ready, counted := firstInteger(fields, readyFields()...)
	o.Current, o.Ready = int32(current), int32(ready) //nolint:gosec // counts of pods
	o.Uncounted = !counted && o.Foreign
	if o.Conditions, err = conditions(fields); err != nil && !o.Foreign {
		// Other kinds may have something else under that name.
		return o, fmt.Errorf("read the status of %s: %w", o.Name, err)
	}
	return o, nil
}

// firstInteger returns the first of some fields that holds a whole number.
func firstInteger(fields map[string]any, names ...string) (int64, bool) {
	for _, name := range names {
		if n, ok := fields[name].(int64); ok {
			return n, true
		}
	}
	return 0, false
}

// conditions reads those of a status.
func conditions(fields map[string]any) ([]metav1.Condition, error) {
	var holder struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	only := map[string]any{"conditions": fields["conditions"]}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(only, &holder); err != nil {
		return nil, fmt.Errorf("read the conditions: %w", err)
	}
	return holder.Conditions, nil
}
