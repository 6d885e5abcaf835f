package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// timing is the measured cost of a command line.
type timing struct {
	Wall time.Duration
	CPU  time.Duration
	Peak int64 // bytes
}

func wall(t timing) float64 { return t.Wall.Seconds() }
func peak(t timing) float64 { return float64(t.Peak) / (1 << 20) }

// timeVerb is the argument with which this program starts itself to time a command line. A small process must start
// the command, because Linux counts the memory of the parent process in the peak memory of the new process.
const timeVerb = "time-command"

// timeCommand runs a command line and prints its timing. It returns the exit code: 0, or 1 on failure.
func timeCommand(line []string) int {
	cmd := exec.Command(line[0], line[1:]...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	start := time.Now()
	err := cmd.Run()
	t := timing{Wall: time.Since(start)}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n%s", strings.Join(line, " "), err, stderr.String())
		return 1
	}
	used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		fmt.Fprintln(os.Stderr, "cannot read the resource usage of the process")
		return 1
	}
	t.CPU, t.Peak = cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), used.Maxrss*1024
	if err := json.NewEncoder(os.Stdout).Encode(t); err != nil {
		return 1
	}
	return 0
}

// time runs a command line as the account, and returns its timing.
func (b *bench) time(ctx context.Context, line ...string) (t timing) {
	out := b.run(ctx, must(os.Executable()), append([]string{timeVerb}, line...)...)
	check(json.Unmarshal([]byte(out), &t))
	return t
}

// caller is the beginning of a command line.
type caller string

const (
	direct  caller = "kubectl-imoocpod"
	through caller = "kubectl imoocpod"
	kubectl caller = "kubectl"
)

// cost is the measured cost of a command for one caller.
type cost struct {
	timings  []timing
	requests int // of one call
}

// compare alternately measures a command of the plugin and its equivalent in kubectl. In the
// commands, %d stands for a replica count, which changes from call to call.
func (b *bench) compare(ctx context.Context, ours, theirs string) map[caller]*cost {
	callers := []caller{direct, through, kubectl}
	costs := map[caller]*cost{direct: {}, through: {}, kubectl: {}}
	for round := range sized(b, 15, 1) + 1 {
		for i, by := range callers {
			line := string(by) + " " + ours
			if by == kubectl {
				line = string(by) + " " + theirs
			}
			place := b.audit.end()
			// Each measured scale must change the replica count.
			n := 3 + (round*len(callers)+i)%2
			t := b.time(ctx, strings.Fields(strings.ReplaceAll(line, "%d", fmt.Sprint(n)))...)
			if round > 0 { // the first round fills the discovery cache
				costs[by].timings = append(costs[by].timings, t)
				costs[by].requests = len(b.audit.since(place, "kubectl"))
			}
		}
	}
	say("timed %s", ours)
	return costs
}

// compareScales compares "scale" with "kubectl scale". A controller would affect the measurement,
// so none is running. The commands find a lease as if a controller were running.
func (b *bench) compareScales(ctx context.Context) []goal {
	b.makeThree(ctx, b.ours(), "foo")
	b.makeLease(ctx)
	costs := b.compare(ctx, "scale foo --replicas %d", "scale imoocpod/foo --replicas=%d")
	b.run(ctx, b.plugin, "delete", "imoocpods", "--all")
	ratio := func(by caller) ratio {
		return beside("%.2f ×", valuesOf(costs[by].timings, wall), valuesOf(costs[kubectl].timings, wall))
	}
	memory := func(by caller) float64 { return spreadOf(valuesOf(costs[by].timings, peak)).median }
	ours, theirs := memory(direct), memory(kubectl)
	requests := costs[direct].requests
	return []goal{
		ratioGoal("time of `kubectl imoocpod scale` beside `kubectl scale`", 1.30, ratio(through)),
		ratioGoal("time of `kubectl-imoocpod scale` beside `kubectl scale`", 0.35, ratio(direct)),
		{what: "requests of `scale`: object, count, leases", wanted: "3",
			measured: fmt.Sprint(requests), held: requests == 3},
		{what: "memory of `scale` beside `kubectl scale`", wanted: "no more",
			measured: fmt.Sprintf("%.0f MiB beside %.0f MiB", ours, theirs), held: ours <= theirs, lenient: true},
	}
}

// makeThree creates an object with three ready pods. It does not delete the object.
func (b *bench) makeThree(ctx context.Context, s subject, name string) {
	l := b.launch(ctx, s)
	defer l.stop()
	b.create(ctx, s, s.owner(name, 3))
	b.run(ctx, b.plugin, "wait", s.typeWord()+"/"+name, "--timeout", "2m")
}

func (s subject) typeWord() string { return s.resource.GroupResource().String() }

// makeLease creates a lease that is valid for an hour, as if a controller reconciled the namespace.
func (b *bench) makeLease(ctx context.Context) {
	leases := b.account.dynamic.Resource(coordinationv1.SchemeGroupVersion.WithResource("leases")).Namespace(namespace)
	now := metav1.NowMicro().UTC().Format(metav1.RFC3339Micro)
	must(leases.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": map[string]any{"name": "bench", "labels": map[string]any{"imoocpod.dev/controller": "run-controller"}},
		"spec": map[string]any{
			"holderIdentity": "bench", "leaseDurationSeconds": int64(3600), "acquireTime": now, "renewTime": now,
		},
	}}, metav1.CreateOptions{}))
}
