package replicas

import (
	"errors"
	"math"
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

func TestParkNothing(t *testing.T) {
	t.Parallel()
	path := specReplicas()
	obj := parse(t, deployment(0))
	if p, err := Park(ofWeb(), obj, path, "alice", "", time.Now()); err != nil || p.Kept != "already scaled to zero" {
		t.Errorf("%+v, %v", p, err)
	}
	_ = unstructured.SetNestedField(obj.Object, int64(2), "spec", "shards")
	if p, err := Park(ofWeb(), obj, fieldpath.Fields("spec", "shards"), "alice", "", time.Now()); err == nil || told(err) != "deployment/web cannot be parked: .spec.shards counts shards, and zero may mean that it is not set" {
		t.Errorf("%+v, %v", p, err)
	}
	obj = parse(t, deployment(3))
	obj.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1000, 0)})
	const want = "deployment/web is being deleted and cannot be scaled"
	if _, err := Park(ofWeb(), obj, path, "alice", "", time.Now()); err == nil || told(err) != want {
		t.Error(err)
	}
	obj.SetAnnotations(map[string]string{apis.AnnotationParked: `{"replicas":5,"path":".spec.replicas"}`})
	if _, err := Unpark(ofWeb(), obj, []string{".spec.replicas"}); err == nil || told(err) != want {
		t.Error(err)
	}
}

func TestCountAt(t *testing.T) {
	t.Parallel()
	path := specReplicas()
	obj := parse(t, deployment(0))
	for value, want := range map[any]string{
		int64(0): "", int64(math.MaxInt32): "", int64(math.MaxInt32 + 1): "deployment/web: .spec.replicas is 2147483648, which is no count",
		int64(-1): "deployment/web: .spec.replicas is -1, which is no count", "many": "deployment/web: ",
	} {
		_ = unstructured.SetNestedField(obj.Object, value, "spec", "replicas")
		n, err := countAt(ofWeb(), obj, path)
		if want == "" && (err != nil || int64(n) != value) || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("of %v: %d, %v, want %s", value, n, err, want)
		}
	}
}

// If an object has no namespace, the command that removes its parked count has no namespace flag.
func TestUnparkClusterwide(t *testing.T) {
	t.Parallel()
	obj := parse(t, deployment(3))
	obj.SetAnnotations(map[string]string{apis.AnnotationParked: `{"replicas":5,"path":".spec.replicas"}`})
	clusterwide := ofWeb()
	clusterwide.Namespace = ""
	if _, err := Unpark(clusterwide, obj, []string{".spec.replicas"}); err == nil || !strings.Contains(told(err), "kubectl annotate deployments.apps/web imoocpod.dev/parked-"+pasted+"\n") {
		t.Error(err)
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
