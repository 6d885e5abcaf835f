package controller

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/report"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// owned lists the pods that an object controls.
func (w *world) owned(owner *unstructured.Unstructured) []*unstructured.Unstructured {
	var pods []*unstructured.Unstructured
	for _, pod := range w.all(podsResource) {
		if ref := metav1.GetControllerOf(pod); ref != nil && ref.UID == owner.GetUID() {
			pods = append(pods, pod)
		}
	}
	return pods
}

// condition returns a condition of an object, or an empty map if it has none of the type.
func (w *world) condition(kind kinds.Kind, name, of string) map[string]any {
	obj := w.get(kind.Resource, "default", name)
	list, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "status", "conditions")
	conditions, _ := list.([]any)
	for _, c := range conditions {
		if c, _ := c.(map[string]any); c["type"] == of {
			return c
		}
	}
	return map[string]any{}
}

// untilFailure lets time pass until an object reports a failure.
func (w *world) untilFailure(kind kinds.Kind, name string) {
	w.Helper()
	w.until(func() string {
		if w.condition(kind, name, apis.ConditionReplicaFailure)["status"] != "True" {
			return "the status of " + name + " does not say what is wrong"
		}
		return ""
	})
}

// A template cannot set labels with the prefix of this program.
func TestLabelsOfOursInATemplateAreNotTaken(t *testing.T) {
	for _, label := range []string{apis.LabelReplaces, apis.LabelSlot, apis.LabelOwner, apis.LabelTemplateHash, "imoocpod.dev/other"} {
		t.Run(label, func(t *testing.T) {
			inWorld(t, imoocPods(), func(w *world) {
				mine := map[string]any{label: "7", "tier": "web"}
				foo := w.create(kinds.ImoocPod(), "default", "foo", spec(int64(3), template("busybox", map[string]any{"labels": mine})))
				w.start()
				w.converges()
				w.staysQuiet()
				if made := len(w.done(podWrite("create"))); made != 3 {
					t.Errorf("%d pods were made, want 3", made)
				}
				for _, pod := range w.owned(foo) {
					if pod.GetLabels()[label] == "7" || pod.GetLabels()["tier"] != "web" {
						t.Errorf("pod %s has the labels %v", pod.GetName(), pod.GetLabels())
					}
				}
			})
		})
	}
}

// A CRD cannot declare a label of this program as its name label.
func TestNameLabelOfOursIsRefused(t *testing.T) {
	for _, label := range []string{apis.LabelReplaces, apis.LabelSlot, apis.LabelOwner, apis.LabelTemplateHash} {
		crd, _ := declaredKind{plan: kinds.StrategyPods}.worker(t)
		u := &unstructured.Unstructured{Object: crd}
		annotations := u.GetAnnotations()
		annotations[kinds.AnnotationNameLabel] = label
		u.SetAnnotations(annotations)
		if _, err := kinds.Declared(u); err == nil {
			t.Errorf("%s is taken as the label for names", label)
		}
	}
}

// Pods that an earlier controller made are adopted and replaced one by one.
func TestPodsOfAnEarlierControllerAreReplaced(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		foo := w.create(kinds.ImoocPod(), "default", "foo", spec(int64(2), nil))
		w.pod(kinds.ImoocPod(), foo, 0, earlier("foo-abc12"))
		w.pod(kinds.ImoocPod(), foo, 0, earlier("foo-def34"))
		w.start()
		w.converges()
		w.staysQuiet()
	})
}

// Pods that have the name of a slot and the label of a replacement for a lost pod do not keep the
// object from converging. The label may come from a template or from someone else.
func TestPodThatIsSaidToBypassDoesNotBlockTheObject(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		foo := w.create(kinds.ImoocPod(), "default", "foo", spec(int64(3), nil))
		for slot := range slots.Slot(2) {
			w.pod(kinds.ImoocPod(), foo, slot, func(pod *unstructured.Unstructured) {
				labels := pod.GetLabels()
				labels[apis.LabelReplaces] = "7"
				pod.SetLabels(labels)
			})
		}
		w.start()
		w.converges()
		w.staysQuiet()
		w.restartsQuietly()
	})
}

