package controller

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// Declarations selects the CRDs whose declared kinds are reconciled.
type Declarations struct {
	// All selects all CRDs. Named selects the CRDs with these names (plural.group).
	All   bool
	Named []string
}

func (d Declarations) any() bool { return d.All || len(d.Named) > 0 }

// refuse replaces the kind of a CRD with a placeholder without objects. Refused returns err for this kind.
func (c *Controller) refuse(crd string, err error) {
	o := &owners{kind: kinds.Kind{Resource: schema.ParseGroupResource(crd).WithVersion("")}, declared: true}
	o.state.Store(&ownerState{refused: err})
	c.kinds.Store(crd, o)
}

// declaration is the cached part of a CRD: the kind that the CRD declares, or the error in its declaration.
type declaration struct {
	metav1.ObjectMeta
	kind kinds.Kind
	err  error
}

func (d *declaration) valid() bool { return d.err == nil && d.kind.Reconciled() }

// trimCRD returns the declaration of a CRD. Until the CRD is established, the declaration has no kind.
func trimCRD(crd *unstructured.Unstructured) any {
	d := &declaration{ObjectMeta: metav1.ObjectMeta{Name: crd.GetName(), UID: crd.GetUID(), ResourceVersion: crd.GetResourceVersion()}}
	if kinds.Established(crd) {
		d.kind, d.err = kinds.Declared(crd)
	}
	return d
}

func declarationsEqual(a, b *declaration) bool {
	return equality.Semantic.DeepEqual(a.kind, b.kind) && equality.Semantic.DeepEqual(a.err, b.err)
}

// followDeclarations watches the CRDs, and starts and stops the kinds that they declare, until the
// context ends. It starts a kind by calling run.
func (c *Controller) followDeclarations(ctx context.Context, run func(*owners)) {
	resource := kinds.CRDResource()
	objects := follow.SourceOf(c.Dynamic.Resource(resource))
	source := informer.SourceOf(resource.Resource, objects, &unstructured.Unstructured{}, trimCRD, declarationsEqual)
	var crds *informer.Informer
	source.OnFilled = func() {
		c.refuseMissing(crds.GetStore())
		c.crdsHandled.Store(true)
		c.memory.Notify()
	}
	crds = c.health.New(source, func(before, after any, _ bool) {
		crd, ok := cmp.Or(after, before).(*declaration)
		if ok && (c.Declared.All || slices.Contains(c.Declared.Named, crd.Name)) {
			c.handleCRDChange(crd, after != nil, run)
		}
	})
	crds.RunWithContext(ctx)
}

// refuseMissing refuses and logs the named CRDs that do not exist or declare no kind.
func (c *Controller) refuseMissing(store cache.Store) {
	for _, name := range c.Declared.Named {
		obj, _, _ := store.GetByKey(name)
		if crd, ok := obj.(*declaration); !ok || (crd.err == nil && !crd.valid()) {
			c.refuse(name, errNotDeclared)
			c.report.Logf("%s is not reconciled: %v; waiting for it", name, errNotDeclared)
		}
	}
}

var errNotDeclared = errors.New("no CRD of that name has the annotation " + kinds.AnnotationPlan)

// handleCRDChange starts, restarts, or stops a kind when its CRD changes. It is never called concurrently.
func (c *Controller) handleCRDChange(crd *declaration, exists bool, run func(*owners)) {
	before := c.kinds.get(crd.Name)
	if before != nil && !before.declared {
		return // the kind comes from Options.Kinds, and does not depend on its CRD
	}
	running := before != nil && before.stop != nil
	valid, invalid := exists && crd.valid(), exists && crd.err != nil
	switch {
	case invalid:
		c.report.Logf("%s is not reconciled: %v", crd.Name, crd.err)
	case running && !exists:
		c.report.Logf("stopped reconciling %s: its CRD was deleted", crd.Name)
	case running && !valid:
		c.report.Logf("stopped reconciling %s: its CRD has no annotation %s; objects and pods stay", crd.Name, kinds.AnnotationPlan)
	case !running && valid:
		c.report.Logf("reconciling %s (plan: %s)", crd.Name, crd.kind.Mapping.Strategy)
	case !running:
	case before.kind.Mapping.Strategy != crd.kind.Mapping.Strategy:
		c.report.Logf("the plan of %s is now %s instead of %s: pods and Deployments of the old plan stay until the objects are deleted", crd.Name, crd.kind.Mapping.Strategy, before.kind.Mapping.Strategy)
	default:
		c.report.Logf("the annotations or the schema of %s changed; reconciling it again (plan: %s)", crd.Name, crd.kind.Mapping.Strategy)
	}
	if running {
		before.withdrawn.Store(true)
		before.stop()
	}
	switch {
	case valid:
		o := c.ownersOf(crd.kind)
		o.declared = true
		c.kinds.Store(crd.Name, o)
		run(o)
	case invalid:
		c.refuse(crd.Name, crd.err)
	case slices.Contains(c.Declared.Named, crd.Name):
		c.refuse(crd.Name, errNotDeclared)
	case before != nil:
		c.kinds.Delete(crd.Name)
	}
	if running && !valid {
		for _, k := range before.keys() {
			c.wake(k, false, "its kind is no longer reconciled")
		}
	}
	c.memory.Notify()
}
