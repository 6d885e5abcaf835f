package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// A measurement is a list of steps. Like t.Fatal in a test, a failed step ends the whole
// measurement, so the steps return no errors.

// failure is the panic value of a step that ends its measurement.
type failure struct{ error }

// check ends the measurement if err is not nil.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// must returns value, or ends the measurement if err is not nil.
func must[T any](value T, err error) T {
	check(err)
	return value
}

// attempt runs steps, and returns the error of a failed step.
func attempt(steps func()) (err error) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case failure:
			err = reason.error
		default:
			panic(reason)
		}
	}()
	steps()
	return nil
}

// parallel calls do(0) to do(n-1), with limited concurrency.
func parallel(concurrency, n int, do func(i int)) {
	var group errgroup.Group
	group.SetLimit(concurrency)
	for i := range n {
		group.Go(func() error { return attempt(func() { do(i) }) })
	}
	check(group.Wait())
}

// alternate calls measure for each subject in each round. It rotates the order, so that drift affects
// all subjects equally.
func alternate[T any](rounds int, subjects []T, measure func(round int, subject T)) {
	for round := range rounds {
		for i := range subjects {
			measure(round, subjects[(i+round)%len(subjects)])
		}
	}
}

// pause waits for d, or ends the measurement if ctx is done first.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
		check(context.Cause(ctx))
	}
}

// patience is the limit for each wait. It is long, because a ReplicaSet with default limits is
// slow, and so are ten thousand pods on a busy machine.
const patience = 30 * time.Minute

// patiently returns a context that expires after patience, with an error that names the awaited condition.
func patiently(ctx context.Context, what string) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, patience, fmt.Errorf("timed out waiting until %s", what))
}

// await waits until condition is true. It calls condition at each interval.
func await(ctx context.Context, interval time.Duration, what string, condition func() bool) {
	ctx, cancel := patiently(ctx, what)
	defer cancel()
	for !condition() {
		pause(ctx, interval)
	}
}