// A pod that cannot be labeled does not block its object.
func TestRefusedRelabelDoesNotBlockTheObject(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		foo := w.create(kinds.ImoocPod(), "default", "foo", spec(int64(2), nil))
		w.start()
		w.converges()
		w.mu.Lock()
		w.admit = func(is write) *apierrors.StatusError {
			if is.verb == "patch" && is.resource == podsResource {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, is.name, fmt.Errorf("a webhook denied the request"))
			}
			return nil
		}
		w.mu.Unlock()
		first := slots.PodName("foo", foo.GetUID(), "", 0)
		w.edit(podsResource, "default", first, func(pod *unstructured.Unstructured) { pod.SetLabels(nil) })
		w.passes(time.Minute)
		w.set(kinds.ImoocPod(), "default", "foo", int64(4), "spec", "replicas")
		w.until(func() string {
			for _, slot := range []slots.Slot{2, 3} {
				if w.get(podsResource, "default", slots.PodName("foo", foo.GetUID(), "", slot)) == nil {
					return fmt.Sprintf("foo was scaled to 4, and there is no pod in slot %s", slot)
				}
			}
			return ""
		})
		w.set(kinds.ImoocPod(), "default", "foo", int64(1), "spec", "replicas")
		w.until(func() string {
			if n := len(w.owned(foo)); n > 1 {
				return fmt.Sprintf("foo was scaled to 1, and there are %d pods", n)
			}
			return ""
		})
		w.mu.Lock()
		w.admit = nil
		w.mu.Unlock()
		w.set(kinds.ImoocPod(), "default", "foo", int64(3), "spec", "replicas")
		w.converges()
	})
}

// When an object is scaled down, terminating pods do not count as pods that stay.
func TestScalingDownKeepsActivePods(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		foo := w.create(kinds.ImoocPod(), "default", "foo", spec(int64(5), nil))
		for slot := range slots.Slot(5) {
			if slot < 2 {
				w.pod(kinds.ImoocPod(), foo, slot, ending(10*time.Minute))
			} else {
				w.pod(kinds.ImoocPod(), foo, slot)
			}
		}
		w.set(kinds.ImoocPod(), "default", "foo", int64(3), "spec", "replicas")
		w.start()
		w.passes(time.Minute)
		if deleted := w.done(podWrite("delete")); len(deleted) > 0 {
			t.Errorf("of three active pods %d were deleted, with three wanted and two ending, such as %s", len(deleted), deleted[0])
		}
		w.letGo()
		w.converges()
		w.staysQuiet()
	})
}

// While a count is invalid, the status reports it, and pods and Deployments are not changed.
func TestInvalidCountIsReported(t *testing.T) {
	for name, value := range map[string]any{
		"2^32": int64(4294967296), "2^32+1": int64(4294967297), "2^31": int64(2147483648), "-1": int64(-1), "text": "5", "fraction": 2.5, "bool": true,
		"list": []any{}, "object": map[string]any{},
	} {
		t.Run("pods/"+name, func(t *testing.T) {
			inWorkers(t, declaredKind{plan: kinds.StrategyPods}, func(w *world, kind kinds.Kind) {
				w.create(kind, "default", "foo", spec(int64(3), template("busybox")))
				w.start()
				w.converges()
				w.staysQuiet()
				before := len(w.done(podWrite("create"))) + len(w.done(podWrite("delete")))
				w.set(kind, "default", "foo", value, "spec", "replicas")
				w.untilFailure(kind, "foo")
				w.staysQuiet()
				if now := len(w.done(podWrite("create"))) + len(w.done(podWrite("delete"))); now != before {
					t.Errorf("%d pods were written for %v", now-before, value)
				}
				w.set(kind, "default", "foo", int64(4), "spec", "replicas")
				w.converges()
			})
		})
		t.Run("deployment/"+name, func(t *testing.T) {
			inWorkers(t, declaredKind{plan: kinds.StrategyDeployment}, func(w *world, kind kinds.Kind) {
				w.create(kind, "default", "foo", spec(int64(3), template("busybox")))
				w.start()
				w.converges()
				w.staysQuiet()
				before := w.get(strategy.DeploymentResource(), "default", "foo")
				w.set(kind, "default", "foo", value, "spec", "replicas")
				w.untilFailure(kind, "foo")
				w.staysQuiet()
				if now := w.get(strategy.DeploymentResource(), "default", "foo"); !reflect.DeepEqual(before, now) {
					t.Errorf("the deployment was written for %v: %v", value, now)
				}
				w.set(kind, "default", "foo", int64(4), "spec", "replicas")
				w.converges()
			})
		})
	}
}

