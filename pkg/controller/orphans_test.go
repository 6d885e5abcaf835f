package controller

import (
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// A pod whose labels could not be written again is not forgotten: it is labelled
// once the server takes that, although nothing else happens to it or its object.
func TestPodIsLabelledOnceTheServerTakesIt(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for name, test := range map[string]struct {
		err *apierrors.StatusError
		// before says that the pod lost its labels before the loop started.
		before bool
	}{
		"refused":                       {err: apierrors.NewForbidden(pods, "a", fmt.Errorf("a webhook denied the request"))},
		"refused to a loop that starts": {err: apierrors.NewForbidden(pods, "a", fmt.Errorf("a webhook denied the request")), before: true},
		"failed":                        {err: apierrors.NewInternalError(fmt.Errorf("no leader"))},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, imoocPods(), func(w *world) {
				foo := w.create(kinds.ImoocPod(), "default", "foo", spec(int64(1), nil))
				w.start()
				w.converges()
				if test.before {
					w.end()
				}
				w.mu.Lock()
				w.admit = func(is write) *apierrors.StatusError {
					if podWrite("patch")(is) {
						return test.err
					}
					return nil
				}
				w.mu.Unlock()
				first := slots.PodName("foo", foo.GetUID(), "", 0)
				w.edit(podsResource, "default", first, func(pod *unstructured.Unstructured) { pod.SetLabels(nil) })
				w.passes(100 * time.Millisecond)                                        // it is out of sight before it is one too many
				w.set(kinds.ImoocPod(), "default", "foo", int64(0), "spec", "replicas") // so that no create meets the pod
				if test.before {
					w.start()
				}
				w.passes(5 * time.Second)
				if tried := w.done(podWrite("patch")); len(tried) == 0 || tried[0].refused == nil {
					t.Fatalf("the labels were not refused: %v", tried)
				}
				w.mu.Lock()
				w.admit = nil
				w.mu.Unlock()
				w.passes(time.Minute)
				if w.get(podsResource, "default", first) != nil {
					t.Error("the pod, which is one too many, is not seen")
				}
			})
		})
	}
}

// A pod that lost its labels while the selector left out its object is labelled
// when the selector takes the object in again.
func TestPodIsLabelledOnceTheSelectorTakesItsObjectIn(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		kind := kinds.ImoocPod()
		tier := func(value string) {
			w.edit(kind.Resource, "default", "foo", func(obj *unstructured.Unstructured) { obj.SetLabels(map[string]string{"tier": value}) })
			w.passes(5 * time.Second)
		}
		foo := w.create(kind, "default", "foo", spec(int64(1), nil))
		tier("web")
		w.start(func(opts *Options) { opts.Selector = labels.SelectorFromSet(labels.Set{"tier": "web"}) })
		w.converges()
		tier("other")
		first := slots.PodName("foo", foo.GetUID(), "", 0)
		w.edit(podsResource, "default", first, func(pod *unstructured.Unstructured) { pod.SetLabels(nil) })
		w.passes(time.Minute)
		if tried := w.done(podWrite("patch")); len(tried) > 0 {
			t.Errorf("a pod of an object that is left out was labelled: %s", tried[0])
		}
		w.set(kind, "default", "foo", int64(0), "spec", "replicas") // so that no create meets the pod
		tier("web")
		w.until(func() string {
			if w.get(podsResource, "default", first) != nil {
				return "the pod, which is one too many, is not seen"
			}
			return ""
		})
	})
}

// A pod that was just labelled again counts, although the cache is yet to hear of
// it: no other is made in its place.
func TestPodThatWasLabelledAgainCounts(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		w.late = 200 * time.Millisecond
		kind := kinds.ImoocPod()
		foo := w.create(kind, "default", "foo", spec(int64(3), nil))
		w.start()
		w.converges()
		w.passes(5 * time.Second) // until the last event has come
		name := func(slot slots.Slot) string { return keyOf("default", slots.PodName("foo", foo.GetUID(), "", slot)) }
		w.mu.Lock()
		w.admit = func(is write) *apierrors.StatusError {
			if podWrite("create")(is) && w.objects[podsResource][name(2)] != nil {
				t.Errorf("%s while the pod of slot 2 is there, and two are wanted", is)
			}
			return nil
		}
		// Of this no event tells: the loop looks because of the pods.
		foo = w.objects[kind.Resource][keyOf("default", "foo")]
		if err := unstructured.SetNestedField(foo.Object, int64(2), "spec", "replicas"); err != nil {
			t.Error(err)
		}
		foo.SetGeneration(2)
		third := w.objects[podsResource][name(2)].DeepCopy()
		third.SetLabels(nil)
		w.store(podsResource, third)
		w.remove(podsResource, w.objects[podsResource][name(1)])
		w.mu.Unlock()
		w.note(kind, foo)
		w.until(func() string {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.objects[podsResource][name(2)] != nil || w.objects[podsResource][name(1)] == nil {
				return "the pod of slot 2 is not moved to slot 1"
			}
			return ""
		})
	})
}

