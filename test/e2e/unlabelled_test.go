package e2e

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// A pod whose identity label is removed is still ours: a running controller restores the
// label without creating another pod, and so does a controller that starts afterwards.
func TestUnlabelledPodIsFoundAgain(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	d := cluster.NewDriver(t, ns, w)
	var creates atomic.Int64
	var refused atomic.Bool
	d.Create(2)
	l := cluster.StartController(t, ns, nil, d.Check(), countCreates(&creates), func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/pods/") && refused.CompareAndSwap(false, true) {
			return harness.Refuse(r, http.StatusConflict, "Conflict", "the object has been modified"), nil
		}
		return next.RoundTrip(r)
	})
	w.AwaitConverged(t, "foo", 2)
	name := podName(w.ImoocPod("foo"), 1)
	unlabel := func() (resourceVersion string) {
		return harness.Must(t, cluster.Kubectl(t, ns, "label", "pod", name, apis.LabelOwner+"-", "-o", "jsonpath={.metadata.resourceVersion}"))
	}
	unlabeled := unlabel()
	w.Until(t, "the pod has its label again", func() bool {
		for _, pod := range w.Pods {
			if pod.Name == name && pod.Labels[apis.LabelOwner] == string(d.UID) {
				since, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, unlabeled)
				return err == nil && since > 0
			}
		}
		return false
	})
	if n := creates.Load(); n != 2 || !refused.Load() {
		t.Errorf("%d creates for 2 pods; a label was refused: %v", n, refused.Load())
	}
	l.Stop()
	<-l.Done
	unlabel()
	d.Scale(1)
	cluster.StartController(t, ns, nil, d.Check())
	w.AwaitConverged(t, "foo", 1)
}