// A declared field with a value of the wrong type is reported, too.
func TestInvalidDeploymentNameIsReported(t *testing.T) {
	inWorkers(t, declaredKind{plan: kinds.StrategyDeployment}, func(w *world, kind kinds.Kind) {
		fields := spec(int64(1), template("busybox"))
		_ = unstructured.SetNestedField(fields, int64(5), "spec", "deploymentName")
		w.create(kind, "default", "foo", fields)
		w.start()
		w.untilFailure(kind, "foo")
		w.staysQuiet()
		if made := w.all(strategy.DeploymentResource()); len(made) > 0 {
			t.Errorf("deployment %s was made", made[0].GetName())
		}
		w.set(kind, "default", "foo", "bar", "spec", "deploymentName")
		w.converges()
	})
}

// relabelCRD changes the name label that the CRD of Worker declares.
func (w *world) relabelCRD(label string) {
	w.edit(kinds.CRDResource(), "", "workers.example.com", func(crd *unstructured.Unstructured) {
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

// The selector of a Deployment is immutable, so it does not contain the name label, which may
// change.
func TestAnotherNameLabelLeavesTheSelector(t *testing.T) {
	inWorkers(t, declaredKind{plan: kinds.StrategyDeployment, nameLabel: "name"}, func(w *world, kind kinds.Kind) {
		foo := w.create(kind, "default", "foo", spec(int64(2), template("busybox")))
		w.start()
		w.converges()
		before := w.get(strategy.DeploymentResource(), "default", "foo")
		w.relabelCRD("other")
		w.set(kind, "default", "foo", int64(3), "spec", "replicas")
		w.converges()
		after := w.get(strategy.DeploymentResource(), "default", "foo")
		selector := func(d *unstructured.Unstructured) map[string]string {
			labels, _, _ := unstructured.NestedStringMap(d.Object, "spec", "selector", "matchLabels")
			return labels
		}
		if !maps.Equal(selector(before), selector(after)) || before.GetUID() != after.GetUID() || selector(after)[apis.LabelOwner] != string(foo.GetUID()) {
			t.Errorf("the selector was %v and is %v", selector(before), selector(after))
		}
		labels, _, _ := unstructured.NestedStringMap(after.Object, "spec", "template", "metadata", "labels")
		if labels["other"] != "foo" {
			t.Errorf("the pods have the labels %v", labels)
		}
		w.staysQuiet()
	})
}

// A Deployment of an earlier version of this program has the name label in its selector. The
// controller keeps the selector and still updates everything else.
func TestDeploymentOfAnEarlierVersionIsKept(t *testing.T) {
	for _, label := range []string{"name", "other"} {
		t.Run("now "+label, func(t *testing.T) {
			inWorkers(t, declaredKind{plan: kinds.StrategyDeployment, nameLabel: "name"}, func(w *world, kind kinds.Kind) {
				foo := w.create(kind, "default", "foo", spec(int64(2), template("busybox")))
				labels := map[string]any{apis.LabelOwner: string(foo.GetUID()), "name": "foo"}
				fields := map[string]any{
					"metadata": map[string]any{"labels": labels, "ownerReferences": references(t, kind, foo)},
					"spec": map[string]any{
						"replicas": int64(2), "selector": map[string]any{"matchLabels": labels},
						"template": template("older", map[string]any{"labels": labels}),
					},
				}
				made := w.applyDeployment(t, "foo", fields)
				if label != "name" {
					w.relabelCRD(label)
				}
				w.start()
				w.converges()
				w.staysQuiet()
				if now := w.get(strategy.DeploymentResource(), "default", "foo"); now.GetUID() != made.GetUID() {
					t.Error("the deployment was made anew")
				}
			})
		})
	}
}

func references(t *testing.T, kind kinds.Kind, owner *unstructured.Unstructured) []any {
	t.Helper()
	text, err := json.Marshal([]metav1.OwnerReference{reference(kind, owner)})
	if err != nil {
		t.Fatal(err)
	}
	var list []any
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// applyDeployment applies a Deployment as the loop does, with server-side apply.
func (w *world) applyDeployment(t *testing.T, name string, fields map[string]any) *unstructured.Unstructured {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	body, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	after, err := w.patched(string(types.ApplyPatchType), body, &write{resource: strategy.DeploymentResource(), name: name}, "default")
	if err != nil {
		t.Fatal(err)
	}
	return w.store(strategy.DeploymentResource(), after)
}

// Pods carry the name label, so they are replaced if the CRD declares another name label.
func TestAnotherNameLabelReplacesThePods(t *testing.T) {
	inWorkers(t, declaredKind{plan: kinds.StrategyPods, nameLabel: "name"}, func(w *world, kind kinds.Kind) {
		foo := w.create(kind, "default", "foo", spec(int64(2), template("busybox")))
		w.start()
		w.converges()
		w.relabelCRD("other")
		w.until(func() string {
			for _, pod := range w.owned(foo) {
				if pod.GetLabels()["other"] != "foo" {
					return fmt.Sprintf("pod %s has the labels %v", pod.GetName(), pod.GetLabels())
				}
			}
			return ""
		})
	})
}

// A status that someone else changed or removed is written again.
func TestClearedStatusIsWrittenAgain(t *testing.T) {
	for name, spoil := range map[string]func(*unstructured.Unstructured){
		"gone":            func(obj *unstructured.Unstructured) { delete(obj.Object, "status") },
		"empty":           func(obj *unstructured.Unstructured) { obj.Object["status"] = map[string]any{} },
		"null":            func(obj *unstructured.Unstructured) { obj.Object["status"] = nil },
		"another count":   func(obj *unstructured.Unstructured) { set(obj, int64(77), "status", "readyReplicas") },
		"no conditions":   func(obj *unstructured.Unstructured) { set(obj, []any{}, "status", "conditions") },
		"null conditions": func(obj *unstructured.Unstructured) { set(obj, nil, "status", "conditions") },
		"a count as text": func(obj *unstructured.Unstructured) { set(obj, "3", "status", "replicas") },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, imoocPods(), func(w *world) {
				w.start()
				w.create(kinds.ImoocPod(), "default", "foo", spec(int64(3), nil))
				w.converges()
				w.edit(kinds.ImoocPod().Resource, "default", "foo", spoil)
				w.converges()
				w.staysQuiet()
			})
		})
	}
}

// foreignConditions returns conditions that others may have written, by name.
func foreignConditions() map[string]map[string]any {
	plain := func(change func(map[string]any)) map[string]any {
		c := map[string]any{"type": "Synced", "status": "True", "reason": "Ok", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"}
		change(c)
		return c
	}
	return map[string]map[string]any{
		"plain":              plain(func(map[string]any) {}),
		"empty time":         plain(func(c map[string]any) { c["lastTransitionTime"] = "" }),
		"time that is none":  plain(func(c map[string]any) { c["lastTransitionTime"] = "yesterday" }),
		"null time":          plain(func(c map[string]any) { c["lastTransitionTime"] = nil }),
		"no time":            plain(func(c map[string]any) { delete(c, "lastTransitionTime") }),
		"time with fraction": plain(func(c map[string]any) { c["lastTransitionTime"] = "2026-01-02T03:04:05.678Z" }),
		"unknown fields":     plain(func(c map[string]any) { c["severity"], c["details"] = "Low", map[string]any{"a": int64(1)} }),
		"status is a bool":   plain(func(c map[string]any) { c["status"] = true }),
		"generation is text": plain(func(c map[string]any) { c["observedGeneration"] = "1" }),
		"no message":         plain(func(c map[string]any) { delete(c, "message") }),
	}
}

// Conditions that others write do not stop the loop, and the loop does not change them.
func TestForeignConditionsStayAsTheyAre(t *testing.T) {
	for name, foreign := range foreignConditions() {
		t.Run(name, func(t *testing.T) {
			inWorkers(t, declaredKind{plan: kinds.StrategyPods}, func(w *world, kind kinds.Kind) {
				fields := spec(int64(2), template("busybox"))
				fields["status"] = map[string]any{"conditions": []any{foreign}}
				w.create(kind, "default", "foo", fields)
				w.start()
				w.converges() // holdStatus compares the status before and after each write
				w.set(kind, "default", "foo", int64(3), "spec", "replicas")
				w.converges()
				w.staysQuiet()
			})
		})
	}
}

// Status fields that others write stay, even if the schema requires them.
func TestForeignFieldsOfTheStatusStayAsTheyAre(t *testing.T) {
	inWorkers(t, declaredKind{plan: kinds.StrategyPods, required: true}, func(w *world, kind kinds.Kind) {
		w.create(kind, "default", "foo", spec(int64(2), template("busybox")))
		w.start()
		w.converges()
		w.edit(kind.Resource, "default", "foo", func(obj *unstructured.Unstructured) {
			set(obj, "Bound", "status", "phase")
			set(obj, map[string]any{"a": []any{int64(1), nil}}, "status", "cloud")
		})
		w.set(kind, "default", "foo", int64(3), "spec", "replicas")
		w.converges()
		obj := w.get(kind.Resource, "default", "foo")
		if phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase"); phase != "Bound" {
			t.Errorf(".status.phase is %q", phase)
		}
		w.staysQuiet()
	})
}

// A Deployment that someone else made for the same object is left alone.
func TestForeignDeploymentOfTheSameOwnerIsLeftAlone(t *testing.T) {
	inWorkers(t, declaredKind{plan: kinds.StrategyDeployment}, func(w *world, kind kinds.Kind) {
		foo := w.create(kind, "default", "foo", spec(int64(2), template("busybox")))
		other := w.deployment(kind, foo, "sidecar")
		w.start()
		w.converges()
		w.set(kind, "default", "foo", "bar", "spec", "deploymentName")
		w.converges()
		w.staysQuiet()
		if now := w.get(strategy.DeploymentResource(), "default", "sidecar"); now == nil || !reflect.DeepEqual(now.Object["spec"], other.Object["spec"]) {
			t.Error("the deployment of somebody else was deleted or changed")
		}
	})
}

// deployment creates a Deployment for an object, as someone else might.
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
	return w.put(strategy.DeploymentResource(), d.Object)
}

