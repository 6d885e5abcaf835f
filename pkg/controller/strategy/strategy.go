// Package strategy implements the ways to run the pods of a kind, one per file. A strategy defines the
// input of plans, the plan, and the children. Package kinds lists the strategies that a CRD can declare.
package strategy

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// Strategy is one way to run the pods of a kind: numbered, on nodes, or through a Deployment.
type Strategy struct {
	// Plan returns the actions for a view of an object.
	Plan func(plan.View) plan.Actions
	// PodIndex is the name of the index that maps the UID of an object to its pods.
	PodIndex string
	// Input returns a source of the objects that plans need in addition to pods and revisions. It is nil if plans need
	// none. A change to a cluster-scoped object triggers the plans of all owners with this strategy. A change to a
	// namespaced object triggers only the plan of the owner that controls it.
	Input func(Clients) informer.Source
	// Read adds to the view of an owner the objects of Input that its plan needs. It is nil if Input is nil.
	Read func(v *plan.View, obj *unstructured.Unstructured, input cache.Indexer)

	// complete sets the fields of an owner that only this strategy needs. template is nil if the owner has a Problem.
	complete func(owner *plan.Owner, kind kinds.Kind, obj *unstructured.Unstructured, template map[string]any)
}

// Clients holds the clients of a controller. Core is for nodes, events, and most requests for pods. Dynamic is for
// everything else. Namespace is the namespace of the controller or of one object; "" means all namespaces.
type Clients struct {
	Core      corev1client.CoreV1Interface
	Dynamic   dynamic.Interface
	Namespace string
}

// All returns the strategies by name, one for each name in kinds.Strategies.
func All() map[kinds.Strategy]*Strategy {
	return map[kinds.Strategy]*Strategy{
		kinds.StrategyPods:       pods(),
		kinds.StrategyDeployment: deployment(),
		kinds.StrategyNodes:      nodes(),
	}
}

// children returns how to write children. Deployments and revisions are also read as unstructured objects, because
// plans compare fields, and server-side apply sends only some fields.
func children() map[plan.Kind]child {
	pods, apps := corev1.SchemeGroupVersion.WithResource("pods"), appsv1.SchemeGroupVersion.WithResource
	return map[plan.Kind]child{
		plan.KindPod:        {resource: pods, kind: "pod", fields: identityFields},
		plan.KindDeployment: {resource: apps("deployments"), kind: "Deployment", fields: deploymentFields},
		plan.KindRevision:   {resource: apps("controllerrevisions"), kind: "ControllerRevision", fields: revisionFields},
	}
}

// Pods returns an object's pods from the cache.
func (s *Strategy) Pods(obj *unstructured.Unstructured, pods cache.Indexer) []plan.Pod {
	return childrenOf[plan.Pod](obj, pods, s.PodIndex)
}

// Record is the cached part of a pod, a Deployment, or a revision.
type Record[T any] struct {
	metav1.ObjectMeta
	Child T
}

// childrenOf returns an object's children. It ignores other namespaces, whose users can forge references to the object.
func childrenOf[T any](obj *unstructured.Unstructured, store cache.Indexer, index string) []T {
	found, _ := store.ByIndex(index, string(obj.GetUID())) // cannot fail, because the index exists
	children := make([]T, 0, len(found))
	for _, child := range found {
		if r, ok := child.(*Record[T]); ok && r.Namespace == obj.GetNamespace() {
			children = append(children, r.Child)
		}
	}
	return children
}

// childSource returns a source that watches children as unstructured objects. read returns the part of a
// child that plans read, and equal reports whether plans can ignore the difference between two such parts.
func childSource[T any](
	c Clients, kind plan.Kind, singular string,
	read func(*unstructured.Unstructured) T, equal func(a, b T) bool,
) informer.Source {
	resource := children()[kind].resource
	objects := follow.SourceOf(c.Dynamic.Resource(resource).Namespace(c.Namespace))
	s := informer.SourceOf(resource.Resource, objects, &unstructured.Unstructured{},
		func(u *unstructured.Unstructured) any { return &Record[T]{trimMeta(u), read(u)} },
		func(before, after *Record[T]) bool { return equal(before.Child, after.Child) })
	s.Singular = singular
	s.Indexers = cache.Indexers{ByOwner: indexByOwner}
	return s
}

// ByOwner and ByLabel are the names of indexes for children. ByOwner finds children by the UID of their controller.
// ByLabel finds the pods of Deployments by the UID in the owner label.
const (
	ByOwner = "owner"
	ByLabel = "label"
)

func indexByOwner(obj any) ([]string, error) {
	if o, ok := obj.(metav1.Object); ok && ownerUID(o) != "" {
		return []string{string(ownerUID(o))}, nil
	}
	return nil, nil
}

func ownerUID(obj metav1.Object) types.UID {
	return ptr.Deref(metav1.GetControllerOfNoCopy(obj), metav1.OwnerReference{}).UID
}

// trimMeta returns the cached part of a child's metadata: the key, the version, and the controller reference.
func trimMeta(obj metav1.Object) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Name: obj.GetName(), Namespace: obj.GetNamespace(), ResourceVersion: obj.GetResourceVersion()}
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		meta.OwnerReferences = []metav1.OwnerReference{*ref}
	}
	return meta
}

// Owner returns the part of an object that plans read.
func (s *Strategy) Owner(kind kinds.Kind, obj *unstructured.Unstructured) plan.Owner {
	o := plan.Owner{
		Kind:        kind.Kind,
		Name:        obj.GetName(),
		UID:         obj.GetUID(),
		Generation:  obj.GetGeneration(),
		Deleting:    obj.GetDeletionTimestamp() != nil,
		Pause:       apis.ReadPause(obj.GetAnnotations()),
		Status:      DecodeStatus(kind.Mapping.Status, obj),
		StatusPaths: kind.Mapping.Status,

		HistoryLimit: kinds.RevisionHistoryLimit(kind, obj),
	}
	var err error
	if !kind.Mapping.Strategy.WithoutReplicas() {
		if o.Desired, err = kind.Desired(obj); err != nil {
			o.Invalid = err.Error()
		}
	}
	template, err := kinds.TemplateFields(kind, obj)
	if err == nil && Size(template) > maxTemplate {
		err = fmt.Errorf("the pod template is too large: it has more than %d bytes", maxTemplate)
	}
	if err == nil {
		o.Template, err = kinds.DecodeTemplate(template)
	}
	if err != nil {
		// The hash stays empty, so no pod is outdated. Otherwise, plans would delete pods that cannot be recreated.
		o.Problem, template = err.Error(), nil
	} else {
		o.TemplateHash = kinds.TemplateHash(kind, obj)
	}
	s.complete(&o, kind, obj, template)
	return o
}

// maxTemplate is the maximum size of a pod template in bytes. The server stores pods of up to 1.5
// MB, but many of them would fill etcd and the memory of all clients that watch pods.
const maxTemplate = 256 << 10

// Size returns the size of an object as JSON, in bytes.
func Size(object map[string]any) int {
	text, _ := json.Marshal(object) // cannot fail, because the object was decoded from JSON
	return len(text)
}
