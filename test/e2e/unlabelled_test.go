package e2e

import (
	"context"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

// A pod that loses its label while a deletion is in flight that then fails is still
// seen.
func TestUnlabelledPodIsFoundAfterAFailedDeletion(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	d := cluster.NewDriver(t, ns, w)
	var once sync.Once
	d.Create(2)
	cluster.StartController(t, ns, nil, d.Check(), func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		failed := false
		if r.Method == http.MethodDelete {
			once.Do(func() {
				failed = true
				unlabel := []byte(`{"metadata":{"labels":{"` + apis.LabelOwner + `":null}}}`)
				if _, err := cluster.Core.Pods(ns).Patch(r.Context(), path.Base(r.URL.Path), types.MergePatchType, unlabel, metav1.PatchOptions{}); err != nil {
					t.Error(err)
				}
			})
		}
		if failed {
			return nil, io.ErrUnexpectedEOF
		}
		return next.RoundTrip(r)
	})
	w.AwaitConverged(t, "foo", 2)
	d.Scale(1)
	w.AwaitConverged(t, "foo", 1)
}

// until blocks a request until something has happened, or the request is canceled.
func until(r *http.Request, happened <-chan struct{}) {
	select {
	case <-happened:
	case <-r.Context().Done():
	}
}

// A pod that was created and lost its label while the watch was broken is seen after the
// next list.
func TestUnlabelledPodIsFoundAfterAGapInTheWatch(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	d := cluster.NewDriver(t, ns, w)
	first, cut := context.WithCancel(t.Context())
	mended := make(chan struct{})
	var watches atomic.Int64
	d.Create(1)
	cluster.StartController(t, ns, nil, d.Check(), func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !harness.IsWatch(r) || !strings.HasSuffix(r.URL.Path, "/pods") {
			return next.RoundTrip(r)
		}
		switch watches.Add(1) {
		case 1:
			return next.RoundTrip(r.WithContext(first))
		case 2: // resume where the first one ended
			until(r, mended)
			return harness.Refuse(r, http.StatusGone, "Expired", "too old resource version"), nil
		}
		return next.RoundTrip(r)
	})
	w.AwaitConverged(t, "foo", 1)
	cut()
	harness.Eventually(t, "the watch is broken", func() bool { return watches.Load() == 2 })
	late := w.Owned("foo")[0].DeepCopy() // a pod that a dead controller was creating
	late.ObjectMeta = metav1.ObjectMeta{
		Name: strings.TrimSuffix(late.Name, "0") + "1", Labels: late.Labels, OwnerReferences: late.OwnerReferences,
	}
	late.Labels[apis.LabelSlot] = "1"
	late.Spec.NodeName = ""
	made, err := cluster.Core.Pods(ns).Create(t.Context(), late, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	harness.Must(t, cluster.Kubectl(t, ns, "label", "pod", made.Name, apis.LabelOwner+"-"))
	close(mended)
	w.Until(t, "the late pod is gone", func() bool { return w.Created[d.UID] == 2 && w.Pods[made.UID] == nil })
	w.AwaitConverged(t, "foo", 1)
}

// A pod that loses its label before the controller knows its owner is not forgotten.
func TestUnlabelledPodIsFoundBeforeItsOwnerIs(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	d := cluster.NewDriver(t, ns, w)
	d.Create(2)
	l := cluster.StartController(t, ns, nil, d.Check())
	w.AwaitConverged(t, "foo", 2)
	l.Stop()
	<-l.Done
	d.Scale(1)
	known := make(chan struct{})
	l = cluster.StartController(t, ns, nil, d.Check(), func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/imoocpods") {
			until(r, known)
		}
		return next.RoundTrip(r)
	})
	harness.Eventually(t, "the loop has looked at the pods", func() bool { return l.Reconciles() > 0 })
	name := podName(w.ImoocPod("foo"), 1)
	looks := l.Reconciles()
	harness.Must(t, cluster.Kubectl(t, ns, "label", "pod", name, apis.LabelOwner+"-"))
	harness.Eventually(t, "the loop has seen the label vanish", func() bool { return l.Reconciles() > looks })
	close(known)
	w.AwaitConverged(t, "foo", 1)
}
