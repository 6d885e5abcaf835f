package controller

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
)

// follow watches a kind's objects whenever its CRD is installed, until the context ends.
func (c *Controller) follow(ctx context.Context, o *owners) {
	for ctx.Err() == nil {
		c.followInstalled(ctx, o)
	}
}

// followInstalled waits until a kind's CRD is installed and its objects can be listed, and watches
// them until the CRD is removed. It polls, because a watch of CRDs would take a permission that
// reconciling does not need.
func (c *Controller) followInstalled(ctx context.Context, o *owners) {
	installed, removed := context.WithCancel(ctx)
	defer removed()
	crd := o.kind.CRD()
	objects := c.newCache(c.ownerSource(o, removed), func(obj any) []memory.Key { return o.keysOf(obj) })
	reported := false
	objects.Need()
	objects.Run(installed, func(err error) {
		missing := o.state.Load().missing
		switch {
		case err == nil:
			if missing && !o.declared {
				c.report.Logf("%s is installed", crd)
			}
			c.awaitCaches(installed, o)
			o.state.Store(&ownerState{objects: objects})
		case apierrors.IsNotFound(err):
			if !missing && !o.declared {
				c.logNotInstalled(crd)
			}
			o.state.Store(&ownerState{missing: true})
		case !reported:
			c.report.Logf("cannot list %s: %v; trying again", crd, err)
			reported = true
		}
		if forbidden(err) {
			o.state.Store(&ownerState{refused: err})
		}
		c.memory.Notify()
	})
	c.health.Forget(crd)
	if ctx.Err() == nil {
		o.state.Store(&ownerState{}) // after the end of the loop, States still needs the objects
	}
}

// awaitCaches fills the caches that plans for a kind read, and waits for them. From an empty cache,
// a plan would conclude that there are no objects.
func (c *Controller) awaitCaches(ctx context.Context, o *owners) {
	if input := c.inputs[o.kind.Mapping.Strategy]; input != nil {
		select {
		case <-input.Need():
		case <-ctx.Done():
		}
	}
	c.revisions.await(ctx)
}

func (c *Controller) ownerSource(o *owners, missing func()) informer.Source {
	s := informer.SourceOf(o.kind.CRD(), o.client.Namespace(c.Namespace), &unstructured.Unstructured{})
	s.Selector = c.Selector.String()
	s.Trim = trimOwner(o.kind)
	s.Equal = informer.Equal(func(before, after *unstructured.Unstructured) bool {
		at := o.kind.Mapping.Status
		return !differs(o.kind, before, after) && equality.Semantic.DeepEqual(strategy.DecodeStatus(at, before), strategy.DecodeStatus(at, after))
	})
	s.Indexers = cache.Indexers{byUID: indexByUID}
	s.OnMissing, s.OnFilled = missing, c.memory.Notify
	return s
}

// logNotInstalled logs which CRDs are not installed, and the command that installs them.
func (c *Controller) logNotInstalled(crds ...string) {
	switch len(crds) {
	case 0:
	case 1:
		c.report.Logf("%s is not installed: run \"%s\"; waiting until it is installed", crds[0], c.Install)
	default:
		c.report.Logf("%s are not installed: run \"%s\"; waiting until they are installed", strings.Join(crds, ", "), c.Install)
	}
}
