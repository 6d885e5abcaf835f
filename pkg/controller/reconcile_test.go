package controller

import (
	"errors"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// The execution of a plan stops immediately if the cache shows a change to the object. If only the
// server shows the change, the execution stops within a second.
func TestIsCurrent(t *testing.T) {
	kind := kinds.ImoocPod()
	version := func(resourceVersion string, generation int64) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(kind.GroupVersionKind())
		obj.SetNamespace("ns")
		obj.SetName("foo")
		obj.SetUID("u")
		obj.SetResourceVersion(resourceVersion)
		obj.SetGeneration(generation)
		return obj
	}
	paused := func(obj *unstructured.Unstructured) *unstructured.Unstructured {
		obj.SetAnnotations(map[string]string{apis.AnnotationPausedUntil: apis.PausedForever})
		return obj
	}
	for name, test := range map[string]struct {
		cached, stored *unstructured.Unstructured
		after          time.Duration
		want           bool
		fail           error // the error when the object is read
	}{
		"nothing changed":                            {version("5", 1), version("5", 1), time.Minute, true, nil},
		"changed in the cache":                       {version("7", 2), version("7", 2), 0, false, nil},
		"paused in the cache":                        {paused(version("7", 1)), paused(version("7", 1)), 0, false, nil},
		"paused on the server only":                  {version("5", 1), paused(version("7", 1)), liveReadInterval, false, nil},
		"deleted in the cache":                       {nil, nil, 0, false, nil},
		"the cache is behind the object of the plan": {version("3", 0), version("5", 1), time.Minute, true, nil},
		"changed on the server only, just read":      {version("5", 1), version("7", 2), liveReadInterval - 1, true, nil},
		"changed on the server only":                 {version("5", 1), version("7", 2), liveReadInterval, false, nil},
		"deleted on the server only":                 {version("5", 1), nil, liveReadInterval, false, nil},
		"the live read fails":                        {version("5", 1), version("5", 1), liveReadInterval, false, apierrors.NewInternalError(errors.New("no leader"))},
		"the live read is forbidden":                 {version("5", 1), version("5", 1), liveReadInterval, false, apierrors.NewForbidden(schema.GroupResource{}, "foo", nil)},
	} {
		t.Run(name, func(t *testing.T) {
			s := apiserver.New(t)
			s.CreateYAML(openCRD(kind))
			if test.stored != nil {
				s.Create(test.stored)
			}
			if test.fail != nil {
				s.Fail(apiserver.On("get", kind.Resource.Resource), apiserver.Fault{Err: test.fail})
			}
			client, err := dynamic.NewForConfig(s.RESTConfig())
			if err != nil {
				t.Fatal(err)
			}
			objects := informer.NewHealth(t.Logf).New(informer.Source{Example: &unstructured.Unstructured{}}, func(_, _ any, _ bool) {})
			if test.cached != nil {
				if err := objects.GetStore().Add(test.cached); err != nil {
					t.Fatal(err)
				}
			}
			noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
			o := &owners{kind: kind, client: client.Resource(kind.Resource)}
			o.state.Store(&ownerState{objects: objects})
			r := &reconciliation{
				Controller: &Controller{Options: Options{Clock: clocktesting.NewFakePassiveClock(noon.Add(test.after))}},
				key:        o.keyOf("ns", "foo"), owners: o, object: version("5", 1), view: plan.View{Now: noon},
			}
			if got := r.isCurrent(t.Context())(); got != test.want {
				t.Errorf("isCurrent = %v, want %v", got, test.want)
			}
		})
	}
}

