package main

import (
	"context"
	"encoding/json"
	"errors"
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

// timeVerb is the argument with which this program times a command line in a separate
// process. The kernel attributes the memory of the parent to a new process, so the
// parent has to be small.
const timeVerb = "time-command"

// timeCommand runs a command line, prints its timing, and returns the exit code.
func timeCommand(line []string) int {
	cmd := exec.Command(line[0], line[1:]...)
	var said strings.Builder
	cmd.Stderr = &said
	start := time.Now()
	err := cmd.Run()
	t := timing{Wall: time.Since(start)}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n%s", strings.Join(line, " "), err, said.String())
		return 1
	}
	used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		fmt.Fprintln(os.Stderr, "the kernel does not tell what a process used")
		return 1
	}
	t.CPU, t.Peak = cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), used.Maxrss*1024
	if err := json.NewEncoder(os.Stdout).Encode(t); err != nil {
		return 1
	}
	return 0
}

// time runs a command line as the account, and returns its timing.
func (b *bench) time(ctx context.Context, line ...string) (t timing, err error) {
	self, err := os.Executable()
	if err != nil {
		return t, err
	}
	cmd := b.command(ctx, self, append([]string{timeVerb}, line...)...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return t, err
	}
	return t, json.Unmarshal(out, &t)
}

// command is a command line of the plugin, with its equivalent in kubectl.
type command struct {
	task string
	// ours is called directly and through kubectl. %d stands for a number that differs from
	// call to call.
	ours, kubectl string
}

// compared is the measured cost of a command with one caller.
type compared struct {
	task, line string
	by         caller
	timings    []timing
	requests   counts // of one call
}

// caller is how a command is called.
type caller string

const (
	direct  caller = "directly"
	through caller = "through kubectl"
	kubectl caller = "kubectl"
)

// compareCommands runs the command lines alternately. No loop runs meanwhile because its work would
// be measured, too. Instead, the commands find a lease as if a loop ran.
func (b *bench) compareCommands(ctx context.Context, rounds int) ([]compared, error) {
	if err := b.makeFoo(ctx); err != nil {
		return nil, fmt.Errorf("create an object: %w", err)
	}
	if err := b.makeLease(ctx); err != nil {
		return nil, fmt.Errorf("create the lease of a controller: %w", err)
	}
	all, err := b.compareCommand(ctx, command{"scale", "scale foo --replicas %d", "scale imoocpod/foo --replicas=%d"}, rounds)
	if err != nil {
		return nil, err
	}
	return all, b.run(ctx, b.plugin, "delete", "imoocpods", "--all")
}

func (b *bench) compareCommand(ctx context.Context, c command, rounds int) ([]compared, error) {
	lines := []compared{
		{task: c.task, by: direct, line: "kubectl-imoocpod " + c.ours},
		{task: c.task, by: through, line: "kubectl imoocpod " + c.ours},
		{task: c.task, by: kubectl, line: "kubectl " + c.kubectl},
	}
	for round := range rounds + 1 {
		for i := range lines {
			l := &lines[i]
			place, err := b.audit.end()
			if err != nil {
				return nil, err
			}
			// Each scale must change the replica count.
			n := 3 + (round*len(lines)+i)%2
			t, err := b.time(ctx, strings.Fields(strings.ReplaceAll(l.line, "%d", fmt.Sprint(n)))...)
			if err != nil {
				return nil, fmt.Errorf("time the command %s: %w", l.line, err)
			}
			requests, err := b.audit.since(place, "kubectl")
			if err != nil {
				return nil, err
			}
			if round == 0 {
				continue // the first call fills kubectl's discovery cache
			}
			l.timings = append(l.timings, t)
			l.requests = count(requests, func(request) bool { return true })
		}
	}
	say("timed %s", c.task)
	return lines, nil
}

// makeFoo creates an ImoocPod with three ready pods.
func (b *bench) makeFoo(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := b.ours()
	_, err := b.account.dynamic.Resource(s.resource).Namespace(namespace).Create(ctx, &unstructured.Unstructured{Object: s.owner("foo", 3)}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	l, err := b.launch(ctx, s)
	if err != nil {
		return err
	}
	defer l.stop()
	return b.run(ctx, b.plugin, "wait", "foo", "--timeout", "2m")
}

// makeLease creates a lease that is valid for an hour, as if a controller reconciled
// the namespace.
func (b *bench) makeLease(ctx context.Context) error {
	leases := b.account.dynamic.Resource(coordinationv1.SchemeGroupVersion.WithResource("leases")).Namespace(namespace)
	_, err := leases.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": map[string]any{"name": "bench", "labels": map[string]any{"imoocpod.dev/controller": "run-controller"}},
		"spec": map[string]any{
			"holderIdentity": "bench", "leaseDurationSeconds": int64(3600),
			"acquireTime": metav1.NowMicro().UTC().Format(metav1.RFC3339Micro), "renewTime": metav1.NowMicro().UTC().Format(metav1.RFC3339Micro),
		},
	}}, metav1.CreateOptions{})
	return err
}
