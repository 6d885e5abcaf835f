package logs

import (
	"context"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Request selects a log of a container, and a part of that log.
type Request struct {
	Container
	// Previous selects the previous run. Follow means that reading continues until the container exits.
	Previous, Follow bool
	// Tail is the number of last lines to read; negative means all lines. Since is the start time, if set.
	Tail  int64
	Since time.Time
	// Bytes is the maximum size of the result; zero means no limit.
	Bytes int64
}

// Open opens a log. Each line begins with its time.
type Open func(ctx context.Context, r Request) (io.ReadCloser, error)

// Server returns a function that opens logs through the API server.
func Server(core corev1client.PodsGetter) Open {
	return func(ctx context.Context, r Request) (io.ReadCloser, error) {
		options := &corev1.PodLogOptions{Container: r.Name, Previous: r.Previous, Follow: r.Follow, Timestamps: true}
		if r.Tail >= 0 {
			options.TailLines = &r.Tail
		}
		if !r.Since.IsZero() {
			options.SinceTime = &metav1.Time{Time: r.Since}
		}
		if r.Bytes > 0 {
			options.LimitBytes = &r.Bytes
		}
		return core.Pods(r.Namespace).GetLogs(r.Pod, options).Stream(ctx)
	}
}

// open opens a log. If the user is not allowed to read it, the error names the missing RBAC rule.
func (open Open) open(ctx context.Context, r Request) (io.ReadCloser, error) {
	body, err := open(ctx, r)
	if apierrors.IsForbidden(err) {
		rule := `{apiGroups: [""], resources: [pods/log], verbs: [get]}`
		err = fmt.Errorf("no permission to read the logs of pods in namespace %s; the missing rule: %s: %w", r.Namespace, rule, err)
	}
	return body, err
}

// notYet reports whether an error means that a container has no log yet, or that the log has been removed.
func notYet(err error) bool { return apierrors.IsBadRequest(err) || apierrors.IsNotFound(err) }
