package e2e

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// countCreates counts the pods that a loop tries to create.
func countCreates(n *atomic.Int64) interceptor {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods") {
			n.Add(1)
		}
		return next.RoundTrip(r)
	}
}

// Rule 7: while the cache has not caught up with what the loop wrote, nothing
// is planned: each pod is tried once.
func TestLoopWaitsForItsOwnWrites(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	w := watchPods(t, ns)
	d := newDriver(t, ns, w)
	slow := &faults{}
	var creates atomic.Int64
	d.create(0)
	l := startInner(t, ns, nil, d.check(), countCreates(&creates), holdWatch(slow, "/pods"))
	w.until(t, "the loop has seen foo", func() bool { return w.imps["foo"] != nil && w.imps["foo"].Status.ObservedGeneration == 1 })
	slow.hold()
	d.scale(3)
	w.until(t, "the first pods are there", func() bool { return w.made[d.uid] == 3 })
	looks := l.Reconciles()
	d.scale(5)
	eventually(t, "the loop has looked at the new count", func() bool {
		return l.Reconciles() > looks+1 || creates.Load() > 3
	})
	if n := creates.Load(); n != 3 {
		t.Errorf("%d creates while the cache knew of none, want the first 3", n)
	}
	slow.release()
	w.settles(t, "foo", 5)
	if n := creates.Load(); n != 5 {
		t.Errorf("%d creates for 5 pods", n)
	}
}

// Rule 8: a quota stops the creates at the first refusal. What is wasted is
// what was under way: no more than had gone through, plus one.
func TestRefusalStopsTheCreates(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	w := watchPods(t, ns)
	d := newDriver(t, ns, w)
	quota(t, ns, "3")
	// The clock stands still, so no back-off ever ends: what goes on after the
	// quota gives way goes on because of that.
	still := clocktesting.NewFakePassiveClock(time.Now())
	var creates atomic.Int64
	d.create(100)
	startInner(t, ns, still, d.check(), countCreates(&creates))
	w.until(t, "the refusal is reported", func() bool {
		return condition(w.imps["foo"], apis.ConditionReplicaFailure).Reason == "QuotaExceeded"
	})
	if n := creates.Load(); n < 4 || n > 7 {
		t.Errorf("%d creates for a quota of 3, want 4 to 7", n)
	}
	d.scale(8)
	quota(t, ns, "20")
	w.settles(t, "foo", 8)
}

// A server that answers every create with a failure of its own, as it does
// where an admission webhook is out of order, is reported like a refusal.
func TestBrokenWebhookIsReported(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	w := watchPods(t, ns)
	d := newDriver(t, ns, w)
	var mended atomic.Bool
	webhook := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || !mended.Load() {
			rw.WriteHeader(http.StatusInternalServerError)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		if err := json.NewEncoder(rw).Encode(review); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(webhook.Close)
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "pods.e2e.imoocpod.dev",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL:      &webhook.URL,
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns}},
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(config)
	if err != nil {
		t.Fatal(err)
	}
	configs := cluster.dynamic.Resource(admissionregistrationv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations"))
	if _, err := configs.Create(t.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := configs.Delete(context.Background(), ns, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the server asks the webhook", func() bool {
		_, err := cluster.core.Pods(ns).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "probe"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox"}}},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil
	})
	d.create(2)
	startInner(t, ns, nil, d.check())
	w.until(t, "the failure is reported", func() bool {
		failure := condition(w.imps["foo"], apis.ConditionReplicaFailure)
		return failure.Reason == "CreateFailed" && strings.Contains(failure.Message, "pods.e2e.imoocpod.dev")
	})
	mended.Store(true)
	w.settles(t, "foo", 2)
	if failure := condition(w.imp("foo"), apis.ConditionReplicaFailure); failure.Status != metav1.ConditionFalse {
		t.Errorf("the failure is still reported: %s", failure.Message)
	}
}

// Rule 10: the loop adds no finalizer; an object can always be deleted.
func TestNoFinalizers(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	w := watchPods(t, ns)
	d := newDriver(t, ns, w)
	d.create(1)
	startInner(t, ns, nil, d.check()).output()
	w.settles(t, "foo", 1)
	if f := w.imp("foo").Finalizers; len(f) > 0 {
		t.Errorf("foo has the finalizers %v", f)
	}
	for _, pod := range w.owned("foo") {
		if len(pod.Finalizers) > 0 {
			t.Errorf("pod %s has the finalizers %v", pod.Name, pod.Finalizers)
		}
	}
}

