package replicas

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

func parkIt(obj *unstructured.Unstructured) (ParkPlan, error) {
	return Park(ofWeb(), obj, specReplicas(), "alice", "", time.Unix(1e9, 0))
}

func unparkIt(obj *unstructured.Unstructured) (ParkPlan, error) {
	return Unpark(ofWeb(), obj, []string{".spec.replicas"})
}

// If an object cannot be parked or restored, the error contains the command to run next. An object that needs no
// change is left alone.
func TestParkRefuses(t *testing.T) {
	t.Parallel()
	const (
		forget = "kubectl annotate deployments.apps/web -n shop imoocpod.dev/parked-" + pasted
		since  = "overwritten: deployment/web was parked with 5 replicas and has been scaled to 3 since\nhint: to keep the count as it is: " + forget +
			"\nhint: to set it back after that: kubectl imoocpod scale deployments.apps/web -n shop --replicas 5" + pasted
		nonsense = "deployment/web: the annotation imoocpod.dev/parked is invalid: json: cannot unmarshal number into Go value of type apis.ParkedCount\nhint: to forget it: " + forget
		none     = "deployment/web: the annotation imoocpod.dev/parked is invalid: it needs a positive number of replicas and a path\nhint: to forget it: " + forget
		gone     = "overwritten: deployment/web was parked with 5 replicas and has changed since: precondition not met: expected the replicas of deployment/web to be set, but .spec.size is not set" +
			"\nhint: to keep the count as it is: " + forget +
			"\nhint: to set it back after that: kubectl imoocpod scale deployments.apps/web -n shop --replicas 5 --replicas-path .spec.size" + pasted
		deleted = "deployment/web is being deleted and cannot be scaled"
	)
	for _, test := range []struct {
		what, object, annotation string
		path                     string
		park, back               string // the errors of park and unpark, or the reasons why they change nothing
	}{
		{"zero", "spec: {replicas: 0}", "", "replicas", "already scaled to zero", "not parked"},
		{"as many as there can be", "spec: {replicas: 2147483647}", "", "replicas", "", "not parked"},
		{"more than there can be", "spec: {replicas: 2147483648}", "", "replicas", "deployment/web: .spec.replicas is 2147483648, which is no count", "not parked"},
		{"below zero", "spec: {replicas: -1}", "", "replicas", "deployment/web: .spec.replicas is -1, which is no count", "not parked"},
		{"a text", "spec: {replicas: many}", "", "replicas", `deployment/web: .spec.replicas is the string "many", not an integer`, "not parked"},
		{"shards", "spec: {shards: 2}", "", "shards", "deployment/web cannot be parked: .spec.shards counts shards, and zero may mean that it is not set", "not parked"},
		{"no field", "spec: {replicas: 3}", "", "more", "precondition not met: expected the replicas of deployment/web to be set, but .spec.more is not set", "not parked"},
		{"being deleted", "{metadata: {deletionTimestamp: '2001-01-01T00:00:00Z'}, spec: {replicas: 3}}", `{"replicas":5,"path":".spec.replicas"}`, "replicas", deleted, deleted},
		{"scaled since", "spec: {replicas: 3}", `{"replicas":5,"path":".spec.replicas","by":"alice"}`, "replicas", since, since},
		{"nonsense", "spec: {replicas: 0}", `5`, "replicas", nonsense, nonsense},
		{"no count", "spec: {replicas: 0}", `{"replicas":-5,"path":".spec.replicas"}`, "replicas", none, none},
		{"a field that is not there", "spec: {replicas: 0}", `{"replicas":5,"path":".spec.size"}`, "replicas", gone, gone},
		{"another count", "spec: {replicas: 0}", `{"replicas":5,"path":".spec.replicas"}`, "more", "deployment/web cannot be parked: it is parked already, by its count .spec.replicas", ""},
	} {
		obj := parse(t, test.object)
		if test.annotation != "" {
			obj.SetAnnotations(map[string]string{apis.AnnotationParked: test.annotation})
		}
		said := func(p ParkPlan, err error) string {
			if err == nil {
				return p.Kept
			}
			return told(err)
		}
		if got := said(Park(ofWeb(), obj, fieldpath.Fields("spec", test.path), "bob", "", time.Now())); got != test.park {
			t.Errorf("%s: to park it: %q, want %q", test.what, got, test.park)
		}
		if got := said(Unpark(ofWeb(), obj, []string{".spec.replicas"})); got != test.back {
			t.Errorf("%s: to restore it: %q, want %q", test.what, got, test.back)
		}
	}
}

// An object that was read before is not read again. The error explains why a write was rejected.
func TestSend(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	target := ofWeb()
	target.Object = s.put(deployment(3))
	objects := target.Resource(s.objects)
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "web", nil)
	s.Fail(apiserver.On("patch", "deployments"), apiserver.Fault{Err: invalid, Times: 1})
	p, w, err := Send(t.Context(), objects, target, parkIt, edit.Options{})
	if err == nil || !strings.Contains(err.Error(), "refuses a count of zero") || s.count(target) != 3 {
		t.Errorf("refused: %+v, %+v, %v", p, w, err)
	}
	s.Forget()
	p, w, err = Send(t.Context(), objects, target, parkIt, edit.Options{FieldManager: kinds.FieldManager, DryRun: []string{metav1.DryRunAll}})
	if err != nil || p.Before != 3 || w.Object == nil || s.sent() != "patch" {
		t.Errorf("with what was read: %+v, %v after %q", p, err, s.sent())
	}
	if options := s.options(); options != kinds.FieldManager+" All" {
		t.Errorf("the options are %q", options)
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	kind, web := schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupResource{Group: "apps", Resource: "deployments"}
	invalid := apierrors.NewInvalid(kind, "web", field.ErrorList{field.Invalid(field.NewPath("spec", "replicas"), 0, "should be\x1b[2J 1")})
	webhook := apierrors.NewForbidden(web, "web", errors.New(`admission webhook "a" denied the request: no`))
	forbidden, notFound := apierrors.NewForbidden(web, "web", errors.New("no")), apierrors.NewNotFound(web, "web")
	noAnswer := errors.New("the server denied the request")
	const zero = "deployment/web cannot be parked: the server refuses a count of zero in .spec.replicas: "
	for _, test := range []struct {
		what  string
		after int32
		err   error
		want  string
	}{
		{"an invalid count", 0, invalid, zero + `Deployment.apps "web" is invalid: spec.replicas: Invalid value: 0: should be`},
		{"a webhook", 0, webhook, zero},
		{"no right", 0, forbidden, forbidden.Error()},
		{"no answer", 0, noAnswer, noAnswer.Error()},
		{"an invalid count, on the way back", 5, invalid, invalid.Error()},
		{"an object that is not there", 0, notFound, notFound.Error()},
	} {
		err := refusal(ofWeb(), ParkPlan{After: test.after, path: specReplicas()}, test.err)
		if !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "\x1b") && strings.HasPrefix(err.Error(), zero) {
			t.Errorf("%s: %v, want %s", test.what, err, test.want)
		}
	}
	if err := refusal(ofWeb(), ParkPlan{}, nil); err != nil {
		t.Error(err)
	}
}
