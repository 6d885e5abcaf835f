package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/logs"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

const (
	// linesOfFailure is the number of log lines that are printed for a failed container.
	linesOfFailure = 10
	// logsWithin limits the time for the logs of all failed objects.
	logsWithin = 10 * time.Second
	// lastLineWithin and lastLineBytes limit the time and the bytes for the last line of a log.
	lastLineWithin = 2 * time.Second
	lastLineBytes  = 4096
)

// addLogs adds the last log lines of the failing container to the errors of failed objects, or
// the reason why the lines cannot be read.
func addLogs(ctx context.Context, core corev1client.PodsGetter, errs []error) {
	ctx, cancel := context.WithTimeout(ctx, logsWithin)
	defer cancel()
	for i, err := range errs {
		var failed *observe.FailedError
		if errors.As(err, &failed) {
			errs[i] = fmt.Errorf("%w\n%s", err, linesOf(ctx, core, failed.Observation))
		}
	}
}

// linesOf returns text with the last log lines for the most serious problem of a container that
// has started, or with the reason why there are none.
func linesOf(ctx context.Context, core corev1client.PodsGetter, failed observe.Observation) string {
	for _, p := range failed.Report.Problems {
		container, found := failingContainer(failed.Pods, p)
		if !found {
			continue
		}
		what := "container " + container.Name + " of pod " + container.Pod
		lines, err := logs.LastLines(ctx, logs.Server(core), container, linesOfFailure, 0)
		switch {
		case err != nil:
			return "the log of " + what + " cannot be read: " + escape.Line(err.Error())
		case len(lines) == 0:
			return what + " wrote nothing"
		}
		text := []string{"the last lines of " + what + ":"}
		for _, line := range lines {
			text = append(text, "  "+escape.Line(line.Text))
		}
		return strings.Join(text, "\n")
	}
	return "there is no log of a container that failed"
}

// failingContainer returns the container whose log may explain a problem, in the pod that has
// had the problem the longest. found is false if no container has started.
func failingContainer(pods problem.Pods, p problem.Problem) (container logs.Container, found bool) {
	at := slices.IndexFunc(pods, func(pod *problem.Pod) bool { return len(p.Pods) > 0 && pod.Name == p.Pods[0] })
	if at < 0 {
		return container, false
	}
	return logs.FailingContainer(p, pods[at].Object)
}

// addLastLogLine adds the last log line to the most serious problem that is a crash, unless the
// object is ready. It adds nothing if the log cannot be read quickly.
func addLastLogLine(ctx context.Context, core corev1client.PodsGetter, e status.Snapshot, r *status.Report) {
	i := slices.IndexFunc(r.Problems, problem.Problem.Crash)
	if i < 0 || r.Verdict == status.Ready {
		return
	}
	p := &r.Problems[i]
	container, found := failingContainer(e.Pods, *p)
	if !found {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastLineWithin)
	defer cancel()
	lines, err := logs.LastLines(ctx, logs.Server(core), container, 1, lastLineBytes)
	if err != nil {
		klog.FromContext(ctx).V(1).Info("The last line of a log is left out", "pod", container.Pod, "container", container.Name, "err", err)
		return
	}
	if len(lines) > 0 && !lines[0].Time.IsZero() {
		p.LastLogLine = lines[0].Text
	}
}
