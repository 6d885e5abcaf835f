package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// nameExample is the controller that the loop is compared with.
const nameExample = "controller-runtime example"

// exampleIn returns the controller of test/bench/example as a subject.
func (b *bench) exampleIn(ns string) subject {
	const workers = 8 // same as our loop
	s := b.ours()
	s.name, s.agent = nameExample, "example"
	s.program = func(ctx context.Context, _ string) *exec.Cmd {
		return b.command(ctx, b.example, "-namespace", ns, fmt.Sprintf("-workers=%d", workers))
	}
	return s
}

// Each object is scaled to besideMany pods, and down to besideFew.
const besideMany, besideFew = 25, 5

// sameWork is the cost of scaling objects up and down, for one subject.
type sameWork struct {
	up, down []float64 // seconds
	// peak is in MB, cpu in seconds.
	peak, cpu []float64
	// pods and statuses count writes; others counts all other writes except
	// events.
	pods, statuses, others []float64
	// surplus counts pods created beyond the replica count; atOnce is the most
	// surplus pods at any time.
	surplus, atOnce []float64
}

const besideNamespace = "bench-beside"

// measureBeside scales objects up and down, reconciled alternately by our loop and
// by the example.
func (b *bench) measureBeside(ctx context.Context, todo loopAgenda) (p part, err error) {
	if err := b.makeNamespaces(ctx, []string{besideNamespace}); err != nil {
		return p, err
	}
	subjects := []subject{b.ours("-n", besideNamespace), b.exampleIn(besideNamespace)}
	all := map[string]*sameWork{nameOurs: {}, nameExample: {}}
	for round := range todo.besideRounds {
		for i := range subjects {
			s := subjects[(i+round)%len(subjects)] // alternate, so that drift affects both
			if err := b.scaleMany(ctx, s, fmt.Sprintf("beside-%d-%d", round, i), todo.besideObjects, all[s.name]); err != nil {
				return p, fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	for _, figure := range []struct {
		what, format, unit string
		of                 func(*sameWork) []float64
	}{
		{"scaled up: until exactly the desired pods exist and are ready", "%.2f", " s", func(w *sameWork) []float64 { return w.up }},
		{"scaled down: until exactly the desired pods exist and are ready", "%.2f", " s", func(w *sameWork) []float64 { return w.down }},
		{"requests that create or delete pods", "%.0f", "", func(w *sameWork) []float64 { return w.pods }},
		{"status writes", "%.0f", "", func(w *sameWork) []float64 { return w.statuses }},
		{"other writes, without events and leases", "%.0f", "", func(w *sameWork) []float64 { return w.others }},
		{"pods created beyond the desired ones", "%.0f", "", func(w *sameWork) []float64 { return w.surplus }},
		{"most surplus pods at the same time", "%.0f", "", func(w *sameWork) []float64 { return w.atOnce }},
		{"CPU time", "%.2f", " s", func(w *sameWork) []float64 { return w.cpu }},
		{"peak memory", "%.0f", " MB", func(w *sameWork) []float64 { return w.peak }},
	} {
		for _, name := range []string{nameOurs, nameExample} {
			p.add(name+", "+figure.what, figure.format, figure.unit, figure.of(all[name])...)
		}
	}
	p.goals = append(p.goals, goal{what: "pods created beyond the desired ones", wanted: "0", measured: spreadOf(all[nameOurs].surplus).text("%.0f"),
		held: spreadOf(all[nameOurs].surplus).most == 0})
	return p, nil
}

// scaleMany creates objects without pods, scales all of them up and down, and
// removes them.
func (b *bench) scaleMany(ctx context.Context, s subject, run string, objects int, got *sameWork) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := b.watchRunIn(ctx, besideNamespace, run, nil)
	if err != nil {
		return err
	}
	if err := b.makeObjectsIn(ctx, besideNamespace, run, objects, 0); err != nil {
		return err
	}
	l, err := b.launch(ctx, s)
	if err != nil {
		return err
	}
	defer l.stop()
	// Wait until the caches are filled and the first statuses are written.
	if err := pause(ctx, veryQuiet); err != nil {
		return err
	}
	before, err := l.usage()
	if err != nil {
		return err
	}
	place, err := b.audit.end()
	if err != nil {
		return err
	}
	for _, step := range []struct {
		pods  int
		times *[]float64
	}{{besideMany, &got.up}, {besideFew, &got.down}} {
		took, err := b.scaleEach(ctx, s, run, objects, step.pods, w)
		if err != nil {
			return fmt.Errorf("%w; output of the loop: %s", err, l.words())
		}
		*step.times = append(*step.times, took.Seconds())
	}
	if err := b.noteWork(s, l, place, before, got); err != nil {
		return err
	}
	w.note(func(time.Time) {
		got.surplus = append(got.surplus, float64(len(w.created)-objects*besideMany))
		got.atOnce = append(got.atOnce, float64(max(0, w.most-objects*besideMany)))
	})
	l.stop()
	return b.empty(ctx, besideNamespace)
}

// besideRest is longer than the interval of status writes, which is one second.
const besideRest = 1500 * time.Millisecond

// scaleEach sets the replica count of the objects. It returns the time until the
// pods matched, and then waits for delayed writes.
func (b *bench) scaleEach(ctx context.Context, s subject, run string, objects, pods int, w *witness) (time.Duration, error) {
	start := time.Now()
	err := parallel(16, objects, func(i int) error {
		return b.setReplicasIn(ctx, s, besideNamespace, fmt.Sprintf("%s-%d", run, i), pods)
	})
	if err != nil {
		return 0, err
	}
	done, err := w.until(ctx, "the wanted pods are ready", func() bool { return len(w.pods) == objects*pods && w.ready == objects*pods })
	if err != nil {
		return 0, err
	}
	return done.Sub(start), pause(ctx, besideRest)
}

// noteWork records what a loop used and wrote since an offset in the audit log.
func (b *bench) noteWork(s subject, l *loop, place int64, before usage, got *sameWork) error {
	after, err := l.usage()
	if err != nil {
		return err
	}
	requests, err := b.audit.since(place, s.agent)
	if err != nil {
		return err
	}
	const pods, statuses, others = "pods", "statuses", "others"
	n := map[string]int{}
	for _, r := range requests {
		switch resource := r.Object.Resource; {
		case !r.writes(), resource == "leases", resource == "events":
		case resource == "pods":
			n[pods]++
		case strings.HasPrefix(r.Object.Subresource, "status"):
			n[statuses]++
		default:
			n[others]++
		}
	}
	got.pods, got.statuses, got.others = append(got.pods, float64(n[pods])), append(got.statuses, float64(n[statuses])), append(got.others, float64(n[others]))
	got.cpu, got.peak = append(got.cpu, after.cpu-before.cpu), append(got.peak, float64(after.peak)/1e6)
	return nil
}
