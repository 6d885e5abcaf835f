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
	var mu sync.Mutex
	skipped := map[string]error{} // the namespaces that are skipped now, and why
	skip := func(namespace string, why error) (all bool) {
		mu.Lock()
		defer mu.Unlock()
		if skipped[namespace] = why; why == nil {
			delete(skipped, namespace)
		}
		return len(skipped) == len(namespaces)
	}
	results := make([]error, len(namespaces))
	var running sync.WaitGroup
	for i, namespace := range namespaces {
		running.Go(func() {
			results[i] = o.runBesideOthers(ctx, namespace, run, skip)
			if results[i] != nil && !o.Ends() {
				end()
			}
		})
	}
	running.Wait()
	var errs []error
	for i, namespace := range namespaces {
		err := results[i]
		if len(skipped) == len(namespaces) {
			err = skipped[namespace]
		}
		if several := outcome.Errors(nil); errors.As(err, &several) {
			errs = append(errs, several...)
		} else {
			errs = append(errs, err)
		}
	}
	return outcome.Join(errs)
}

// runBesideOthers runs in one of several namespaces, and skips it while it cannot work there.
// It returns an error if no loop works in any namespace then. skip(namespace, nil) ends the
// skipping.
func (o *Options) runBesideOthers(ctx context.Context, namespace string, run func(context.Context, string) error, skip func(string, error) (all bool)) error {
	said := ""
	for first := true; ; first = false {
		err := run(ctx, namespace)
		if o.Ends() || ctx.Err() != nil || !triedAgain(err, first) || skip(namespace, err) {
			return err
		}
		if said != err.Error() {
			said = err.Error()
			o.logFor(namespace)("%v; skipping this namespace, and trying again every %s", err, refusedAgain)
		}
		o.health.waits(namespace, "skipped: "+err.Error())
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(refusedAgain):
			skip(namespace, nil)
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
