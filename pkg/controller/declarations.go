package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Declarations are the CRDs whose declarations a loop takes up.
type Declarations struct {
	// All asks for those of all CRDs, Named for those of some (plural.group).
	All   bool
	Named []string
}

// declarations takes them up, and knows what is wrong with them.
type declarations struct {
	*Controller

	mu sync.Mutex
	// read says that those which there were at the start have been taken up.
	read bool
	// refused is what is wrong with the declarations of some CRDs.
	refused map[string]error
}

func (d *declarations) any() bool { return d.Declared.All || len(d.Declared.Named) > 0 }

// ask reports whether the declaration of a CRD is to be taken up.
func (d *declarations) ask(crd string) bool {
	return d.Declared.All || slices.Contains(d.Declared.Named, crd)
}

// known reports whether all has been taken up that was declared at the start.
func (d *declarations) known() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.any() || d.read
}

func (d *declarations) setRead() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.read = true
}

// wrong gives what is wrong with some, by the names of the CRDs.
func (d *declarations) wrong() map[string]error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.refused)
}

// refuse notes what is wrong with the declaration of a CRD, nil for nothing, and
// says whether that is something new.
func (d *declarations) refuse(crd string, err error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.refused[crd]
	if err == nil {
		delete(d.refused, crd)
		return false
	}
	d.refused[crd] = err
	return before == nil || before.Error() != err.Error()
}

// declaration is what is kept of a CRD: the kind that it declares, or what is
// wrong with that.
type declaration struct {
	metav1.ObjectMeta
	kind kinds.Kind
	err  error
}

// declared reports whether there is a kind to be reconciled.
func (d *declaration) declared() bool { return d.err == nil && d.kind.Reconciled() }

// declarationOf reads a CRD. One whose kind is not yet served declares nothing.
func declarationOf(obj any) (any, error) {
	crd, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil // a tombstone
	}
	d := &declaration{ObjectMeta: metav1.ObjectMeta{Name: crd.GetName(), UID: crd.GetUID(), ResourceVersion: crd.GetResourceVersion()}}
	if kinds.Established(crd) {
		d.kind, d.err = kinds.Declared(crd)
	}
	return d, nil
}

// follow reconciles what CRDs declare, from when they do until they
// do not any more.
func (d *declarations) follow(ctx context.Context, run func(*owners)) error {
	crds := d.Dynamic.Resource(kinds.CRDResource())
	crdInformer, err := d.health.New(informer.Source{
		Resource: kinds.CRDResource().Resource,
		List:     informer.Lists(crds.List),
		Watch:    crds.Watch,
		Client:   d.Dynamic, Example: &unstructured.Unstructured{}, Trim: declarationOf,
	})
	if err != nil {
		return err
	}
	handle := func(obj any, there bool) {
		if declared, ok := informer.Object(obj).(*declaration); ok && d.ask(declared.Name) {
			d.handleCRDChange(declared, there, run)
		}
	}
	handled, err := crdInformer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { handle(obj, true) },
		UpdateFunc: func(_, obj any) { handle(obj, true) },
		DeleteFunc: func(obj any) { handle(obj, false) },
	})
	if err != nil {
		return err
	}
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), handled.HasSynced) {
			d.miss(crdInformer.GetStore())
			d.setRead()
			d.memory.Notify()
		}
	}()
	crdInformer.RunWithContext(ctx)
	return nil
}

// miss says of CRDs that were named and do not declare their kinds.
func (d *declarations) miss(store cache.Store) {
	for _, crd := range d.Declared.Named {
		obj, _, _ := store.GetByKey(crd)
		if declared, ok := obj.(*declaration); !ok || (declared.err == nil && !declared.declared()) {
			d.refuse(crd, errNotDeclared)
			d.report.Logf("%s is not reconciled: %v; waiting for it", crd, errNotDeclared)
		}
	}
}

var errNotDeclared = errors.New("no CRD of that name has the annotation " + kinds.AnnotationPlan)

// mayRead says at the start where the rights for that are missing.
func (d *declarations) mayRead(ctx context.Context) error {
	_, err := d.Dynamic.Resource(kinds.CRDResource()).List(ctx, metav1.ListOptions{Limit: 1})
	if forbidden(err) {
		return fmt.Errorf("list CRDs to find declared kinds (without this permission, pass the CRDs with --kind-file): %w", err)
	}
	return err
}

// handleCRDChange makes the loop reconcile a kind as its CRD declares it now, or not any
// more. It is called for one CRD after the other.
func (d *declarations) handleCRDChange(declared *declaration, there bool, run func(*owners)) {
	before := d.kinds.get(declared.Name)
	if before != nil && !before.declared {
		return // it was named at the start, and is as it was then
	}
	var wrong error
	if there {
		wrong = declared.err
	}
	after := there && declared.declared()
	switch {
	case d.refuse(declared.Name, wrong):
		d.report.Logf("%s is not reconciled: %v", declared.Name, declared.err)
	case before != nil && !there:
		d.report.Logf("stopped reconciling %s: its CRD was deleted", declared.Name)
	case before != nil && !after:
		d.report.Logf("stopped reconciling %s: its CRD has no annotation %s; objects and pods stay", declared.Name, kinds.AnnotationPlan)
	case before == nil && after:
		d.report.Logf("reconciling %s (plan: %s)", declared.Name, declared.kind.Mapping.Strategy)
	case before != nil && before.kind.Mapping.Strategy != declared.kind.Mapping.Strategy:
		d.report.Logf("the plan of %s is now %s instead of %s: pods and Deployments of the old plan stay until the objects are deleted", declared.Name, declared.kind.Mapping.Strategy, before.kind.Mapping.Strategy)
	case before != nil && !equality.Semantic.DeepEqual(before.kind, declared.kind):
		d.report.Logf("the annotations or the schema of %s changed; reconciling it again (plan: %s)", declared.Name, declared.kind.Mapping.Strategy)
	default:
		return
	}
	if before != nil {
		before.withdrawn.Store(true)
		before.stop()
		<-before.stopped
	}
	switch {
	case after:
		o, err := d.ownersOf(declared.kind)
		if err != nil { // strategy.All knows all that can be declared
			d.refuse(declared.Name, err)
			break
		}
		o.declared = true
		d.kinds.put(o)
		run(o)
	case before != nil:
		d.kinds.remove(before)
		for _, k := range before.keys() {
			d.queue.Wake(k, "its kind is no longer reconciled")
		}
	}
	d.memory.Notify()
}
