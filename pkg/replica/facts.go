package replica

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// The status fields in which kinds tell how many pods they have, how many of
// them are ready, and how many are of the newest template, the most usual first.
func currentFields() []string {
	return []string{"replicas", "currentReplicas", "currentNumberScheduled", "instances", "size", "clusterSize", "shards", "nodes"}
}

func readyFields() []string {
	return []string{"readyReplicas", "numberReady", "availableReplicas", "readyInstances", "readyNodes", "ready"}
}

func updatedFields() []string { return []string{"updatedReplicas", "updatedNumberScheduled"} }

// TellsReady says whether a kind's status, as its schema has it, tells how many
// pods are ready: then it is none where the field is absent.
func TellsReady(schema map[string]any) bool {
	status := fields(schema, "properties", "status")
	status = fields(resolved(schema, status), "properties")
	return slices.ContainsFunc(readyFields(), func(name string) bool { return fields(status, name)["type"] == "integer" })
}

// Expect adds to the facts of an object what the schema of its kind says of its
// status, where the object itself says nothing: that its controller tells which
// generation it saw, or writes conditions, or counts the pods that are ready.
// Where /status is not served, a status may be anybody's.
func (k Kind) Expect(o *status.Object, schema map[string]any, statusServed bool) {
	declared := fields(resolved(schema, fields(schema, "properties", "status")), "properties")
	if !statusServed || len(declared) == 0 {
		return
	}
	switch {
	case !o.Untracked:
	case declared["observedGeneration"] != nil:
		o.Untracked = false
	default:
		// Built-in kinds without the one have conditions for single occasions.
		o.Conditioned = declared["conditions"] != nil && !k.BuiltIn()
	}
	o.Uncounted = o.Uncounted && !TellsReady(schema)
}

// Facts reads from an object what a verdict is made of.
func (k Kind) Facts(obj *unstructured.Unstructured) (status.Object, error) {
	o := status.Object{
		Type:       k.String(),
		Resource:   k.CRD(),
		APIVersion: k.Resource.GroupVersion().String(),
		Kind:       k.Kind,
		Namespace:  obj.GetNamespace(),
		Name:       obj.GetName(),
		UID:        obj.GetUID(),
		Labels:     obj.GetLabels(),
		Controller: metav1.GetControllerOfNoCopy(obj),
		Managers:   obj.GetManagedFields(),
		Created:    obj.GetCreationTimestamp().Time,
		Finalizers: obj.GetFinalizers(),
		Generation: obj.GetGeneration(),
		Foreign:    !k.Reconciled(),
	}
	if desired, err := k.Desired(obj); err == nil {
		o.Desired = desired
	} else {
		o.NoCount = true
	}
	if deleted := obj.GetDeletionTimestamp(); deleted != nil {
		o.Deleted = deleted.Time
	}
	told, _, err := unstructured.NestedMap(obj.Object, "status")
	if err != nil {
		return o, fmt.Errorf("read the status of %s: %w", o.Name, err)
	}
	if o.Conditions, err = conditions(told); err != nil && !o.Foreign {
		// Other kinds may have something else under that name.
		return o, fmt.Errorf("read the status of %s: %w", o.Name, err)
	}
	seen, tracked := firstInteger(told, "observedGeneration")
	o.ObservedGeneration = seen
	if o.Foreign {
		o.Untracked = !tracked
		k.guess(&o, obj, told)
	} else {
		k.read(&o, obj)
	}
	return o, nil
}

// guess reads counts where kinds usually have them.
func (k Kind) guess(o *status.Object, obj *unstructured.Unstructured, told map[string]any) {
	current, _ := firstInteger(told, currentFields()...)
	ready, counted := firstInteger(told, readyFields()...)
	o.Current, o.Ready, o.Uncounted = pods(current), pods(ready), !counted
	if updated, told := firstInteger(told, updatedFields()...); told && rollsOut(obj) {
		o.Updated = new(pods(updated))
	}
}

// read reads counts from where the kind's recipe has them written.
func (k Kind) read(o *status.Object, obj *unstructured.Unstructured) {
	at := k.Recipe.Status
	count := func(paths ...[]string) (int32, bool) {
		for _, path := range paths {
			if n, found, err := unstructured.NestedInt64(obj.Object, path...); len(path) > 0 && found && err == nil {
				return pods(n), true
			}
		}
		return 0, false
	}
	if desired, found := count(at.Desired); found {
		o.Desired = desired
	}
	o.Current, _ = count(at.Current)
	ready, counted := count(at.Ready, at.Available)
	o.Ready = ready
	if updated, found := count(at.Updated); found {
		o.Updated = &updated
	}
	if len(at.ObservedGeneration) == 0 {
		o.Untracked = true
	}
	if len(at.Ready)+len(at.Available) == 0 {
		o.Uncounted = true
	}
	if k.Recipe.Plan == PlanNodes && len(at.Desired) == 0 {
		o.NoCount = true
	}
	_, named, _ := unstructured.NestedFieldNoCopy(obj.Object, at.PodNames...)
	if len(at.PodNames) > 0 && named && !counted && o.ObservedGeneration == 0 {
		// The names of its pods were written and all else was dropped: the CRD is
		// one that has no other field.
		o.Untracked, o.Uncounted = true, true
	}
}

// rollsOut says whether an object replaces its pods by itself until all are of
// the newest template: a StatefulSet or DaemonSet may be told to do otherwise.
func rollsOut(obj *unstructured.Unstructured) bool {
	strategy, _, _ := unstructured.NestedString(obj.Object, "spec", "updateStrategy", "type")
	partition, _, _ := unstructured.NestedInt64(obj.Object, "spec", "updateStrategy", "rollingUpdate", "partition")
	return strategy != "OnDelete" && partition == 0
}

// Child reads from an object that stands between another and its pods what a
// report needs of it.
func Child(obj *unstructured.Unstructured) status.Child {
	child := status.Child{Kind: obj.GetKind(), Name: obj.GetName(), UID: obj.GetUID()}
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		child.Controller = ref.UID
	}
	told, _, err := unstructured.NestedMap(obj.Object, "status")
	if err != nil {
		return child
	}
	if desired, found, err := unstructured.NestedInt64(obj.Object, "spec", "replicas"); found && err == nil {
		child.Desired = new(pods(desired))
	} else if desired, found := firstInteger(told, "desiredNumberScheduled"); found {
		child.Desired = new(pods(desired))
	}
	if child.Desired != nil {
		ready, _ := firstInteger(told, readyFields()...)
		child.Ready = new(pods(ready))
	}
	child.Conditions, _ = conditions(told) // what is none proves nothing
	return child
}

// pods is a number of pods, of which the schema says that it fits.
func pods(n int64) int32 {
	return int32(n) //nolint:gosec // the schema bounds it to 32 bits
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
