package controller

import (
	"maps"
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

func (w *world) condition(kind kinds.Kind, name, of string) metav1.Condition {
	return conditionOf(kind, w.Get(kind.CRD(), "default", name), of)
}

// untilFailure waits until the status of an object reports a failure, and returns the condition.
func (w *world) untilFailure(kind kinds.Kind, name string) (c metav1.Condition) {
	w.Helper()
	w.until(func() string {
		if c = w.condition(kind, name, apis.ConditionReplicaFailure); c.Status != metav1.ConditionTrue {
			return "the status of " + name + " reports no failure"
		}
		return ""
	})
	return c
}

// relabelCRD changes the name label that the CRD of Worker declares.
func (w *world) relabelCRD(label string) {
	w.Update("customresourcedefinitions", "", "workers.example.com", func(crd *unstructured.Unstructured) {
		annotations := crd.GetAnnotations()
		annotations[kinds.AnnotationNameLabel] = label
		crd.SetAnnotations(annotations)
		kind, err := kinds.Declared(crd)
		if err != nil {
			w.Error(err)
		}
		for i := range w.kinds {
			if w.kinds[i].Resource == kind.Resource {
				w.formerLabels = append(w.formerLabels, w.kinds[i].Mapping.NameLabel)
				w.kinds[i] = kind
			}
		}
	})
	w.passes(time.Second)
}

// The selector of a Deployment is immutable, so it does not contain the name label, which can change.
func TestNewNameLabelDoesNotChangeTheSelector(t *testing.T) {
	inWorkers(t, declaredKind{plan: kinds.StrategyDeployment, nameLabel: "name"}, func(w *world, kind kinds.Kind) {
		foo := w.create(kind, "default", "foo", spec(int64(2), template("busybox")))
		w.start()
		w.converges()
		before := w.Get("deployments", "default", "foo")
		w.relabelCRD("other")
		w.set(kind, "default", "foo", int64(3), "spec", "replicas")
		w.converges()
		after := w.Get("deployments", "default", "foo")
		selector := func(d *unstructured.Unstructured) map[string]string {
			labels, _, _ := unstructured.NestedStringMap(d.Object, "spec", "selector", "matchLabels")
			return labels
		}
		if !maps.Equal(selector(before), selector(after)) || before.GetUID() != after.GetUID() || selector(after)[apis.LabelOwner] != string(foo.GetUID()) {
			t.Errorf("selector before = %v, after = %v, want the same one, with the UID of foo, in the same Deployment", selector(before), selector(after))
		}
		labels, _, _ := unstructured.NestedStringMap(after.Object, "spec", "template", "metadata", "labels")
		if labels["other"] != "foo" {
			t.Errorf("labels in the pod template = %v, want other=foo", labels)
		}
		w.staysQuiet()
	})
}

// The loop restores a status that someone else changed or removed.
func TestClearedStatusIsWrittenAgain(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		w.start()
		w.create(kinds.ImoocPod(), "default", "foo", spec(int64(3), nil))
		w.converges()
		for _, spoil := range []func(*unstructured.Unstructured){
			func(obj *unstructured.Unstructured) { delete(obj.Object, "status") },
			func(obj *unstructured.Unstructured) { obj.Object["status"] = map[string]any{} },
			func(obj *unstructured.Unstructured) { obj.Object["status"] = nil },
			func(obj *unstructured.Unstructured) { set(obj, int64(77), "status", "readyReplicas") },
			func(obj *unstructured.Unstructured) { set(obj, []any{}, "status", "conditions") },
			func(obj *unstructured.Unstructured) { set(obj, nil, "status", "conditions") },
			func(obj *unstructured.Unstructured) { set(obj, "3", "status", "replicas") },
		} {
			w.Update(kinds.ImoocPod().CRD(), "default", "foo", spoil)
			w.converges()
			w.staysQuiet()
		}
	})
}

