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
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// parkIt returns a function that plans to park the object of a server.
func parkIt(t *testing.T, s *server) func(*unstructured.Unstructured) (ParkPlan, error) {
	t.Helper()
	path := replicas(t)
	return func(obj *unstructured.Unstructured) (ParkPlan, error) {
		return Park(s.target(), obj, path, "alice", "", time.Unix(1e9, 0))
	}
}

func TestParkNothing(t *testing.T) {
	t.Parallel()
	path := replicas(t)
	s := newServer(0)
	if p, err := Park(s.target(), s.obj, path, "alice", "", time.Now()); err != nil || p.Kept != "already scaled to zero" {
		t.Errorf("%+v, %v", p, err)
	}
	_ = unstructured.SetNestedField(s.obj.Object, int64(2), "spec", "shards")
	if p, err := Park(s.target(), s.obj, fieldpath.Fields("spec", "shards"), "alice", "", time.Now()); err == nil || told(err) != "deployment/web cannot be parked: .spec.shards counts shards, and zero may mean that it is not set" {
		t.Errorf("%+v, %v", p, err)
	}
	s = newServer(3)
	s.obj.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1000, 0)})
	const want = "deployment/web is being deleted and cannot be scaled"
	if _, err := Park(s.target(), s.obj, path, "alice", "", time.Now()); err == nil || told(err) != want {
		t.Error(err)
	}
	s.obj.SetAnnotations(map[string]string{apis.AnnotationParked: `{"replicas":5,"path":".spec.replicas"}`})
	if _, err := Unpark(s.target(), s.obj, []string{".spec.replicas"}); err == nil || told(err) != want {
		t.Error(err)
	}
}

// An invalid count is rejected. The largest valid count is accepted.
func TestCountAt(t *testing.T) {
	t.Parallel()
	path := replicas(t)
	s := newServer(0)
	for value, want := range map[any]string{
		int64(0): "", int64(math.MaxInt32): "", int64(math.MaxInt32 + 1): "deployment/web: .spec.replicas is 2147483648, which is no count",
		int64(-1): "deployment/web: .spec.replicas is -1, which is no count", "many": "deployment/web: ",
	} {
		_ = unstructured.SetNestedField(s.obj.Object, value, "spec", "replicas")
		n, err := countAt(s.target(), s.obj, path)
		if want == "" && (err != nil || int64(n) != value) || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("of %v: %d, %v, want %s", value, n, err, want)
		}
	}
}

