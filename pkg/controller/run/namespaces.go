package run

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// refusedAgain is how long the loop waits before it retries a namespace in which it lacks
// rights.
const refusedAgain = 30 * time.Second

// runInEach runs in several namespaces at the same time. A loop that runs forever skips the
// namespaces in which it lacks rights and retries them, as long as it works in at least one.
// Any other error on the first try stops all of them. A loop that ends by itself does what it
// can and returns all errors.
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

// runBesideOthers runs in one of several namespaces and retries it while it is skipped. It
// reports whether the others continue.
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

// triedAgain reports whether an error affects only one namespace, which is retried: at first
// missing rights or a missing namespace, later any error, because the other loops continue.
// A HeldError is never retried.
func triedAgain(err error, first bool) bool {
	if first || err == nil || errors.Is(err, outcome.ErrPrecondition) {
		return apierrors.IsForbidden(err) || apierrors.IsNotFound(err)
	}
	return true
}

// outcomes are the results of several namespaces.
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

// refuse records a refused namespace and returns the number of these.
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

// together joins the errors. Errors of refused namespaces count only if there are no others.
func (o *outcomes) together(namespaces int) error {
	if len(o.refused) == namespaces {
		for _, err := range o.refused {
			o.errs = append(o.errs, err)
		}
	}
	return outcome.Join(o.errs)
}
