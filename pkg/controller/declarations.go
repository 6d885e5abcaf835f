package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Declarations selects the CRDs whose declared kinds are reconciled.
type Declarations struct {
	// All selects all CRDs. Named selects the CRDs with these names (plural.group).
	All   bool
	Named []string
}

// declarations watches the selected CRDs, and starts and stops their kinds.
type declarations struct {
	*Controller
	// synced means that the CRDs that existed at the start have been handled.
	synced atomic.Bool
}

func (d *declarations) any() bool { return d.Declared.All || len(d.Declared.Named) > 0 }

// hasSynced reports whether the CRDs that existed at the start have been handled.
func (d *declarations) hasSynced() bool { return !d.any() || d.synced.Load() }

// refuse replaces the kind of a CRD with one without objects, for which Refused returns err.
func (d *declarations) refuse(crd string, err error) {
	o := &owners{kind: kinds.Kind{Resource: schema.ParseGroupResource(crd).WithVersion("")}, strategy: &strategy.Strategy{}, declared: true}
	o.state.Store(&ownerState{refused: err})
	d.kinds.put(o)
}

// declaration is the part of a CRD that the cache keeps: the kind that the CRD declares, or the
// error in its declaration.
type declaration struct {
	metav1.ObjectMeta
	kind kinds.Kind
	err  error
}

// valid reports whether the CRD declares a kind to reconcile.
func (d *declaration) valid() bool { return d.err == nil && d.kind.Reconciled() }

// trimCRD returns the declaration of a CRD. A CRD that is not yet served declares no kind.
func trimCRD(crd *unstructured.Unstructured) (any, error) {
	d := &declaration{ObjectMeta: metav1.ObjectMeta{Name: crd.GetName(), UID: crd.GetUID(), ResourceVersion: crd.GetResourceVersion()}}
	if kinds.Established(crd) {
		d.kind, d.err = kinds.Declared(crd)
	}
	return d, nil
}

// follow reconciles each kind while its CRD declares it, until the context ends. run starts a kind.
func (d *declarations) follow(ctx context.Context, run func(*owners)) {
	resource := kinds.CRDResource()
	source := informer.SourceOf(resource.Resource, d.Dynamic.Resource(resource), &unstructured.Unstructured{})
	source.Trim = informer.Trim(trimCRD)
	var crds *informer.Informer
	source.OnFilled = func() {
		d.refuseMissing(crds.GetStore())
		d.synced.Store(true)
		d.memory.Notify()
	}
	crds = d.health.New(source)
	handle := func(obj any, exists bool) {
		crd, ok := informer.Object(obj).(*declaration)
		if ok && (d.Declared.All || slices.Contains(d.Declared.Named, crd.Name)) {
			d.handleCRDChange(crd, exists, run)
		}
	}
	crds.Handle(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { handle(obj, true) },
		UpdateFunc: func(_, obj any) { handle(obj, true) },
		DeleteFunc: func(obj any) { handle(obj, false) },
	})
	crds.RunWithContext(ctx)
}

// refuseMissing refuses and logs the named CRDs that do not exist or declare no kind.
func (d *declarations) refuseMissing(store cache.Store) {
	for _, name := range d.Declared.Named {
		obj, _, _ := store.GetByKey(name)
		if crd, ok := obj.(*declaration); !ok || (crd.err == nil && !crd.valid()) {
			d.refuse(name, errNotDeclared)
			d.report.Logf("%s is not reconciled: %v; waiting for it", name, errNotDeclared)
		}
	}
}

var errNotDeclared = errors.New("no CRD of that name has the annotation " + kinds.AnnotationPlan)

func (d *declarations) mayRead(ctx context.Context) error {
	if !d.any() {
		return nil
	}
	_, err := d.Dynamic.Resource(kinds.CRDResource()).List(ctx, metav1.ListOptions{Limit: 1})
	if forbidden(err) {
		return fmt.Errorf("list CRDs to find declared kinds (without this permission, pass the CRDs with --kind-file): %w", err)
	}
	return err
}

// handleCRDChange starts, restarts, or stops reconciling a kind after its CRD has changed. Calls do
// not overlap.
func (d *declarations) handleCRDChange(crd *declaration, exists bool, run func(*owners)) {
	before := d.kinds.get(crd.Name)
	if before != nil && !before.declared {
		return // the kind was given at the start and does not follow its CRD
	}
	running := before != nil && before.stop != nil
	valid, invalid := exists && crd.valid(), exists && crd.err != nil
	switch {
	case invalid && !running && before != nil && before.state.Load().refused.Error() == crd.err.Error():
		return
	case invalid:
		d.report.Logf("%s is not reconciled: %v", crd.Name, crd.err)
	case running && !exists:
		d.report.Logf("stopped reconciling %s: its CRD was deleted", crd.Name)
	case running && !valid:
		d.report.Logf("stopped reconciling %s: its CRD has no annotation %s; objects and pods stay", crd.Name, kinds.AnnotationPlan)
	case !running && valid:
		d.report.Logf("reconciling %s (plan: %s)", crd.Name, crd.kind.Mapping.Strategy)
	case !running:
	case before.kind.Mapping.Strategy != crd.kind.Mapping.Strategy:
		d.report.Logf("the plan of %s is now %s instead of %s: pods and Deployments of the old plan stay until the objects are deleted", crd.Name, crd.kind.Mapping.Strategy, before.kind.Mapping.Strategy)
	case !equality.Semantic.DeepEqual(before.kind, crd.kind):
		d.report.Logf("the annotations or the schema of %s changed; reconciling it again (plan: %s)", crd.Name, crd.kind.Mapping.Strategy)
	default:
		return
	}
	if running {
		before.withdrawn.Store(true)
		before.stop()
		<-before.stopped
	}
	switch {
	case valid:
		o := d.ownersOf(crd.kind)
		o.declared = true
		d.kinds.put(o)
		run(o)
	case invalid:
		d.refuse(crd.Name, crd.err)
	case before != nil:
		d.kinds.remove(before)
	}
	if running && !valid {
		for _, k := range before.keys() {
			d.wake(k, "its kind is no longer reconciled")
		}
	}
	d.memory.Notify()
}
