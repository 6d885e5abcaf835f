package controller

import (
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// If the server rejects the patch that restores the labels of a pod, the loop sends the patch about twice a minute,
// even if no event occurs. Until the server accepts the patch, the pod still belongs to the object.
func TestRejectedLabelPatchIsRetried(t *testing.T) {
	for name, test := range map[string]struct {
		err *apierrors.StatusError
		// before means that the pods lose their labels before the loop is restarted.
		before bool
		// least and most limit the number of patches in ten minutes, and lines limits the number of log lines.
		least, most, lines int
	}{
		"rejected":                 {err: denied("a webhook denied the request"), least: 2 * 10, most: 2 * 22, lines: 3},
		"rejected after a restart": {err: denied("a webhook denied the request"), before: true, least: 2 * 10, most: 2 * 22, lines: 3},
		"server error":             {err: apierrors.NewInternalError(fmt.Errorf("no leader")), least: 2 * 10, most: 2 * 60, lines: 2 * 60},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, imoocPods(), func(w *world) {
				kind := kinds.ImoocPod()
				foo := w.create(kind, "default", "foo", spec(int64(2), nil))
				w.start()
				w.converges()
				if test.before {
					w.end()
				}
				allow := w.deny(test.err, apiserver.On("patch", "pods"))
				for slot := range slots.Slot(2) {
					w.Update("pods", "default", slots.PodName("foo", foo.GetUID(), "", slot), func(pod *unstructured.Unstructured) { pod.SetLabels(nil) })
				}
				if test.before {
					w.start()
				}
				w.passes(10 * time.Minute)
				if tried := len(w.Requests(apiserver.On("patch", "pods"))); tried < test.least || tried > test.most {
					t.Errorf("%d label patches in 10 minutes, want %d to %d", tried, test.least, test.most)
				}
				if logged := w.logged("restore the labels of pod"); len(logged) == 0 || len(logged) > test.lines {
					t.Errorf("log lines about label patches: %q, want 1 to %d", logged, test.lines)
				}
				w.set(kind, "default", "foo", int64(1), "spec", "replicas")
				w.converges()
				allow()
				w.passes(time.Minute)
				if made := len(w.Requests(createsPod)); made != 2 {
					t.Errorf("%d pods were created, want 2", made)
				}
				if of := children(w.Actor, foo)[0].GetLabels()[apis.LabelOwner]; of != string(foo.GetUID()) {
					t.Errorf("the owner label of the remaining pod is %q, want the UID of foo", of)
				}
			})
		})
	}
}

// If a pod loses its labels while the selector excludes its object, the loop restores the labels when the
// selector includes the object again.
func TestLabelsAreRestoredWhenTheSelectorMatchesAgain(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		kind := kinds.ImoocPod()
		tier := func(value string) {
			w.Update(kind.CRD(), "default", "foo", func(obj *unstructured.Unstructured) { obj.SetLabels(map[string]string{"tier": value}) })
			w.passes(5 * time.Second)
		}
		foo := w.create(kind, "default", "foo", spec(int64(1), nil))
		tier("web")
		w.start(func(opts *Options) { opts.Selector = labels.SelectorFromSet(labels.Set{"tier": "web"}) })
		w.converges()
		tier("other")
		first := slots.PodName("foo", foo.GetUID(), "", 0)
		w.writesNothing(func() {
			w.Update("pods", "default", first, func(pod *unstructured.Unstructured) { pod.SetLabels(nil) })
			w.passes(time.Minute)
		})
		tier("web")
		w.until(func() string {
			if w.Get("pods", "default", first).GetLabels()[apis.LabelOwner] == "" {
				return "the labels of the pod are not restored"
			}
			return ""
		})
	})
}

// A pod without labels still fills its slot, so the loop does not create another pod.
func TestPodWithoutLabelsCounts(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		kind := kinds.ImoocPod()
		foo := w.create(kind, "default", "foo", spec(int64(3), nil))
		w.start()
		w.converges()
		pod := func(slot slots.Slot) string { return slots.PodName("foo", foo.GetUID(), "", slot) }
		// Hold back the event of the object, so that the events of the pods trigger the reconcile.
		w.Stall(kind.Resource.Resource, "pods")
		w.set(kind, "default", "foo", int64(2), "spec", "replicas")
		w.Update("pods", "default", pod(2), func(pod *unstructured.Unstructured) { pod.SetLabels(nil) })
		w.Remove("pods", "default", pod(1))
		w.Stall(kind.Resource.Resource)
		w.passes(200 * time.Millisecond)
		w.Stall()
		w.until(func() string {
			if w.Get("pods", "default", pod(2)) != nil || w.Get("pods", "default", pod(1)) == nil {
				return "slot 2 still has a pod, or slot 1 has none"
			}
			return ""
		})
	})
}

// If a pod loses its labels and then its owner reference, the loop sees at once that the pod is released, even if
// nothing else happens to the object. The slot is refilled after the released pod is deleted and its name is free.
func TestReleaseOfAPodIsNoticedAtOnce(t *testing.T) {
	for name, between := range map[string]time.Duration{"before the labels are restored": 0, "after the labels are restored": time.Minute} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, imoocPods(), func(w *world) {
				kind := kinds.ImoocPod()
				foo := w.create(kind, "default", "foo", spec(int64(3), nil))
				w.start()
				w.converges()
				w.passes(5 * time.Second) // until the last event has arrived
				released := slots.PodName("foo", foo.GetUID(), "", 2)
				w.Update("pods", "default", released, func(pod *unstructured.Unstructured) { pod.SetLabels(nil) })
				if between > 0 {
					w.passes(between)
				}
				begun := time.Now()
				w.Update("pods", "default", released, func(pod *unstructured.Unstructured) { pod.SetOwnerReferences(nil) })
				w.untilFailure(kind, "foo") // the released pod has the name of the pod for slot 2
				if took := time.Since(begun); took > 2*time.Second {
					t.Errorf("the loop noticed after %s that the pod was released, want at most 2s", took)
				}
				w.Delete("pods", "default", released)
				w.converges()
			})
		})
	}
}
