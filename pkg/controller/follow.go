package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
)

// follow watches a kind's objects until the context ends: from when its CRD is installed
// until it is removed, and again when it is back.
func (c *Controller) follow(ctx context.Context, o *owners) error {
	for first := !o.declared; ctx.Err() == nil; first = false {
		if err := c.followInstalled(ctx, o, first); err != nil {
			return err
		}
	}
	return nil
}

// followInstalled waits until a kind's CRD is installed, and watches its objects until the
// CRD is removed. Missing rights are waited out, unless no kind may be read from the start
// of a loop that does not resume, which is an error. A watch of CRDs would need a right
// that reconciling does not.
func (c *Controller) followInstalled(ctx context.Context, o *owners, first bool) error {
	installed, removed := context.WithCancel(ctx)
	defer removed()
	source, crd := c.ownerSource(o, removed), o.kind.CRD()
	objects := c.health.New(source)
	hasSynced := objects.Handle(c.handler(source, func(obj any) []memory.Key { return o.keysOf(obj) }))
	go func() {
		if cache.WaitForCacheSync(installed.Done(), hasSynced) {
			c.memory.Notify()
		}
	}()
	missing, reported := false, false
	objects.Need()
	err := objects.Run(installed, func(err error) error {
		absent := apierrors.IsNotFound(err)
		switch {
		case absent:
			o.state.Store(&ownerState{missing: true})
			c.memory.Notify()
		case forbidden(err):
			o.state.Store(&ownerState{refused: err})
			c.memory.Notify()
		}
		if first {
			first = false
			if err := c.firstAnswer(crd, err); err != nil {
				return err
			}
		} else if absent && !missing && !o.declared {
			c.logNotInstalled(crd)
		}
		switch {
		case err == nil:
			if missing && !o.declared {
				c.report.Logf("%s is installed", crd)
			}
			c.awaitCaches(installed, o)
			o.state.Store(&ownerState{store: objects.GetIndexer(), synced: hasSynced})
		case absent:
			missing = true
		case !reported:
			c.report.Logf("cannot list %s: %v; trying again", crd, err)
			reported = true
		}
		return nil
	})
	c.health.Forget(crd)
	if ctx.Err() == nil {
		o.state.Store(&ownerState{}) // the states of a loop that has ended can still be read
	}
	return err
}

// awaitCaches waits until the caches are filled that plans for a kind read. From an empty
// one, a plan would conclude that there is nothing.
func (c *Controller) awaitCaches(ctx context.Context, o *owners) {
	if input := c.inputs[o.kind.Mapping.Strategy]; input != nil {
		select {
		case <-input.Need():
		case <-ctx.Done():
		}
	}
	c.revisions.await(ctx)
}

// ownerSource is the source of a kind's objects.
func (c *Controller) ownerSource(o *owners, missing func()) informer.Source {
	objects := o.client.Namespace(c.Namespace)
	return informer.Source{
		Resource: o.kind.CRD(),
		List:     informer.Lists(objects.List),
		Watch:    objects.Watch,
		Selector: c.Selector.String(),
		Client:   o.client, Example: &unstructured.Unstructured{}, Trim: trimOwner(o.kind),
		Equal: informer.Equal(func(before, after *unstructured.Unstructured) bool {
			at := o.kind.Mapping.Status
			return !differs(o.kind, before, after) && equality.Semantic.DeepEqual(strategy.DecodeStatus(at, before), strategy.DecodeStatus(at, after))
		}),
		Indexers: o.indexers(), Missing: missing,
	}
}

// preflight collects the first answers for all kinds, so that a start logs in one line
// which CRDs are not installed.
type preflight struct {
	mu      sync.Mutex
	answers int
	missing []string
	denied  []error
}

// firstAnswer takes the result of the first list of a kind. The last one logs which CRDs
// are not installed, and returns an error if no kind may be read.
func (c *Controller) firstAnswer(crd string, err error) error {
	p := &c.preflight
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers++
	switch {
	case apierrors.IsNotFound(err):
		p.missing = append(p.missing, crd)
	case forbidden(err) && !c.Resumed:
		p.denied = append(p.denied, fmt.Errorf("list %s: %w", crd, err))
	}
	switch {
	case p.answers < len(c.Kinds):
		return nil
	case len(p.denied) == len(c.Kinds):
		return errors.Join(p.denied...)
	}
	slices.Sort(p.missing)
	c.logNotInstalled(p.missing...)
	return nil
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
