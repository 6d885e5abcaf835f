package strategy

import (
	"context"
	"fmt"
	"runtime/debug"

	"k8s.io/klog/v2"
)

// maxBatch is the maximum number of parallel writes. On a busy server, it determines the loop's
// share of all requests, next to the scheduler and kubelets. The ReplicaSet controller has up to 250.
// An HTTP/2 connection allows 100, so 128 need two connections. With more, the loop and the server
// would only use more resources for the same result.
const maxBatch = 128

// SlowStart calls do for each item, in parallel. It starts with one call and allows one more with
// every success, so the number of parallel calls doubles in the time of one call. It begins no call
// after the first error, after ctx ends, or while proceed returns false, so that only the calls in
// flight are wasted. It returns when all calls have returned, with the number of calls that it has
// begun and the first error.
func SlowStart[T any](ctx context.Context, items []T, proceed func() bool, do func(context.Context, T) error) (begun int, err error) {
	results := make(chan error)
	size, running := 1, 0
	for {
		for begun < len(items) && running < size && err == nil && ctx.Err() == nil && proceed() {
			item := items[begun]
			begun, running = begun+1, running+1
			go func() { results <- Recover(ctx, func() error { return do(ctx, item) }) }()
		}
		if running == 0 {
			return begun, err
		}
		failure := <-results
		running--
		switch {
		case failure == nil:
			size = min(size+1, maxBatch)
		case err == nil:
			err = failure
		}
	}
}

// Recover calls do. It turns a panic into an error, because a problem with one object must not stop
// the loop for others.
func Recover(ctx context.Context, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Panicked(ctx, p)
		}
	}()
	return do()
}

// Panicked logs a panic and returns it as an error.
func Panicked(ctx context.Context, p any) error {
	klog.FromContext(ctx).Error(nil, "Reconcile panicked", "panic", p, "stack", string(debug.Stack()))
	return fmt.Errorf("internal error: %v", p)
}
