package run

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// refusedAgain is how long a namespace in which rights are missing is left
// alone until it is tried again.
const refusedAgain = 30 * time.Second

// runInEach runs in each of some namespaces at the same time. A loop that is to go
// on leaves out the namespaces in which it may not work, and tries them again,
// as long as there is one in which it may; any other error of the first try ends
// all. One that ends by itself does what it can, and returns the errors of all.
func (o *Options) runInEach(ctx context.Context, namespaces []string, run func(context.Context, string) error) error {
	if len(namespaces) == 1 {
		return run(ctx, namespaces[0])
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	all := &outcomes{refused: map[string]error{}}
	var running sync.WaitGroup
	for _, namespace := range namespaces {
		running.Go(func() {
			if !o.runBesideOthers(ctx, namespace, all, len(namespaces), run) {
				end()
			}
		})
	}
	running.Wait()
	return all.together(len(namespaces))
}

// runBesideOthers runs in one of some namespaces, again and again while it is left
// out, and reports whether the others go on.
func (o *Options) runBesideOthers(ctx context.Context, namespace string, all *outcomes, namespaces int, run func(context.Context, string) error) bool {
	said := ""
	for first := true; ; first = false {
		err := run(ctx, namespace)
		if o.Ends() || ctx.Err() != nil || !triedAgain(err, first) {
			all.add(err)
			return err == nil || o.Ends()
		}
		if all.refuse(namespace, err) == namespaces {
			return false
		}
		if said != err.Error() {
			said = err.Error()
			o.logFor(namespace)("%v; skipping this namespace, and trying again every %s", err, refusedAgain)
		}
		o.health.waits(namespace, "skipped: "+err.Error())
		select {
		case <-ctx.Done():
			return true
		case <-time.After(refusedAgain):
			all.accept(namespace)
		}
	}
}

// triedAgain reports whether an error leaves out one namespace alone, to be
// tried again: at first where it is refused, and later whatever fails, as the
// loops of the others go on. That another loop is to end this one stays.
func triedAgain(err error, first bool) bool {
	if first || err == nil || errors.Is(err, outcome.ErrPrecondition) {
		return apierrors.IsForbidden(err) || apierrors.IsNotFound(err)
	}
	return true
}

// outcomes are those of several namespaces.
type outcomes struct {
	mu      sync.Mutex
	refused map[string]error
	errs    []error
}

func (o *outcomes) add(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if several := outcome.Errors(nil); errors.As(err, &several) {
		o.errs = append(o.errs, several...)
		return
	}
	o.errs = append(o.errs, err)
}

// refuse notes a namespace as refused, and returns how many are.
func (o *outcomes) refuse(namespace string, err error) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refused[namespace] = err
	return len(o.refused)
}

func (o *outcomes) accept(namespace string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.refused, namespace)
}

// together is the error of all: those of refused namespaces count only if there
// was no other.
func (o *outcomes) together(namespaces int) error {
	if len(o.refused) == namespaces {
		for _, err := range o.refused {
			o.errs = append(o.errs, err)
		}
	}
	return outcome.Join(o.errs)
}