// Creates that are refused at the same time count as one refusal, which is retried after a second
// and reported once.
func TestCreatesThatAreRefusedTogetherAreOneRefusal(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		full := true
		w.admit = func(is write) *apierrors.StatusError {
			if full && is.verb == "create" && is.resource == podsResource && len(w.objects[podsResource]) >= 60 {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, is.name, fmt.Errorf("exceeded quota: few, requested: pods=1, used: pods=60, limited: pods=60"))
			}
			return nil
		}
		w.create(kinds.ImoocPod(), "default", "foo", spec(int64(200), nil))
		w.start()
		refusals := func() []write {
			return w.done(func(is write) bool { return is.verb == "create" && is.resource == podsResource && is.refused != nil })
		}
		w.until(func() string {
			if len(refusals()) == 0 {
				return "no errors while creating pods"
			}
			return ""
		})
		w.passes(500 * time.Millisecond)
		wave := refusals()
		if len(wave) < 10 {
			t.Fatalf("only %d creates were refused together", len(wave))
		}
		said := w.said(func(l report.Line) bool { return strings.Contains(l.Text, "exceeded quota") })
		if len(said) != 1 {
			t.Errorf("%d lines tell of %d creates that were refused together, want 1", len(said), len(wave))
		}
		told := w.done(func(is write) bool {
			return is.resource == eventsResource && is.after != nil && is.after.Object["reason"] == "FailedCreate"
		})
		if len(told) != 1 {
			t.Errorf("%d events tell of %d creates that were refused together, want 1", len(told), len(wave))
		}
		w.until(func() string {
			if len(refusals()) == len(wave) {
				return "nothing was tried again"
			}
			return ""
		})
		if waited := refusals()[len(wave)].at.Sub(wave[0].at); waited > 2*time.Second {
			t.Errorf("it was tried again after %s, want about 1s", waited)
		}
		w.mu.Lock()
		full = false
		w.mu.Unlock()
		w.converges()
	})
}

