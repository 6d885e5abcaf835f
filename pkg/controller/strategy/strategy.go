// Package strategy holds the ways in which the pods of a kind come about, a file
// for each: what its plans read, the plan, and how that is executed. What a CRD
// may declare for each is in package kinds.
package strategy

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Strategy is one way in which the pods of a kind come about.
type Strategy struct {
	// Plan decides what is to be done.
	Plan func(plan.View) plan.Actions
	// PodIndex is the index by which the pods of an object are found, by its UID;
	// "": plans look at no pods.
	PodIndex string
	// Beside is what plans look at beside pods; nil: nothing.
	Beside *Beside

	// complete adds to what a plan reads of an object what only this strategy does.
	// The fields of the template are nil where the view has a Problem.
	complete func(v *plan.Owner, kind kinds.Kind, obj *unstructured.Unstructured, template map[string]any)
}

// Beside is what the plans of a strategy look at beside pods.
type Beside struct {
	// Source says how it is watched.
	Source func(Clients) informer.Source
	// Written says that plans write it: while the cache is behind that, every event
	// counts.
	Written bool
	// Differs reports whether a plan could tell two states of one apart.
	Differs func(before, after any) bool
	// Released reports whether one has left the owner that it had; nil: none has one.
	Released func(before, after any) bool
	// Why says in words that one changed, and how.
	Why func(obj any, how string) []string
	// Concerns says whose plans look at one.
	Concerns func(obj any) Concern
	// OwnerIndex is the value under which objects that look at the same one are
	// found; nil: they are not looked for.
	OwnerIndex func(kinds.Kind, *unstructured.Unstructured) string

	// read puts what is in the cache into the view of an object.
	read func(v *plan.View, obj *unstructured.Unstructured, store cache.Indexer) error
}

// Concern says which objects of a strategy look at something.
type Concern struct {
	// All says that all of them do.
	All bool
	// Owner is the one that controls it, nil for none.
	Owner *metav1.OwnerReference
	// Namespace is that of the owner.
	Namespace string
	// Indexed is the value of OwnerIndex of more of them; "" for none.
	Indexed string
}

// Clients are what reaches the server, within a namespace; "" for all.
type Clients struct {
	Core      corev1client.CoreV1Interface
	Dynamic   dynamic.Interface
	Namespace string
}

// registered has an entry for each of kinds.Strategies.
func registered() map[kinds.Strategy]*Strategy {
	return map[kinds.Strategy]*Strategy{
		kinds.StrategyPods:       pods(),
		kinds.StrategyDeployment: deployment(),
		kinds.StrategyNodes:      nodes(),
	}
}

// All returns the strategies by their names. It is an error that there is none for
// a name that a CRD may declare: it would be taken for another one.
func All() (map[kinds.Strategy]*Strategy, error) {
	all := registered()
	for _, name := range kinds.Strategies() {
		if s := all[name]; s == nil || s.Plan == nil || s.complete == nil {
			return nil, fmt.Errorf("the strategy %q is declared but not implemented", name)
		}
	}
	return all, nil
}

// Read completes the view of an object by what is in the caches.
func (s *Strategy) Read(v *plan.View, obj *unstructured.Unstructured, pods, beside cache.Indexer) error {
	if s.Beside != nil {
		if err := s.Beside.read(v, obj, beside); err != nil {
			return err
		}
	}
	if s.PodIndex == "" {
		return nil
	}
	found, err := pods.ByIndex(s.PodIndex, string(obj.GetUID()))
	if err != nil {
		return fmt.Errorf("find the pods of %s: %w", obj.GetName(), err)
	}
	v.Pods = make([]plan.Pod, 0, len(found))
	for _, pod := range found {
		if r, ok := pod.(*PodRecord); ok && r.Namespace == obj.GetNamespace() {
			v.Pods = append(v.Pods, r.podView())
		}
	}
	return nil
}

// child is how the loop writes children of one kind.
type child struct {
	resource schema.GroupVersionResource
	kind     string
	// fields returns what to create, apply, or patch, without the name, the owner, and
	// the preconditions.
	fields func(*Work, plan.Operation) (map[string]any, error)
	// read returns for whom a child was created, who owns it in words, and the fields
	// that plans compare. nil: its controller.
	read func(metav1.Object) (owner types.UID, ownedBy string, fields map[string]any, err error)
}

// children has an entry for each kind of children that plans write.
func children() map[plan.Kind]child {
	return map[plan.Kind]child{
		plan.KindPod:        {corev1.SchemeGroupVersion.WithResource("pods"), "Pod", identityFields, nil},
		plan.KindDeployment: {DeploymentResource(), "Deployment", deploymentFields, readDeployment},
		plan.KindRevision:   {RevisionResource(), "ControllerRevision", revisionFields, nil},
	}
}

// client returns the client for children of a kind.
func (w *Work) client(kind plan.Kind) dynamic.ResourceInterface {
	return w.Dynamic.Resource(children()[kind].resource).Namespace(w.Namespace)
}

// read returns for whom a child was created, who owns it in words, and the fields
// that plans compare.
func (w *Work) read(kind plan.Kind, obj metav1.Object) (owner types.UID, ownedBy string, fields map[string]any, err error) {
	if read := children()[kind].read; read != nil {
		return read(obj)
	}
	if ref := metav1.GetControllerOf(obj); ref != nil {
		return ref.UID, describeOwner(ref), nil, nil
	}
	return "", "", nil, nil
}

// describeOwner describes the owner of a child; nil is none.
func describeOwner(ref *metav1.OwnerReference) string {
	if ref == nil {
		return ""
	}
	return fmt.Sprintf("owned by %s %s", ref.Kind, ref.Name)
}
