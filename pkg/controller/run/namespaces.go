package run

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// refusedAgain is the delay before a skipped namespace is retried.
const refusedAgain = 30 * time.Second

// runInEach runs a loop for each namespace, in parallel. If an error affects only one namespace (see triedAgain),
// runInEach skips this namespace and retries it, as long as another loop works. Any other error stops all loops. With
// --once or --dry-run, no error stops the other loops, and runInEach returns all errors.
func (o *Options) runInEach(ctx context.Context, namespaces []string) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	var skipped atomic.Int64
	return outcome.Join(outcome.InParallel(len(namespaces), func(i int) error {
		err := o.runBesideOthers(ctx, namespaces[i], &skipped, int64(len(namespaces)))
		if err != nil && !o.Ends() {
			end()
		}
		return err
	}))
}

// runBesideOthers runs the loop of a namespace, and skips it while the loop cannot work. skipped counts the skipped
// namespaces. If all namespaces are skipped, runBesideOthers returns the error.
func (o *Options) runBesideOthers(ctx context.Context, namespace string, skipped *atomic.Int64, all int64) error {
	var said error
	for first := true; ; first = false {
		err := o.runIn(ctx, namespace)
		if o.Ends() || ctx.Err() != nil || !triedAgain(err, first) || skipped.Add(1) == all {
			return err
		}
		if said == nil || said.Error() != err.Error() {
			o.logFor(namespace)("%v; skipping this namespace, and trying again every %s", err, refusedAgain)
		}
		said = err
		o.health.waits(namespace, "skipped: "+err.Error())
		if follow.Sleep(ctx, refusedAgain) != nil {
			return err
		}
		skipped.Add(-1)
	}
}

// triedAgain reports whether a namespace is retried after an error. After the first attempt, it is
// retried only if permissions or the namespace are missing. Later, it is retried after all errors
// except ErrPrecondition, because the loops of other namespaces continue.
func triedAgain(err error, first bool) bool {
	later := err != nil && !errors.Is(err, outcome.ErrPrecondition)
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || !first && later
}
