package observe

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// podFeed follows pods. For all models that share it, it keeps what a report takes from
// each pod until the pod changes.
type podFeed struct {
	*follow.Feed[*corev1.Pod]

	mu   sync.Mutex
	pods status.Pods
}

func newPodFeed() *podFeed {
	f := &podFeed{Feed: follow.New(trimPod)}
	f.OrderBy(status.ComparePods)
	return f
}

// now are the pods as they are now, once they are known.
func (f *podFeed) now(ctx context.Context) (pods status.Pods, polled bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all, polled, err := f.All(ctx)
	if err == nil {
		f.pods = f.pods.Renewed(all)
	}
	return f.pods, polled, err
}
