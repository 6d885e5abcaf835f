package strategy

import (
	"context"
	"fmt"
	"runtime/debug"

	"k8s.io/klog/v2"
)

// maxBatch is how many writes are under way at once at the most. Where a server
// is at its limit, the share of it that creates have is that of the requests under
// way, beside those of the scheduler and the kubelets; a ReplicaSet has up to 250.
// HTTP/2 allows 100 on a connection, so this takes two: with more, the loop and the
// server only do more for the same.
const maxBatch = 128

// SlowStart does the work for each item in a batch of parallel calls that starts
// at one and grows by one with every success, so it doubles in the time of one
// call. After the first failure nothing new is begun: the waste is what was
// under way. It returns when every call it began has, with how many items were
// begun and the first error.
//
// proceed is asked before each call; once it says no, nothing new is begun.
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

// Recover makes an error of a panic: what is wrong with one object must not stop
// the loop for the others.
func Recover(ctx context.Context, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Panicked(ctx, p)
		}
	}()
	return do()
}

// Panicked logs a panic and makes an error of it.
func Panicked(ctx context.Context, p any) error {
	klog.FromContext(ctx).Error(nil, "Reconcile panicked", "panic", p, "stack", string(debug.Stack()))
	return fmt.Errorf("internal error: %v", p)
}
