package observe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// WaitForObject calls done with the current object, and again after every change. If the object does not
// exist, it passes nil. WaitForObject returns when done returns true or an error, when the server rejects a
// request, when the context ends, or after the timeout (ErrTimeout).
func WaitForObject(ctx context.Context, objects dynamic.ResourceInterface, name string, timeout time.Duration, done func(*unstructured.Unstructured) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, outcome.ErrTimeout)
	defer cancel()
	return causeOf(ctx, follow.One(ctx, objects, name, nil, done))
}

// WaitUntilGone waits until the given object is gone. Another object with the same name is ignored.
func WaitUntilGone(ctx context.Context, objects dynamic.ResourceInterface, gone *unstructured.Unstructured, timeout time.Duration) error {
	seen := "it still exists"
	err := WaitForObject(ctx, objects, gone.GetName(), timeout, func(obj *unstructured.Unstructured) (bool, error) {
		if obj == nil || obj.GetUID() != gone.GetUID() {
			return true, nil
		}
		if held := obj.GetFinalizers(); len(held) > 0 {
			seen = "it still has the finalizers " + strings.Join(held, ", ")
		}
		return false, nil
	})
	if errors.Is(err, outcome.ErrTimeout) {
		err = fmt.Errorf("%w; last seen: %s", err, seen)
	}
	if err != nil {
		kind := gone.GroupVersionKind()
		return fmt.Errorf("wait for %s.%s/%s to be gone: %w", strings.ToLower(kind.Kind), kind.Group, gone.GetName(), err)
	}
	return nil
}
