package facts

import (
	"cmp"
	"fmt"
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/words"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// currentFields and readyFields return names of status fields that count all or only ready pods, the most common first.
func currentFields() []string {
	return []string{"replicas", "currentReplicas", "currentNumberScheduled", "instances", "size", "clusterSize", "shards", "nodes"}
}

func readyFields() []string {
	return []string{"readyReplicas", "numberReady", "availableReplicas", "readyInstances", "readyNodes", "ready"}
}

// Of returns the model of an object, based on the facts that are known without a server.
func Of(k kinds.Kind, obj *unstructured.Unstructured) (status.Object, error) {
	facts, _ := New(k, kinds.Source{}, nil) // only an annotation of a CRD can be invalid
	return Read(k, obj, facts)
}

// Read returns the model of an object. It reads the desired count from the status, or else from the kind's replica
// field, by default .spec.replicas. If the count is in another field, the caller must set Desired before Settle.
func Read(k kinds.Kind, obj *unstructured.Unstructured, facts Facts) (status.Object, error) {
	desired, invalid := k.Desired(obj)
	o := status.Object{
		Identity: status.Identity{
			Type:       k.String(),
			Resource:   k.CRD(),
			APIVersion: k.Resource.GroupVersion().String(),
			Kind:       k.Kind,
			Namespace:  obj.GetNamespace(),
			Name:       obj.GetName(),
			UID:        obj.GetUID(),
			Labels:     obj.GetLabels(),
			Created:    obj.GetCreationTimestamp().Time,
			Deleted:    ptr.Deref(obj.GetDeletionTimestamp(), metav1.Time{}).Time,
			Finalizers: obj.GetFinalizers(),
			Controller: metav1.GetControllerOfNoCopy(obj),
			Foreign:    !k.Reconciled(),
			SetsImage:  len(k.Mapping.TemplatePath)+len(k.Mapping.ImagePath) > 0 || k.RollsOut(),
			Images:     images(k, obj),
		},
		Counts:   status.Counts{Desired: desired, NoCount: invalid != nil},
		Evidence: status.Evidence{Generation: obj.GetGeneration(), Managers: obj.GetManagedFields()},
		Parked:   parked(obj),
	}
	reported, _, err := unstructured.NestedMap(obj.Object, "status")
	if err != nil {
		return o, fmt.Errorf("read the status of %s: %s", o.Name, escape.Line(err.Error()))
	}
	o.Conditions = words.Conditions(reported["conditions"])
	if o.Foreign {
		o.BuiltIn = k.BuiltIn()
		facts.read(&o, obj.Object)
		if o.BuiltIn && facts.Generation == GenerationNone {
			readExistence(&o, obj.Object)
		}
	} else {
		if path := k.Path(); path != nil {
			o.Count = path.String()
		}
		o.ObservedGeneration, _ = reported["observedGeneration"].(int64)
		o.UserPause = apis.ReadPause(obj.GetAnnotations())
		readMapped(k, &o, obj)
	}
	readTracked(&o, reported)
	o.Source = gitOpsWriter(obj, o.Count)
	return o, nil
}

// readMapped reads the counts from the status fields that the kind's mapping names, and marks unknown counts.
func readMapped(k kinds.Kind, o *status.Object, obj *unstructured.Unstructured) {
	at := k.Mapping.Status
	count := func(path []string) *int32 {
		if n, found, err := unstructured.NestedInt64(obj.Object, path...); found && err == nil {
			return new(Pods(n))
		}
		return nil
	}
	ready := cmp.Or(count(at.Ready), count(at.Available))
	o.Desired = ptr.Deref(count(at.Desired), o.Desired)
	o.Ready = ptr.Deref(ready, 0)
	o.Current = ptr.Deref(count(at.Current), o.Ready) // at least the ready pods exist
	o.Updated = count(at.Updated)
	if len(at.Updated) == 0 && k.Mapping.Strategy != kinds.StrategyDeployment {
		o.Template = kinds.TemplateHash(k, obj)
	}
	o.NoCount = o.NoCount || k.Mapping.Strategy.WithoutReplicas() && len(at.Desired) == 0
	_, named, _ := unstructured.NestedFieldNoCopy(obj.Object, at.PodNames...)
	// If the CRD has a status field only for pod names, the server has pruned all other fields.
	pruned := len(at.PodNames) > 0 && named && ready == nil && o.ObservedGeneration == 0
	o.Untracked = pruned || len(at.ObservedGeneration) == 0
	o.ReadyUnknown = pruned || len(at.Ready)+len(at.Available) == 0
}

// Pods clamps a number to a valid count of pods, from 0 to math.MaxInt32.
func Pods(n int64) int32 {
	return int32(max(0, min(n, math.MaxInt32)))
}

// images returns the images in the pod template by container name, or nil if the path of the template is unknown.
func images(k kinds.Kind, obj *unstructured.Unstructured) map[string]string {
	path := k.TemplatePath()
	if len(path) == 0 {
		return nil
	}
	spec := fieldpath.Object(fieldpath.Object(obj.Object, path...), "spec")
	all := map[string]string{}
	for _, list := range []string{"initContainers", "containers"} {
		for _, c := range fieldpath.Objects(spec[list]) {
			name, _ := c["name"].(string)
			all[name], _ = c["image"].(string)
		}
	}
	return all
}
