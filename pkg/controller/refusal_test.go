package controller

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// ofEndingNamespace returns the server's response to a create in a terminating namespace.
func ofEndingNamespace() *apierrors.StatusError {
	err := denied("unable to create new content in namespace default because it is being terminated")
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: corev1.NamespaceTerminatingCause, Message: "namespace default is being terminated", Field: "metadata.namespace",
	})
	return err
}

// The deletion of a namespace is not reported as a failure. Writing the status requeues the object,
// so the create may be repeated once, but not more often.
func TestCreatesInATerminatingNamespace(t *testing.T) {
	for name, answer := range map[string]*apierrors.StatusError{
		"terminating": ofEndingNamespace(),
		"gone":        apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "default"),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, imoocPods(), func(w *world) {
				w.deny(answer, createsPod)
				w.create(kinds.ImoocPod(), "default", "foo", spec(int64(3), nil))
				w.start()
				w.passes(time.Second)
				creates := len(w.Requests(createsPod))
				if creates == 0 || creates > 2 {
					t.Fatalf("%d creates were tried, want 1 or 2", creates)
				}
				w.passes(time.Minute)
				if more := len(w.Requests(createsPod)) - creates; more > 0 {
					t.Errorf("%d creates were retried, want none", more)
				}
				if w.condition(kinds.ImoocPod(), "foo", apis.ConditionReplicaFailure).Status == metav1.ConditionTrue {
					t.Error("the status reports a failure")
				}
				if events := w.Requests(apiserver.On("create", "events")); len(events) > 0 {
					t.Errorf("unexpected event: %s", events[0])
				}
			})
		})
	}
}

// The controller retries a refused move without writing the status.
func TestRefusedMoveIsQuiet(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		kind := kinds.ImoocPod()
		foo := w.create(kind, "default", "foo", spec(int64(3), nil))
		w.start()
		w.converges()
		w.deny(denied("violates PodSecurity"), createsPod)
		w.Delete("pods", "default", slots.PodName("foo", foo.GetUID(), "", 0))
		w.passes(time.Minute)
		w.set(kind, "default", "foo", int64(2), "spec", "replicas")
		w.passes(time.Minute)
		w.keepsStatus()
	})
}