// Pods that were just labelled again count also where the answer to that was lost, and where
// that happened while a reconcile waited for an answer: the cache is yet to hear of them, and
// no other pods are made beside them.
func TestPodsThatWereLabelledUnnoticedCount(t *testing.T) {
	kind := kinds.ImoocPod()
	out := func(w *world, slot slots.Slot) {
		w.edit(podsResource, "default", slots.PodName("foo", w.get(kind.Resource, "default", "foo").GetUID(), "", slot), func(pod *unstructured.Unstructured) { pod.SetLabels(nil) })
	}
	arrive := func(w *world) { // pods that only a scan finds
		foo := w.get(kind.Resource, "default", "foo")
		for i := range slots.Slot(2) {
			w.pod(kind, foo, i, earlier(fmt.Sprintf("foo-earlier-%d", i)), func(pod *unstructured.Unstructured) { pod.SetLabels(nil) })
		}
		w.passes(time.Second)
	}
	for name, test := range map[string]struct {
		before int64
		// lost says that the answers to the first patches are lost.
		lost   int
		happen func(w *world)
	}{
		"after a label was removed, the answer is lost": {3, 1, func(w *world) {
			out(w, 2)
			w.drop(podsResource, "default", slots.PodName("foo", w.get(kind.Resource, "default", "foo").GetUID(), "", 1))
			w.set(kind, "default", "foo", int64(2), "spec", "replicas")
		}},
		"by a scan, the answers are lost": {0, 2, func(w *world) {
			arrive(w)
			w.set(kind, "default", "foo", int64(2), "spec", "replicas")
			w.passes(w.late - 10*time.Millisecond) // right before the loop knows of the count
			w.c.orphans.request()
		}},
		"by a scan, while the object is read": {0, 0, func(w *world) {
			arrive(w)
			w.set(kind, "default", "foo", int64(2), "spec", "replicas")
			w.passes(w.late + w.readTakes/2) // the loop knows of the count and reads the object
			w.c.orphans.request()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, imoocPods(), func(w *world) {
				w.late, w.readTakes = 200*time.Millisecond, 20*time.Millisecond
				w.create(kind, "default", "foo", spec(test.before, nil))
				w.start()
				w.converges()
				w.passes(5 * time.Second) // until the last event has come
				w.mu.Lock()
				w.lose = func(is write) bool {
					if !podWrite("patch")(is) {
						return false
					}
					test.lost--
					return test.lost >= 0
				}
				w.mu.Unlock()
				test.happen(w)
				w.converges() // and the server has seen no pod too many
			})
		})
	}
}

// A pod that is deleted when it has lost its labels is not waited for: no event
// tells of it.
func TestDeletedPodWithoutLabelsIsNotWaitedFor(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		kind := kinds.ImoocPod()
		foo := w.create(kind, "default", "foo", spec(int64(3), nil))
		w.start()
		w.converges()
		w.mu.Lock()
		w.admit = func(is write) *apierrors.StatusError {
			if podWrite("delete")(is) {
				is.before.SetLabels(nil) // in the store
			}
			return nil
		}
		w.mu.Unlock()
		w.set(kind, "default", "foo", int64(2), "spec", "replicas")
		w.passes(5 * time.Second)
		w.mu.Lock()
		w.admit = nil
		w.mu.Unlock()
		w.set(kind, "default", "foo", int64(4), "spec", "replicas")
		w.until(func() string {
			if w.get(podsResource, "default", slots.PodName("foo", foo.GetUID(), "", 3)) == nil {
				return "the pod of slot 3 is not made"
			}
			return ""
		})
	})
}

// A pod that loses its label and then its owner reference is nobody's: the cache is not
// waited for, which hears no more of it.
func TestReleasedPodIsNotWaitedFor(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		kind := kinds.ImoocPod()
		foo := w.create(kind, "default", "foo", spec(int64(3), nil))
		w.start()
		w.converges()
		w.passes(5 * time.Second) // until the last event has come
		released := slots.PodName("foo", foo.GetUID(), "", 2)
		w.edit(podsResource, "default", released, func(pod *unstructured.Unstructured) { pod.SetLabels(nil) })
		w.edit(podsResource, "default", released, func(pod *unstructured.Unstructured) { pod.SetOwnerReferences(nil) })
		w.untilFailure(kind, "foo") // the released pod has the name of slot 2
		w.drop(podsResource, "default", released)
		w.converges()
	})
}

// A pod of an object that is gone is the garbage collector's, also where another
// object has the name: it is not labelled.
func TestPodOfAnEarlierObjectIsNotLabelled(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		kind := kinds.ImoocPod()
		foo := w.create(kind, "default", "foo", spec(int64(1), nil))
		earlier := foo.DeepCopy()
		earlier.SetUID("00000000-0000-4000-8000-00000000dead")
		unlabelled := func(pod *unstructured.Unstructured) { pod.SetLabels(nil) }
		left, own := w.pod(kind, earlier, 0, unlabelled), w.pod(kind, foo, 0, unlabelled)
		w.start()
		w.converges()
		w.passes(time.Minute)
		for _, pod := range []*unstructured.Unstructured{left, own} {
			labelled := len(w.get(podsResource, "default", pod.GetName()).GetLabels()) > 0
			if wanted := pod == own; labelled != wanted {
				t.Errorf("the pod %s is labelled: %v, want %v", pod.GetName(), labelled, wanted)
			}
		}
	})
}