// The loop writes nothing for an object that the selector no longer matches, or that was deleted and
// recreated under the same name, even if the cache has not seen the change.
func TestLiveReadPreventsStaleWrites(t *testing.T) {
	kind := kinds.ImoocPod()
	for name, recreated := range map[string]bool{"no longer selected": false, "recreated": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, imoocPods(), func(w *world) {
				fields := spec(int64(2), nil)
				fields["metadata"] = map[string]any{"labels": map[string]any{"tier": "web"}}
				w.create(kind, "default", "foo", fields)
				w.Stall(kind.Resource.Resource)
				reads := apiserver.On("get", kind.Resource.Resource)
				w.Server.Fail(reads, apiserver.Fault{Times: 1, Before: func() {
					if recreated {
						w.Remove(kind.CRD(), "default", "foo")
						w.create(kind, "default", "foo", fields)
					} else {
						w.Update(kind.CRD(), "default", "foo", func(obj *unstructured.Unstructured) { obj.SetLabels(nil) })
					}
				}})
				w.start(func(opts *Options) { opts.Selector = labels.SelectorFromSet(labels.Set{"tier": "web"}) })
				w.passes(time.Minute)
				if len(w.Requests(reads)) == 0 {
					t.Error("the loop did not read the object from the server")
				}
				if writes := w.Requests(apiserver.Writes); len(writes) > 0 {
					t.Errorf("%d writes for the changed object, want none, such as %s", len(writes), writes[0])
				}
			})
		})
	}
}

// A pod counts even if its create got no response and it is not cached yet. If the wanted slots
// change meanwhile, the loop creates no extra pods.
func TestPodsOfUnansweredCreatesCount(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		kind := kinds.ImoocPod()
		w.create(kind, "default", "foo", spec(int64(0), nil))
		w.start()
		w.converges()
		w.Stall("pods")
		answer := w.Server.Fail(createsPod, apiserver.Fault{DropAfter: true})
		w.set(kind, "default", "foo", int64(3), "spec", "replicas")
		w.until(func() string {
			if len(w.Requests(createsPod)) == 0 {
				return "no pod is created"
			}
			return ""
		})
		answer()
		w.change(kind, "default", "foo", func(obj *unstructured.Unstructured) {
			obj.SetAnnotations(map[string]string{apis.AnnotationRemovedSlots: "0,1,2"})
		})
		w.passes(500 * time.Millisecond)
		w.Stall()
		w.converges()
	})
}

// A change causes only a limited number of reconciles and writes. With -v, this test prints the counts,
// which docs/how-it-works.md lists.
func TestReconcileCounts(t *testing.T) {
	for _, kind := range []kinds.Kind{kinds.ImoocPod(), kinds.AppService(), kinds.HelloWorld()} {
		t.Run(kind.Kind, func(t *testing.T) {
			inWorld(t, []kinds.Kind{kind}, func(w *world) {
				w.start()
				var reconciles int64
				var writes int
				count := func(what string, mostReconciles int64, mostWrites int) {
					t.Helper()
					w.converges()
					w.passes(time.Minute)
					nowReconciles, nowWrites := w.reconciles(), len(w.Requests(apiserver.Writes))
					t.Logf("%-10s %-18s %2d reconciles %2d writes", kind.Kind, what, nowReconciles-reconciles, nowWrites-writes)
					if nowReconciles-reconciles > mostReconciles || nowWrites-writes > mostWrites {
						t.Errorf("%s: %d reconciles and %d writes, want at most %d and %d",
							what, nowReconciles-reconciles, nowWrites-writes, mostReconciles, mostWrites)
					}
					reconciles, writes = nowReconciles, nowWrites
				}
				scale := func(n int64) { w.set(kind, "default", "foo", n, kind.ReplicasPath...) }
				foo := &unstructured.Unstructured{Object: ofAnyKind(kind, "web")}
				set(foo, int64(1), kind.ReplicasPath...)
				w.create(kind, "default", "foo", foo.Object)
				count("create", 12, 8)
				scale(3)
				count("1 to 3", 16, 8)
				scale(1)
				count("3 to 1", 16, 8)
				restart := append(slices.Clone(kind.Mapping.TemplatePath), "metadata", "annotations", apis.AnnotationRestartedAt)
				w.set(kind, "default", "foo", "noon", restart...)
				count("restart", 16, 8)
				w.set(kind, "default", "foo", "b", "metadata", "annotations", "a")
				w.set(kind, "default", "foo", "d", "metadata", "labels", "c")
				w.Update("pods", "default", w.List("pods", "default")[0].GetName(), func(pod *unstructured.Unstructured) {
					set(pod, "a heartbeat", "status", "message")
				})
				count("irrelevant changes", 0, 0)
			})
		})
	}
}