// foreignConditions returns conditions, by name, that other controllers might have written.
func foreignConditions() map[string]map[string]any {
	plain := func(change func(map[string]any)) map[string]any {
		c := map[string]any{"type": "Synced", "status": "True", "reason": "Ok", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"}
		change(c)
		return c
	}
	return map[string]map[string]any{
		"plain":              plain(func(map[string]any) {}),
		"empty time":         plain(func(c map[string]any) { c["lastTransitionTime"] = "" }),
		"time is invalid":    plain(func(c map[string]any) { c["lastTransitionTime"] = "yesterday" }),
		"null time":          plain(func(c map[string]any) { c["lastTransitionTime"] = nil }),
		"no time":            plain(func(c map[string]any) { delete(c, "lastTransitionTime") }),
		"time with fraction": plain(func(c map[string]any) { c["lastTransitionTime"] = "2026-01-02T03:04:05.678Z" }),
		"unknown fields":     plain(func(c map[string]any) { c["severity"], c["details"] = "Low", map[string]any{"a": int64(1)} }),
		"status is a bool":   plain(func(c map[string]any) { c["status"] = true }),
		"generation is text": plain(func(c map[string]any) { c["observedGeneration"] = "1" }),
		"no message":         plain(func(c map[string]any) { delete(c, "message") }),
	}
}

// The loop does not touch a Deployment that someone else created for the same object.
func TestForeignDeploymentOfTheSameOwnerIsLeftAlone(t *testing.T) {
	inWorkers(t, declaredKind{plan: kinds.StrategyDeployment}, func(w *world, kind kinds.Kind) {
		foo := w.create(kind, "default", "foo", spec(int64(2), template("busybox")))
		other := w.deployment(kind, foo, "sidecar")
		w.start()
		w.converges()
		w.set(kind, "default", "foo", "bar", "spec", "deploymentName")
		w.converges()
		w.staysQuiet()
		if now := w.Get("deployments", "default", "sidecar"); now == nil || !reflect.DeepEqual(now.Object["spec"], other.Object["spec"]) {
			t.Error("the foreign Deployment sidecar was deleted or changed")
		}
	})
}

// deployment creates a Deployment for an object, as another controller might do.
func (w *world) deployment(kind kinds.Kind, owner *unstructured.Unstructured, name string) *unstructured.Unstructured {
	labels := map[string]any{"app": name}
	d := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"replicas": int64(1), "selector": map[string]any{"matchLabels": labels}, "template": template("other", map[string]any{"labels": labels})},
	}}
	d.SetAPIVersion("apps/v1")
	d.SetKind("Deployment")
	d.SetNamespace(owner.GetNamespace())
	d.SetName(name)
	d.SetOwnerReferences([]metav1.OwnerReference{reference(kind, owner)})
	return w.Create(d)
}

// Creates that are rejected at the same time count as one refusal. After a second, the loop retries. Each refusal
// causes one event, but the log reports only the first.
func TestParallelRefusalsAreReportedOnce(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		const quota = 40
		allow := w.deny(denied("exceeded quota: few, requested: pods=1, used: pods=40, limited: pods=40"), createsPodAfter(quota))
		w.create(kinds.ImoocPod(), "default", "foo", spec(int64(200), nil))
		w.start()
		refusals := func() []apiserver.Request {
			creates := w.Requests(createsPod)
			return creates[min(quota, len(creates)):]
		}
		w.until(func() string {
			if len(refusals()) == 0 {
				return "no create was refused"
			}
			return ""
		})
		reports := func(want int) {
			w.passes(500 * time.Millisecond)
			if lines, events := len(w.logged("exceeded quota")), occurrences(w.reasons(), "FailedCreate"); lines != 1 || events != want {
				t.Errorf("%d log lines and %d FailedCreate events about %d refused creates, want 1 and %d", lines, events, len(refusals()), want)
			}
		}
		reports(1)
		wave := refusals()
		if len(wave) < 10 {
			t.Fatalf("%d creates were refused together, want at least 10", len(wave))
		}
		w.until(func() string {
			if len(refusals()) == len(wave) {
				return "no refused create was retried"
			}
			return ""
		})
		if waited := refusals()[len(wave)].At.Sub(wave[0].At); waited > 2*time.Second {
			t.Errorf("the first retry came after %s, want about 1s", waited)
		}
		reports(2)
		allow()
		w.converges()
	})
}