// Rule 5: ownership is the controller reference. A pod that somebody released
// is not ours any more, whatever its labels say: its name is taken, and it is
// not touched.
func TestReleasedPodIsLeftAlone(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	w := watchPods(t, ns)
	d := newDriver(t, ns, w)
	d.create(2)
	startInner(t, ns, nil, d.check())
	w.settles(t, "foo", 2)
	released := w.owned("foo")[0]
	must(t, kubectl(t, ns, "patch", "pod", released.Name, "--type=merge", "-p", `{"metadata":{"ownerReferences":null}}`))
	w.until(t, "the taken name is reported", func() bool {
		return condition(w.imps["foo"], apis.ConditionReplicaFailure).Reason == "NameTaken"
	})
	d.scale(0)
	w.settles(t, "foo", 0)
	if pod := w.pod(released.UID); pod == nil || pod.DeletionTimestamp != nil {
		t.Error("the released pod was deleted")
	}
}

// Pods are written only for an owner that was read just before: a loop whose
// view of the owner is old, by any stretch of time, makes nothing of it.
func TestStaleOwnerWritesNothing(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	w := watchPods(t, ns)
	d := newDriver(t, ns, w)
	slow := &faults{}
	d.create(3)
	startInner(t, ns, nil, d.check())
	w.settles(t, "foo", 3)
	var creates atomic.Int64
	stale := startInner(t, ns, nil, d.check(), countCreates(&creates), holdWatch(slow, "/imoocpods"))
	eventually(t, "the second loop has looked at foo", func() bool { return stale.Reconciles() > 0 })
	slow.hold()
	looks := stale.Reconciles()
	d.scale(1) // the first loop deletes two pods, and the second sees them go
	w.settles(t, "foo", 1)
	eventually(t, "the second loop has looked at what is left", func() bool { return stale.Reconciles() > looks })
	w.quiet(t, time.Second)
	if n := creates.Load(); n > 0 {
		t.Errorf("the loop whose view was old tried to create %d pods", n)
	}
	slow.release()
	w.settles(t, "foo", 1)
}

// Rule 9: a status whose write met a change of the object is written all the
// same, also if that change is one that wakes nobody.
func TestStatusIsWrittenAfterAConflict(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	w := watchPods(t, ns)
	d := newDriver(t, ns, w)
	var once sync.Once
	d.create(0)
	startInner(t, ns, nil, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/status") {
			once.Do(func() { patchFoo(t, ns, `{"metadata":{"annotations":{"someone":"was faster"}}}`) })
		}
		return next.RoundTrip(r)
	})
	w.settles(t, "foo", 0)
}

// Rule 9: the status tells how far a plan has come that takes its time.
func TestStatusTellsHowFarItIs(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	w := watchPods(t, ns)
	d := newDriver(t, ns, w)
	var creates atomic.Int64
	told := make(chan struct{})
	d.create(3)
	startInner(t, ns, nil, d.check(), func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods") && creates.Add(1) == 3 {
			select {
			case <-told:
			case <-t.Context().Done():
			}
		}
		return next.RoundTrip(r)
	})
	w.until(t, "the status tells of two pods", func() bool {
		foo := w.imps["foo"]
		return foo != nil && foo.Status.Replicas == 2
	})
	close(told)
	w.settles(t, "foo", 3)
}

// A pod that may not be deleted does not keep the others, and after a while an
// event says why it is still there.
func TestRefusedDeletionDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	w := watchPods(t, ns)
	d := newDriver(t, ns, w)
	var allowed atomic.Bool
	d.create(3)
	startInner(t, ns, nil, d.check(), func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "-2") && !allowed.Load() {
			return answer(r, http.StatusForbidden, "Forbidden", "the policy keeps this pod"), nil
		}
		return next.RoundTrip(r)
	})
	w.settles(t, "foo", 3)
	d.scale(0)
	w.until(t, "the other pods are gone", func() bool { return len(w.pods) == 1 })
	eventually(t, "an event tells of it", func() bool {
		said := events(t, ns, d.uid)
		return strings.Contains(said, "Warning ReconcileFailed") && strings.Contains(said, "the policy keeps this pod")
	})
	allowed.Store(true)
	w.settles(t, "foo", 0)
}
