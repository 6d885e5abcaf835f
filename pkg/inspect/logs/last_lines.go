package logs

import (
	"context"
	"errors"
	"io"

	corev1 "k8s.io/api/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// FailingContainer returns the container whose log may explain a problem of the pod: the one that
// the problem names, or one that crashed. It returns false if no such container has started.
func FailingContainer(p problem.Problem, pod *corev1.Pod) (Container, bool) {
	report := status.Report{Pods: []problem.Pod{{Name: pod.Name, UID: pod.UID}}}
	var found Container
	for _, c := range Containers(report, []*corev1.Pod{pod}, Wanted{Container: p.Container}) {
		if c.phase != phaseNotStarted && (found.Name == "" || c.broken) {
			found = c
		}
	}
	return found, found.Name != ""
}

// LastLines reads the last lines that a container wrote before it failed, from the previous
// run if it was restarted. most limits the bytes that are read; zero means no limit. A line
// without a time is the kubelet's message about the log.
func LastLines(ctx context.Context, open Open, c Container, lines, most int64) ([]Line, error) {
	body, err := open.open(ctx, Request{
		Namespace: c.Namespace, Pod: c.Pod, Container: c.Name, Previous: c.last || c.crashed, Tail: lines, Bytes: most,
	})
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