// After a repeated refusal, the status still reports the failure, and the next wait is longer.
func TestRepeatedRefusalKeepsTheFailure(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		kind, full := kinds.ImoocPod(), true
		w.admit = func(is write) *apierrors.StatusError {
			if full && is.verb == "create" && is.resource == podsResource {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, is.name, errors.New("exceeded quota: few"))
			}
			return nil
		}
		w.create(kind, "default", "foo", spec(int64(2), nil))
		w.start()
		w.untilFailure(kind, "foo")
		w.passes(time.Minute)
		refused := w.done(func(is write) bool { return is.verb == "create" && is.resource == podsResource && is.refused != nil })
		if n := len(refused); n < 7 || n > 10 { // after 1, 2, 4, 8, 10, 10 … seconds
			t.Errorf("in a minute %d creates were refused", n)
		}
		seen := false
		for _, is := range w.done(func(is write) bool { return is.subresource == "status" && is.after != nil }) {
			failing := meta.IsStatusConditionTrue(strategy.DecodeStatus(kind.Mapping.Status, is.after).Conditions, apis.ConditionReplicaFailure)
			if seen && !failing {
				t.Errorf("%s clears the failure", is)
			}
			seen = seen || failing
		}
		w.mu.Lock()
		full = false
		w.mu.Unlock()
		w.converges()
	})
}

