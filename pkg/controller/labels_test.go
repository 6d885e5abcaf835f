package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/report"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// The loop restores the labels of a pod as soon as the server accepts the patch, even if no event
// occurs. Until then, the pod still belongs to the object.
func TestLabelsAreRestoredOnceTheServerTakesIt(t *testing.T) {
	for name, test := range map[string]struct {
		err *apierrors.StatusError
		// before means that the pods lost their labels before the loop started.
		before bool
	}{
		"refused":                       {err: denied("a webhook denied the request")},
		"refused to a loop that starts": {err: denied("a webhook denied the request"), before: true},
		"failed":                        {err: apierrors.NewInternalError(fmt.Errorf("no leader"))},
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
				w.passes(5 * time.Second)
				if tried := w.Requests(apiserver.On("patch", "pods")); len(tried) == 0 {
					t.Fatal("the labels were not sent")
				}
				w.set(kind, "default", "foo", int64(1), "spec", "replicas")
				w.converges()
				allow()
				w.passes(time.Minute)
				if made := len(w.Requests(createsPod)); made != 2 {
					t.Errorf("%d pods were made, want 2", made)
				}
				if of := children(w.Actor, foo)[0].GetLabels()[apis.LabelOwner]; of != string(foo.GetUID()) {
					t.Errorf("the pod has the label %q", of)
				}
			})
		})
	}
}

// While the server rejects the labels, the loop sends them only about twice a minute.
func TestRefusedLabelsAreSentTwiceAMinute(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		foo := w.create(kinds.ImoocPod(), "default", "foo", spec(int64(3), nil))
		w.start()
		w.converges()
		w.refuse("patch")
		for _, pod := range children(w.Actor, foo) {
			w.Update("pods", "default", pod.GetName(), func(pod *unstructured.Unstructured) { pod.SetLabels(nil) })
		}
		w.passes(10 * time.Minute)
		if tried := len(w.Requests(apiserver.On("patch", "pods"))); tried < 3*10 || tried > 3*22 {
			t.Errorf("the labels of 3 pods were sent %d times in 10 minutes, want each once in half a minute", tried)
		}
		if told := w.said(func(l report.Line) bool { return strings.Contains(l.Text, "restore the labels of pod") }); len(told) == 0 || len(told) > 3 {
			t.Errorf("the loop said %q", told)
		}
	})
}

// A pod may lose its labels while the selector excludes its object. The loop restores them when the
// selector includes the object again.
func TestLabelsAreRestoredOnceTheSelectorTakesTheObjectIn(t *testing.T) {
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
		before := len(w.Requests(apiserver.Writes))
		first := slots.PodName("foo", foo.GetUID(), "", 0)
		w.Update("pods", "default", first, func(pod *unstructured.Unstructured) { pod.SetLabels(nil) })
		w.passes(time.Minute)
		if writes := w.Requests(apiserver.Writes)[before:]; len(writes) > 0 {
			t.Errorf("for an object that is left out: %s", writes[0])
		}
		tier("web")
		w.until(func() string {
			if w.Get("pods", "default", first).GetLabels()[apis.LabelOwner] == "" {
				return "the pod is not labeled"
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
				return "the pod of slot 2 is not moved to slot 1"
			}
			return ""
		})
	})
}

// A pod that loses its labels and then its owner reference is released, and its slot is refilled.
func TestReleasedPodIsNotWaitedFor(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		kind := kinds.ImoocPod()
		foo := w.create(kind, "default", "foo", spec(int64(3), nil))
		w.start()
		w.converges()
		w.passes(5 * time.Second) // until the last event has arrived
		released := slots.PodName("foo", foo.GetUID(), "", 2)
		w.Update("pods", "default", released, func(pod *unstructured.Unstructured) { pod.SetLabels(nil) })
		w.Update("pods", "default", released, func(pod *unstructured.Unstructured) { pod.SetOwnerReferences(nil) })
		w.untilFailure(kind, "foo") // the released pod has the name of the pod for slot 2
		w.Delete("pods", "default", released)
		w.converges()
	})
}

// The garbage collector deletes the pods of a deleted object, so the controller does not label
// them, even if another object has the same name.
func TestPodOfAnEarlierObjectIsNotLabelled(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		kind := kinds.ImoocPod()
		foo := w.create(kind, "default", "foo", spec(int64(1), nil))
		earlier := foo.DeepCopy()
		earlier.SetUID("00000000-0000-4000-8000-00000000dead")
		unlabeled := func(pod *unstructured.Unstructured) { pod.SetLabels(nil) }
		left, own := w.pod(kind, earlier, 0, unlabeled), w.pod(kind, foo, 0, unlabeled)
		w.start()
		w.converges()
		w.passes(time.Minute)
		for _, pod := range []*unstructured.Unstructured{left, own} {
			labeled := len(w.Get("pods", "default", pod.GetName()).GetLabels()) > 0
			if wanted := pod == own; labeled != wanted {
				t.Errorf("the pod %s is labeled: %v, want %v", pod.GetName(), labeled, wanted)
			}
		}
	})
}
