package replicas

import (
	"cmp"
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
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/objects"
	"github.com/imoocpod/kubectl-imoocpod/test/rows"
)

func parkWeb(obj *unstructured.Unstructured) (ParkPlan, error) {
	return Park(ofWeb(), obj, specReplicas(), "pod", "alice", "", time.Unix(1e9, 0))
}

func unparkWeb(obj *unstructured.Unstructured) (ParkPlan, error) {
	return Unpark(ofWeb(), obj, []string{".spec.replicas"})
}

// send makes the change that plan returns, as the commands do.
func send(t *testing.T, s *shelf, target observe.Target, plan func(*unstructured.Unstructured) (ParkPlan, error), o edit.Options) (ParkPlan, edit.Written, error) {
	t.Helper()
	var p ParkPlan
	w, err := edit.Apply(t.Context(), target.Resource(s.objects), target.Name, target.Object, func(obj *unstructured.Unstructured) (_ edit.Plan, err error) {
		p, err = plan(obj)
		return p.Plan, err
	}, o)
	return p, w, p.Refusal(target, err)
}

// Park and Unpark return an error with hints, or a plan. If the object does not change, the plan contains the reason.
func TestParkRefuses(t *testing.T) {
	t.Parallel()
	type row struct {
		Name                                 string
		Object                               objects.Content
		Annotation, Path, Unit, Park, Unpark string
	}
	message := func(p ParkPlan, err error) string {
		if err == nil {
			return p.Kept
		}
		return formatError(err)
	}
	rows.Run(t, "testdata/parking.yaml", time.Time{}, func(t *testing.T, row row) {
		obj := &unstructured.Unstructured{Object: row.Object}
		if row.Annotation != "" {
			obj.SetAnnotations(map[string]string{apis.AnnotationParked: row.Annotation})
		}
		path := fieldpath.Fields("spec", cmp.Or(row.Path, "replicas"))
		if got := message(Park(ofWeb(), obj, path, cmp.Or(row.Unit, "pod"), "bob", "", time.Now())); got != row.Park {
			t.Errorf("Park: %q, want %q", got, row.Park)
		}
		if got := message(Unpark(ofWeb(), obj, []string{".spec.replicas"})); got != row.Unpark {
			t.Errorf("Unpark: %q, want %q", got, row.Unpark)
		}
	})
}

// A plan is made for the object that was read before. The error explains why a write was rejected.
func TestPark(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	target := ofWeb()
	target.Object = s.put(deployment(3))
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "web", nil)
	s.Fail(apiserver.On("patch", "deployments"), apiserver.Fault{Err: invalid, Times: 1})
	p, w, err := send(t, s, target, parkWeb, edit.Options{})
	if err == nil || !strings.Contains(err.Error(), "rejects a change of .spec.replicas to zero") || s.count(target) != 3 {
		t.Errorf("rejected patch: plan %+v, written %+v, error %v", p, w, err)
	}
	s.Forget()
	p, w, err = send(t, s, target, parkWeb, edit.Options{FieldManager: kinds.FieldManager, DryRun: []string{metav1.DryRunAll}})
	if err != nil || p.Before != 3 || w.Object == nil || s.sent() != "patch" {
		t.Errorf("dry run with an object that was read before: plan %+v, error %v, requests %q", p, err, s.sent())
	}
	if options := s.options(); options != kinds.FieldManager+" All" {
		t.Errorf("patch options = %q, want %q", options, kinds.FieldManager+" All")
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	kind, web := schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupResource{Group: "apps", Resource: "deployments"}
	invalid := apierrors.NewInvalid(kind, "web", field.ErrorList{field.Invalid(field.NewPath("spec", "replicas"), 0, "should be\x1b[2J 1")})
	webhook := apierrors.NewForbidden(web, "web", errors.New(`admission webhook "a" denied the request: no`))
	forbidden, notFound := apierrors.NewForbidden(web, "web", errors.New("no")), apierrors.NewNotFound(web, "web")
	noStatus := errors.New("the server denied the request")
	const zero = "deployment/web cannot be parked: the server rejects a change of .spec.replicas to zero: "
	for _, test := range []struct {
		what  string
		after int32
		err   error
		want  string
	}{
		{"an invalid count", 0, invalid, zero + `Deployment.apps "web" is invalid: spec.replicas: Invalid value: 0: should be`},
		{"a denial by a webhook", 0, webhook, zero},
		{"no permission", 0, forbidden, forbidden.Error()},
		{"an error without an API status", 0, noStatus, noStatus.Error()},
		{"an invalid count while restoring", 5, invalid, invalid.Error()},
		{"a missing object", 0, notFound, notFound.Error()},
	} {
		err := ParkPlan{After: test.after, path: specReplicas()}.Refusal(ofWeb(), test.err)
		if !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "\x1b") && strings.HasPrefix(err.Error(), zero) {
			t.Errorf("%s: Refusal = %v, want prefix %q", test.what, err, test.want)
		}
	}
	if err := (ParkPlan{}).Refusal(ofWeb(), nil); err != nil {
		t.Errorf("Refusal(nil) = %v", err)
	}
}