// A message that is longer than the API allows is cut, so that the status can be written.
func TestLongMessageIsCut(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		denied := true
		w.admit = func(is write) *apierrors.StatusError {
			if denied && is.verb == "create" && is.resource == podsResource {
				return apierrors.NewBadRequest(strings.Repeat("é", 20000))
			}
			return nil
		}
		w.create(kinds.ImoocPod(), "default", "foo", spec(int64(2), nil))
		w.start()
		w.untilFailure(kinds.ImoocPod(), "foo")
		if message, _ := w.condition(kinds.ImoocPod(), "foo", apis.ConditionReplicaFailure)["message"].(string); len(message) > longestMessage || !strings.Contains(message, "éé") {
			t.Errorf("the message has %d bytes: %.80s", len(message), message)
		}
		w.mu.Lock()
		denied = false
		w.mu.Unlock()
		w.converges()
	})
}

// earlier returns a change that names and labels a pod as an earlier controller did. The object
// still controls the pod.
func earlier(name string) func(*unstructured.Unstructured) {
	return func(pod *unstructured.Unstructured) {
		pod.SetName(name)
		pod.SetLabels(map[string]string{"app": "foo"})
	}
}

// ending returns a change that makes a pod terminate, and keeps it terminating.
func ending(grace time.Duration) func(*unstructured.Unstructured) {
	return func(pod *unstructured.Unstructured) {
		seconds := int64(grace / time.Second)
		pod.SetDeletionTimestamp(new(metav1.NewTime(time.Now().Add(grace))))
		pod.SetDeletionGracePeriodSeconds(&seconds)
		pod.SetAnnotations(map[string]string{stuck: "yes"})
		pod.Object["status"] = running(false)
	}
}
