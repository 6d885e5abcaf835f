package strategy

import (
	"context"
	"fmt"
	"runtime/debug"

	"k8s.io/klog/v2"
)

// maxBatch is the maximum number of parallel writes. On a busy server, it decides the
// share of creates among the requests of the scheduler and the kubelets; a ReplicaSet
// has up to 250. HTTP/2 allows 100 on a connection, so this takes two. With more, the
// loop and the server only use more resources for the same result.
const maxBatch = 128

// SlowStart processes items in parallel calls. It starts with one and allows one more
// with every success, so their number doubles in the time of one call. After the first
// error, or once proceed returns false, it begins nothing more: the waste is what is
// under way. It returns when all calls have returned, with the number of items that it
// has begun and the first error.
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

// Recover turns a panic into an error: trouble with one object must not stop the loop
// for others.
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
