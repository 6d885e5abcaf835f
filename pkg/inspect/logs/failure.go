package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

const (
	linesOfFailure = 10               // the maximum number of log lines for a failed object
	logsWithin     = 10 * time.Second // the time limit for reading the log of a failed object
	lastLineWithin = 2 * time.Second  // the time limit for reading the last line of a log
	lastLineBytes  = 4096             // the maximum number of bytes to read for the last line of a log
)

// AddLastLines adds to a FailedError the last log lines of a failing container, or the reason why there are none. It
// returns other errors unchanged.
func AddLastLines(ctx context.Context, core corev1client.PodsGetter, err error) error {
	failed, is := errors.AsType[*observe.FailedError](err)
	if !is {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, logsWithin)
	defer cancel()
	return fmt.Errorf("%w\n%s", err, describeFailure(ctx, Server(core), failed.Report))
}

// describeFailure returns the last log lines of the container with the most serious problem, or the reason
// why there are none. It skips problems without a container that has started.
func describeFailure(ctx context.Context, open Open, failed status.Report) string {
	for _, p := range failed.Problems {
		container, found := failingContainer(failed.Pods, p)
		if !found {
			continue
		}
		name := "container " + container.Name + " of pod " + container.Pod
		lines, err := lastLines(ctx, open, container, linesOfFailure, 0)
		switch {
		case err != nil:
			return "the log of " + name + " cannot be read: " + escape.Line(err.Error())
		case len(lines) == 0:
			return name + " wrote nothing"
		}
		text := []string{"the last lines of " + name + ":"}
		for _, line := range lines {
			text = append(text, "  "+escape.Line(line.Text))
		}
		return strings.Join(text, "\n")
	}
	return "there is no log of a container that failed"
}

// AddLastLine adds the last log line of the crashed container to the most serious crash in r, unless the
// object is ready. It adds nothing if the log cannot be read quickly.
func AddLastLine(ctx context.Context, core corev1client.PodsGetter, r *status.Report) {
	i := slices.IndexFunc(r.Problems, problem.Problem.Crash)
	if i < 0 || r.Verdict == status.Ready {
		return
	}
	p := &r.Problems[i]
	container, found := failingContainer(r.Pods, *p)
	if !found {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastLineWithin)
	defer cancel()
	lines, err := lastLines(ctx, Server(core), container, 1, lastLineBytes)
	if err != nil {
		klog.FromContext(ctx).V(1).Info("The last line of a log is left out", "pod", container.Pod, "container", container.Name, "err", err)
		return
	}
	if len(lines) > 0 && !lines[0].Time.IsZero() {
		p.LastLogLine = lines[0].Text
	}
}

// failingContainer returns the container whose log may explain a problem: the container that the problem
// names or, if it names none, a broken container or else the default container. It searches only the first
// pod, which has had the problem for the longest time. found is false if no such container has started.
func failingContainer(pods []problem.Pod, p problem.Problem) (container Container, found bool) {
	i := slices.IndexFunc(pods, func(pod problem.Pod) bool { return len(p.Pods) > 0 && pod.Name == p.Pods[0] })
	if i < 0 {
		return container, false
	}
	for _, c := range containersOf(pods[i], "", true, Wanted{Container: p.Container}) {
		if c.started && (!found || c.broken) {
			container, found = c, true
		}
	}
	return container, found
}

// lastLines reads the last lines that a container wrote before it failed, from the previous run if it was restarted.
// most is the maximum number of bytes; zero means no limit. A line without a time is a message of the kubelet.
func lastLines(ctx context.Context, open Open, c Container, lines, most int64) ([]Line, error) {
	body, err := open.open(ctx, Request{Container: c, Previous: c.last || c.crashed, Tail: lines, Bytes: most})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var all []Line
	for from := newLineReader(body); ; {
		text, err := from.next()
		if err == nil || text != "" {
			all = append(all, parseLine(text))
		}
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
	}
}
