// Package play simulates the controllers of a cluster for tests with package apiserver. It simulates only what users
// can observe. Functions such as Kubelet add a controller to a server and start it. Controllers stop with the test.
package play

import (
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// reaction is the delay between a change and the reconcile.
const reaction = 10 * time.Millisecond

// Cluster adds Kubelet, ReplicaSets, Deployments, and StatefulSets to a server.
func Cluster(s *apiserver.Server) {
	Kubelet(s)
	ReplicaSets(s)
	Deployments(s)
	StatefulSets(s)
}

// control calls reconcile shortly after an object of the resource or one of its dependents changes,
// for one object at a time. It calls reconcile again after the returned time, unless that is zero.
func control(s *apiserver.Server, resource, kind string, reconcile func(*unstructured.Unstructured) (again time.Duration)) {
	var mu, working sync.Mutex
	due := map[string]bool{}
	var plan func(time.Duration, string, string)
	plan = func(after time.Duration, namespace, name string) {
		mu.Lock()
		defer mu.Unlock()
		key := after.String() + namespace + "/" + name
		if due[key] {
			return
		}
		due[key] = true
		s.After(after, func() {
			mu.Lock()
			delete(due, key)
			mu.Unlock()
			working.Lock()
			defer working.Unlock()
			obj := s.Get(resource, namespace, name)
			if fate(s) == Away || obj == nil || obj.GetDeletionTimestamp() != nil {
				return
			}
			if again := reconcile(obj); again > 0 {
				plan(again, namespace, name)
			}
		})
	}
	s.OnWrite(func(c apiserver.Change) {
		obj := c.Object()
		if obj == nil {
			return
		}
		if c.Resource.Resource == resource {
			plan(reaction, obj.GetNamespace(), obj.GetName())
		} else if owner := metav1.GetControllerOf(obj); owner != nil && owner.Kind == kind {
			plan(reaction, obj.GetNamespace(), owner.Name)
		}
	})
}

// owned returns the objects of a resource that an owner controls, oldest first. It omits terminating objects.
func owned(s *apiserver.Server, resource string, owner *unstructured.Unstructured) []*unstructured.Unstructured {
	all := slices.DeleteFunc(s.List(resource, owner.GetNamespace()), func(obj *unstructured.Unstructured) bool {
		return !metav1.IsControlledBy(obj, owner) || obj.GetDeletionTimestamp() != nil
	})
	slices.SortStableFunc(all, func(a, b *unstructured.Unstructured) int {
		return a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time)
	})
	return all
}

func child(owner *unstructured.Unstructured, apiVersion, kind, name string, labels map[string]string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	obj.SetNamespace(owner.GetNamespace())
	obj.SetName(name)
	obj.SetLabels(labels)
	obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())})
	return obj
}

// createPod creates a pod from the template of its owner, with additional labels. If name is empty, the server
// generates a name from the name of the owner.
func createPod(a apiserver.Actor, owner *unstructured.Unstructured, template map[string]any, name string, labels map[string]string) {
	all := map[string]string{}
	maps.Copy(all, labelsIn(template))
	maps.Copy(all, labels)
	pod := child(owner, "v1", "Pod", name, all)
	if name == "" {
		pod.SetGenerateName(owner.GetName() + "-")
	}
	if annotations, found, _ := unstructured.NestedStringMap(template, "metadata", "annotations"); found {
		pod.SetAnnotations(annotations)
	}
	pod.Object["spec"], _, _ = unstructured.NestedFieldCopy(template, "spec")
	a.Create(pod)
}

func labelsIn(template map[string]any) map[string]string {
	labels, _, _ := unstructured.NestedStringMap(template, "metadata", "labels")
	return labels
}

// number returns an integer field of an object, or the given default if the field is not set.
func number(obj *unstructured.Unstructured, otherwise int, path ...string) int {
	if obj == nil { // deleted in the meantime
		return otherwise
	}
	if n, found, err := unstructured.NestedInt64(obj.Object, path...); found && err == nil {
		return int(n)
	}
	return otherwise
}

// setStatus sets fields in the status of an object. It does nothing if the object was replaced.
func setStatus(a apiserver.Actor, resource string, of *unstructured.Unstructured, status map[string]any) {
	a.Update(resource, of.GetNamespace(), of.GetName(), func(obj *unstructured.Unstructured) {
		if obj.GetUID() != of.GetUID() {
			return
		}
		for name, value := range status {
			_ = unstructured.SetNestedField(obj.Object, value, "status", name)
		}
	})
}

// condition returns a condition. It keeps lastTransitionTime if the object has the condition with the same status.
func condition(of *unstructured.Unstructured, kind string, met bool, reason, message string) map[string]any {
	status := "False"
	if met {
		status = "True"
	}
	since := time.Now().UTC().Format(time.RFC3339)
	for _, was := range objectsAt(of, "status", "conditions") {
		if was["type"] == kind && was["status"] == status {
			if text, is := was["lastTransitionTime"].(string); is {
				since = text
			}
		}
	}
	c := map[string]any{"type": kind, "status": status, "lastTransitionTime": since}
	if reason != "" {
		c["reason"], c["message"] = reason, message
	}
	return c
}

// objectsAt returns the objects in a list.
func objectsAt(of *unstructured.Unstructured, path ...string) []map[string]any {
	list, _, _ := unstructured.NestedSlice(of.Object, path...)
	var all []map[string]any
	for _, c := range list {
		if c, ok := c.(map[string]any); ok {
			all = append(all, c)
		}
	}
	return all
}
