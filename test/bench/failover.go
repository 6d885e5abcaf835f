package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// takeover is a way in which the active loop fails and a standby takes over.
type takeover struct {
	what string
	// frozen is set if the process is stopped, as if its machine became unreachable.
	frozen bool
	rounds int
	// most is the maximum allowed median, in seconds.
	most float64
}

// lease is the lease duration in seconds (pkg/controller/lease). A standby takes over
// when the active loop has been silent for that long.
const lease = 15.0

func takeovers(todo loopAgenda) []takeover {
	return []takeover{
		{"killed with SIGKILL", false, todo.killed, 1},
		{"frozen", true, todo.frozen, lease + 0.2},
	}
}

// probe is the name prefix of objects that change, and the run label of their pods.
const probe = "probe"

// measureFailover measures how long a change takes when the active loop has just failed.
func (b *bench) measureFailover(ctx context.Context, todo loopAgenda) (p part, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	const ns = "bench-failover"
	if err := b.makeNamespaces(ctx, []string{ns}); err != nil {
		return p, err
	}
	w, err := b.watchRunIn(ctx, ns, "held", nil)
	if err != nil {
		return p, err
	}
	probed, err := b.watchRunIn(ctx, ns, probe, nil)
	if err != nil {
		return p, err
	}
	leader, _, err := b.launchStandby(ctx, ns)
	if err != nil {
		return p, err
	}
	defer func() { leader.stop() }()
	if err := b.makeObjectsIn(ctx, ns, "held", todo.heldObjects, todo.heldPods); err != nil {
		return p, err
	}
	if err := b.makeObjectsIn(ctx, ns, probe, 1, 0); err != nil {
		return p, err
	}
	if _, err := w.until(ctx, "all pods are ready", func() bool { return w.ready == todo.heldObjects*todo.heldPods }); err != nil {
		return p, fmt.Errorf("%w; output of the loop: %s", err, leader.words())
	}
	if err := untilStill(ctx, leader); err != nil {
		return p, err
	}
	changes := 0
	for _, t := range takeovers(todo) {
		var seconds []float64
		for round := range t.rounds {
			changes++
			next, took, err := b.failOver(ctx, t, ns, leader, round, changes, probed)
			if next != nil {
				leader = next
			}
			if err != nil {
				return p, err
			}
			seconds = append(seconds, took.Seconds())
		}
		if t.rounds == 0 {
			continue // too slow for this agenda
		}
		p.hold(t.most, figure{"controller " + t.what + ": from then to the first pod of a change", "%.2f", " s", seconds})
	}
	return p, nil
}

// failOver starts a standby, and makes the active loop fail. It returns the standby, which is now
// the active loop, and the time that a change took.
func (b *bench) failOver(ctx context.Context, t takeover, ns string, leader *loop, round, change int, probed *witness) (*loop, time.Duration, error) {
	defer leader.kill()
	next, ready, err := b.launchStandby(ctx, ns)
	if err != nil {
		return nil, 0, err
	}
	if err := awaitStandby(ctx, next, ready); err != nil {
		return next, 0, err
	}
	// The lease is renewed every two seconds. Vary the moment of the failure in
	// that period.
	if err := pause(ctx, time.Second+time.Duration(round)*370*time.Millisecond); err != nil {
		return next, 0, err
	}
	took, err := b.takeAway(ctx, leader, t.frozen, ns, change, probed)
	if err != nil {
		err = fmt.Errorf("%w; output of the standby: %s", err, next.words())
	}
	return next, took, err
}

// takeAway kills or freezes a loop and changes an object. It returns the time
// until the object had its pod.
func (b *bench) takeAway(ctx context.Context, lost *loop, freeze bool, ns string, n int, probed *witness) (time.Duration, error) {
	start := time.Now()
	if freeze {
		if err := lost.freeze(ctx); err != nil {
			return 0, err
		}
	} else {
		lost.kill()
	}
	if err := b.setReplicasIn(ctx, b.ours(), ns, probe+"-0", n); err != nil {
		return 0, err
	}
	there, err := probed.until(ctx, "the pod is there", func() bool { return len(probed.created) == n })
	return there.Sub(start), err
}

// launchStandby starts a loop, and returns it with the URL of its readiness endpoint.
func (b *bench) launchStandby(ctx context.Context, ns string) (_ *loop, ready string, err error) {
	address, err := freeAddress()
	if err != nil {
		return nil, "", err
	}
	l, err := b.launchBeside(ctx, b.ours("-n", ns, "--health-probe-bind-address="+address), "loop-"+strings.ReplaceAll(address, ":", "-"))
	return l, "http://" + address + "/readyz", err
}

// awaitStandby waits until a loop waits for the lease.
func awaitStandby(ctx context.Context, l *loop, ready string) error {
	const waiting = "waiting until it stops" // printed once the loop has read the holder
	start := time.Now()
	for !strings.Contains(page(ctx, ready), "waiting for the lease") || !strings.Contains(l.words(), waiting) {
		if time.Since(start) > patience {
			return fmt.Errorf("the loop is not a standby; output: %s", l.words())
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// page returns the content of a URL, or "" on an error.
func page(ctx context.Context, url string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return ""
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return ""
	}
	return string(body)
}
