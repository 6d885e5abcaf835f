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

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// countCreates returns an interceptor that increments n for each pod that a controller
// tries to create.
func countCreates(n *atomic.Int64) harness.Interceptor {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods") {
			n.Add(1)
		}
		return next.RoundTrip(r)
	}
}

// Rule 7: the controller plans nothing until its cache has caught up with its own
// writes, so it tries to create each pod only once.
func TestLoopWaitsForItsOwnWrites(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	d := cluster.NewDriver(t, ns, w)
	slow := &harness.Faults{}
	var creates atomic.Int64
	d.Create(0)
	l := cluster.StartController(t, ns, nil, d.Check(), countCreates(&creates), harness.HoldWatch(slow, "/pods"))
	w.Until(t, "the loop has seen foo", func() bool { return w.ImoocPods["foo"] != nil && w.ImoocPods["foo"].Status.ObservedGeneration == 1 })
	slow.Hold()
	d.Scale(3)
	w.Until(t, "the first pods exist", func() bool { return w.Created[d.UID] == 3 })
	looks := l.Reconciles()
	d.Scale(5)
	harness.Eventually(t, "the loop has looked at the new count", func() bool {
		return l.Reconciles() > looks+1 || creates.Load() > 3
	})
	if n := creates.Load(); n != 3 {
		t.Errorf("%d creates while the cache knew of none, want the first 3", n)
	}
	slow.Release()
	w.AwaitConverged(t, "foo", 5)
	if n := creates.Load(); n != 5 {
		t.Errorf("%d creates for 5 pods", n)
	}
}

// A server that fails every create, as with a broken admission webhook, is reported like
// a refusal.
func TestBrokenWebhookIsReported(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	d := cluster.NewDriver(t, ns, w)
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
	configs := cluster.Dynamic.Resource(admissionregistrationv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations"))
	if _, err := configs.Create(t.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := configs.Delete(context.Background(), ns, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	harness.Eventually(t, "the server asks the webhook", func() bool {
		_, err := cluster.Core.Pods(ns).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "probe"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox"}}},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil
	})
	d.Create(2)
	cluster.StartController(t, ns, nil, d.Check())
	w.Until(t, "the failure is reported", func() bool {
		failure := harness.Condition(w.ImoocPods["foo"], apis.ConditionReplicaFailure)
		return failure.Reason == "CreateFailed" && strings.Contains(failure.Message, "pods.e2e.imoocpod.dev")
	})
	mended.Store(true)
	w.AwaitConverged(t, "foo", 2)
	if failure := harness.Condition(w.ImoocPod("foo"), apis.ConditionReplicaFailure); failure.Status != metav1.ConditionFalse {
		t.Errorf("the failure is still reported: %s", failure.Message)
	}
}

// Before it writes pods, the controller reads their owner from the server and plans again, so an
// outdated owner in its cache causes no writes, no matter how old the cache is.
func TestStaleOwnerWritesNothing(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	d := cluster.NewDriver(t, ns, w)
	slow := &harness.Faults{}
	d.Create(3)
	cluster.StartController(t, ns, nil, d.Check())
	w.AwaitConverged(t, "foo", 3)
	var creates atomic.Int64
	stale := cluster.StartController(t, ns, nil, d.Check(), countCreates(&creates), harness.HoldWatch(slow, "/imoocpods"))
	harness.Eventually(t, "the second loop has looked at foo", func() bool { return stale.Reconciles() > 0 })
	slow.Hold()
	looks := stale.Reconciles()
	d.Scale(1) // the first controller deletes two pods, and the second sees that
	w.AwaitConverged(t, "foo", 1)
	harness.Eventually(t, "the second controller has seen the remaining pods", func() bool { return stale.Reconciles() > looks })
	w.AwaitQuiet(t, time.Second)
	if n := creates.Load(); n > 0 {
		t.Errorf("the controller with the outdated view tried to create %d pods", n)
	}
	slow.Release()
	w.AwaitConverged(t, "foo", 1)
}

// Rule 9: a status is written even if its first write conflicts with a change that does
// not trigger a reconcile.
func TestStatusIsWrittenAfterAConflict(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	d := cluster.NewDriver(t, ns, w)
	var once sync.Once
	d.Create(0)
	cluster.StartController(t, ns, nil, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/status") {
			once.Do(func() { cluster.PatchFoo(t, ns, `{"metadata":{"annotations":{"someone":"was faster"}}}`) })
		}
		return next.RoundTrip(r)
	})
	w.AwaitConverged(t, "foo", 0)
}

// Rule 9: the status shows the progress of a long plan.
func TestStatusShowsProgress(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	d := cluster.NewDriver(t, ns, w)
	var creates atomic.Int64
	told := make(chan struct{})
	d.Create(3)
	cluster.StartController(t, ns, nil, d.Check(), func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods") && creates.Add(1) == 3 {
			select {
			case <-told:
			case <-t.Context().Done():
			}
		}
		return next.RoundTrip(r)
	})
	w.Until(t, "the status reports two pods", func() bool {
		foo := w.ImoocPods["foo"]
		return foo != nil && foo.Status.Replicas == 2
	})
	close(told)
	w.AwaitConverged(t, "foo", 3)
}

// A pod whose deletion is forbidden does not delay the deletion of the others, and an
// event reports why it still exists.
func TestRefusedDeletionDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	d := cluster.NewDriver(t, ns, w)
	var allowed atomic.Bool
	d.Create(3)
	cluster.StartController(t, ns, nil, d.Check(), func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "-2") && !allowed.Load() {
			return harness.Refuse(r, http.StatusForbidden, "Forbidden", "the policy keeps this pod"), nil
		}
		return next.RoundTrip(r)
	})
	w.AwaitConverged(t, "foo", 3)
	d.Scale(0)
	w.Until(t, "the other pods are gone", func() bool { return len(w.Pods) == 1 })
	harness.Eventually(t, "an event reports it", func() bool {
		said := cluster.Events(t, ns, d.UID)
		return strings.Contains(said, "Warning ReconcileFailed") && strings.Contains(said, "the policy keeps this pod")
	})
	allowed.Store(true)
	w.AwaitConverged(t, "foo", 0)
}
