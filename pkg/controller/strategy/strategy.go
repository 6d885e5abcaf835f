// Package strategy holds the ways in which the pods of a kind come about, a file
// for each: what its plans read, the plan, and how that is executed. What a CRD
// may declare for each is in package kinds.
package strategy

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	// create and delete do so with what fills one slot; nil: plans do not ask for it.
	create func(ctx context.Context, w *Work, creation plan.Creation, o *Outcome) error
	delete func(ctx context.Context, w *Work, deletion plan.Deletion, o *Outcome) error
	// apply does all else that a plan asks for, and reports whether nothing of it was
	// left out; nil: there is nothing else.
	apply func(ctx context.Context, w *Work, o *Outcome) (done bool, err error)
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
