package controller

import "context"

// maxWindow is how many writes are under way at once at the most. The API
// server answers no faster for more, and HTTP/2 allows 100 streams on a
// connection, which the watches share.
const maxWindow = 64

// slide does the work for each item in a window of parallel calls that starts
// at one and grows by one with every success, so it doubles in the time of one
// call. After the first failure nothing new is begun: the waste is what was
// under way. It returns when every call it began has, with how many items were
// begun and the first error.
//
// proceed is asked before each call; once it says no, nothing new is begun.
func slide[T any](ctx context.Context, items []T, proceed func() bool, do func(context.Context, T) error) (begun int, err error) {
	results := make(chan error)
	size, running := 1, 0
	for {
		for begun < len(items) && running < size && err == nil && ctx.Err() == nil && proceed() {
			item := items[begun]
			begun, running = begun+1, running+1
			go func() { results <- do(ctx, item) }()
		}
		if running == 0 {
			return begun, err
		}
		failure := <-results
		running--
		switch {
		case failure == nil:
			size = min(size+1, maxWindow)
		case err == nil:
			err = failure
		}
	}
}