// The error about a parked count that cannot be read has the commands to continue with.
func TestUnparkWithoutTheCount(t *testing.T) {
	t.Parallel()
	s := newServer(0)
	s.obj.SetAnnotations(map[string]string{apis.AnnotationParked: `{"replicas":5,"path":".spec.size"}`})
	const want = "overwritten: deployment/web was parked with 5 replicas and has changed since: precondition not met: expected the replicas of deployment/web to be set, but .spec.size is not set" +
		"\nhint: to keep the count as it is: kubectl annotate deployments.apps/web -n shop imoocpod.dev/parked-" + pasted +
		"\nhint: to set it back after that: kubectl imoocpod scale deployments.apps/web -n shop --replicas 5 --replicas-path .spec.size" + pasted
	for what, plan := range map[string]func() (ParkPlan, error){
		"park":   func() (ParkPlan, error) { return Park(s.target(), s.obj, replicas(t), "alice", "", time.Now()) },
		"unpark": func() (ParkPlan, error) { return Unpark(s.target(), s.obj, []string{".spec.replicas"}) },
	} {
		if _, err := plan(); !errors.Is(err, outcome.ErrOverwritten) || told(err) != want {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	clusterwide := s.target()
	clusterwide.Namespace = ""
	if _, err := Unpark(clusterwide, s.obj, []string{".spec.replicas"}); err == nil || !strings.Contains(told(err), "kubectl annotate deployments.apps/web imoocpod.dev/parked-"+pasted+"\n") {
		t.Error(err)
	}
}

// A change that loses every race gives up.
func TestSendGivesUp(t *testing.T) {
	t.Parallel()
	s := refuse(newServer(3), map[string]error{"patch": conflict()})
	_, _, err := Send(t.Context(), s, s.target(), parkIt(t, s.server), edit.Options{FieldManager: kinds.FieldManager})
	if want := strings.TrimSuffix(strings.Repeat("get, patch, ", edit.Contested().Steps), ", "); !apierrors.IsConflict(err) || strings.Join(s.sent, ", ") != want {
		t.Errorf("%v after %v", err, s.sent)
	}
	target := s.target()
	target.Object = s.obj
	s = refuse(newServer(3), nil)
	if p, w, err := Send(t.Context(), s, target, parkIt(t, s.server), edit.Options{FieldManager: kinds.FieldManager, DryRun: []string{metav1.DryRunAll}}); err != nil || p.Before != 3 || w.Object == nil || strings.Join(s.sent, ", ") != "patch" {
		t.Errorf("with what was read: %+v, %v after %v", p, err, s.sent)
	}
	if s.options.FieldManager != kinds.FieldManager || s.options.FieldValidation != metav1.FieldValidationStrict || len(s.options.DryRun) != 1 {
		t.Errorf("the options are %+v", s.options)
	}
}

// The error explains that the server does not accept a count of zero. Any other refusal stays
// unchanged.
func TestSendIsRefused(t *testing.T) {
	t.Parallel()
	kind := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	invalid := apierrors.NewInvalid(kind, "web", field.ErrorList{field.Invalid(field.NewPath("spec", "replicas"), 0, "should be\x1b[2J 1")})
	webhook := apierrors.NewForbidden(web, "web", errors.New(`admission webhook "a" denied the request: no`))
	const zero = "deployment/web cannot be parked: the server refuses a count of zero in .spec.replicas: "
	for _, test := range []struct {
		what    string
		parked  bool
		refuses map[string]error
		want    string
	}{
		{"an invalid count", false, map[string]error{"patch": invalid}, zero + `Deployment.apps "web" is invalid: spec.replicas: Invalid value: 0: should be`},
		{"a webhook", false, map[string]error{"patch": webhook}, zero},
		{"no right", false, map[string]error{"patch": forbidden()}, forbidden().Error()},
		{"no answer", false, map[string]error{"patch": errors.New("the server denied the request")}, "the server denied the request"},
		{"an invalid count, on the way back", true, map[string]error{"patch": invalid}, invalid.Error()},
		{"an object that is not there", false, map[string]error{"get": notFound()}, notFound().Error()},
	} {
		s := newServer(3)
		plan := parkIt(t, s)
		if test.parked {
			s = newServer(0)
			s.obj.SetAnnotations(map[string]string{apis.AnnotationParked: `{"replicas":5,"path":".spec.replicas"}`})
			plan = func(obj *unstructured.Unstructured) (ParkPlan, error) {
				return Unpark(s.target(), obj, []string{".spec.replicas"})
			}
		}
		_, _, err := Send(t.Context(), refuse(s, test.refuses), s.target(), plan, edit.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "\x1b") && strings.HasPrefix(err.Error(), zero) {
			t.Errorf("%s: %v, want %s", test.what, err, test.want)
		}
	}
	s := newServer(3)
	s.obj.Object["metadata"] = map[string]any{"name": "web", "resourceVersion": "1", "annotations": "odd"}
	if _, _, err := Send(t.Context(), s, s.target(), func(*unstructured.Unstructured) (ParkPlan, error) {
		return ParkPlan{Before: 3, path: fieldpath.Fields("spec", "replicas"), saved: "x"}, nil
	}, edit.Options{}); err == nil || !strings.HasPrefix(err.Error(), "change web: .metadata") {
		t.Errorf("with annotations that are none: %v", err)
	}
}