// If a create is refused repeatedly, the retries wait longer, up to ten seconds. The status keeps the
// failure, and is not written for each retry.
func TestRepeatedRefusalKeepsTheFailure(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		kind := kinds.ImoocPod()
		var written []*unstructured.Unstructured
		w.check = func(is request) {
			w.checkRequest(is)
			if is.Subresource == "status" {
				written = append(written, is.after)
			}
		}
		allow := w.deny(denied("exceeded quota: few"), createsPod)
		w.create(kind, "default", "foo", spec(int64(2), nil))
		w.start()
		w.untilFailure(kind, "foo")
		w.passes(time.Minute)
		if n := len(w.Requests(createsPod)); n < 7 || n > 10 { // after 1, 2, 4, 8, 10, 10 … seconds
			t.Errorf("%d creates were refused in a minute, want 7 to 10", n)
		}
		seen := false
		if len(written) > 3 {
			t.Errorf("the status was written %d times, want at most 3", len(written))
		}
		for _, obj := range written {
			failing := meta.IsStatusConditionTrue(strategy.DecodeStatus(kind.Mapping.Status, obj).Conditions, apis.ConditionReplicaFailure)
			if seen && !failing {
				t.Errorf("a status write during the refusals clears the failure: %v", obj.Object["status"])
			}
			seen = seen || failing
		}
		allow()
		w.converges()
	})
}

// earlier returns a function that names and labels a pod as an earlier version of the controller
// did. The object still controls the pod.
func earlier(name string) func(*unstructured.Unstructured) {
	return func(pod *unstructured.Unstructured) {
		pod.SetName(name)
		pod.SetLabels(map[string]string{"app": "foo"})
	}
}

// terminating returns a function that marks a pod as terminating. The pod stays until unstick is called.
func terminating(grace time.Duration) func(*unstructured.Unstructured) {
	return func(pod *unstructured.Unstructured) {
		seconds := int64(grace / time.Second)
		pod.SetDeletionTimestamp(new(metav1.NewTime(time.Now().Add(grace))))
		pod.SetDeletionGracePeriodSeconds(&seconds)
		stick(pod)
		pod.Object["status"] = running(false)
	}
}

// The loop retries a refused apply without writing the status. An apply that changes nothing is followed by no event, so
// the loop plans again by itself. The first plan of a loop finds a difference here, because a strategic merge patch
// knows ports only by their number.
func TestRefusedApply(t *testing.T) {
	inWorkers(t, declaredKind{plan: kinds.StrategyDeployment}, func(w *world, kind kinds.Kind) {
		dns := template("busybox")
		port := func(protocol string) any {
			return map[string]any{"containerPort": int64(53), "protocol": protocol}
		}
		set(&unstructured.Unstructured{Object: dns}, []any{map[string]any{
			"name": "main", "image": "busybox", "ports": []any{port("UDP"), port("TCP")},
		}}, "spec", "containers")
		w.create(kind, "default", "foo", spec(int64(2), dns))
		w.start()
		w.converges()
		w.end()
		allow := w.deny(denied("a webhook denied the request"), apiserver.On("patch", "deployments"))
		w.start()
		w.untilFailure(kind, "foo")
		w.passes(time.Minute)
		w.keepsStatus()
		allow()
		w.passes(time.Minute)
		if c := w.condition(kind, "foo", apis.ConditionReplicaFailure); c.Status == metav1.ConditionTrue {
			t.Errorf("a minute after the end of the refusal, the status reports: %s", c.Message)
		}
	})
}
