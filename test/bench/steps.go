package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// A measurement is a list of steps. A step that fails ends the whole measurement, as t.Fatal ends a
// test, so the steps return no errors.

// failure is the value of the panic by which a step ends its measurement.
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

// attempt runs steps, and returns the error of the step that failed.
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

// pause waits for d.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
		check(context.Cause(ctx))
	}
}

// patience limits each wait. A ReplicaSet as shipped is slow, and so are ten thousand
// pods on a busy machine.
const patience = 30 * time.Minute

// patiently returns a context for waiting until something is the case.
func patiently(ctx context.Context, what string) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, patience, fmt.Errorf("waited in vain until %s", what))
}

// await waits until condition is true. It calls condition at each interval.
func await(ctx context.Context, interval time.Duration, what string, condition func() bool) {
	ctx, cancel := patiently(ctx, what)
	defer cancel()
	for !condition() {
		pause(ctx, interval)
	}
}
