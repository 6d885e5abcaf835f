package strategy

import (
	"context"
	"errors"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func always(int) bool { return true }

// SlowStart starts with one call, and allows one more after each success: after n successes, at most n+1
// calls are in flight.
func TestSlowStartDoublesWhileItSucceeds(t *testing.T) {
	items := make([]int, 200)
	var mu sync.Mutex
	done, running, most := 0, 0, 0
	next := make(chan struct{}, 1)
	next <- struct{}{}
	begun, err := SlowStart(t.Context(), items, always, func(context.Context, int) error {
		mu.Lock()
		running++
		most = max(most, running)
		if running > done+1 {
			t.Errorf("%d calls in flight after %d successes, want at most one more call than successes", running, done)
		}
		mu.Unlock()
		<-next // the calls end one by one
		mu.Lock()
		running--
		done++
		mu.Unlock()
		next <- struct{}{}
		return nil
	})
	if begun != len(items) || err != nil {
		t.Errorf("SlowStart started %d of %d calls, error %v", begun, len(items), err)
	}
	if most > maxBatch {
		t.Errorf("%d calls in flight, want at most %d", most, maxBatch)
	}
}

// After the first failure, no call starts. The number of failed calls is at most one more than the
// number of successes.
func TestSlowStartStopsAtTheFirstFailure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "items")
		allowed := rapid.IntRange(0, 300).Draw(t, "allowed")
		items := make([]int, n)
		var mu sync.Mutex
		done, failed := 0, 0
		refused := errors.New("refused")
		begun, err := SlowStart(context.Background(), items, always, func(context.Context, int) error {
			mu.Lock()
			defer mu.Unlock()
			if done == allowed {
				failed++
				return refused
			}
			done++
			return nil
		})
		if allowed >= n {
			if begun != n || err != nil {
				t.Fatalf("SlowStart started %d of %d calls, error %v", begun, n, err)
			}
			return
		}
		if !errors.Is(err, refused) {
			t.Fatalf("SlowStart returned %v, want the error of the failed call", err)
		}
		if begun != done+failed {
			t.Fatalf("SlowStart started %d calls, but waited for %d", begun, done+failed)
		}
		if failed > done+1 || failed > maxBatch {
			t.Fatalf("%d calls failed after %d successes, want at most one more failure than successes", failed, done)
		}
	})
}

func TestSlowStartAsksBeforeEachCall(t *testing.T) {
	asked := 0
	begun, err := SlowStart(t.Context(), make([]int, 10), func(begun int) bool { asked++; return begun < 3 && asked <= 3 },
		func(context.Context, int) error { return nil })
	if begun != 3 || err != nil {
		t.Errorf("SlowStart started %d calls, want 3 (error %v)", begun, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if begun, _ := SlowStart(ctx, make([]int, 10), always, func(context.Context, int) error { return nil }); begun != 0 {
		t.Errorf("SlowStart started %d calls with a canceled context, want none", begun)
	}
}
