package replicas

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

var web = schema.GroupResource{Group: "apps", Resource: "deployments"}

// notFound returns the server's error for a missing object and for a missing subresource.
func notFound() error { return apierrors.NewNotFound(web, "web") }

func forbidden() error { return apierrors.NewForbidden(web, "web", errors.New("no")) }

func conflict() error { return apierrors.NewConflict(web, "web", errors.New("it has changed")) }

// Set tries several requests in order. Each test case lists the sent requests and the result.
func TestSetAsksInTurn(t *testing.T) {
	t.Parallel()
	path := specReplicas()
	throughScale, inField := discover.Field{Scale: true, Path: &path}, discover.Field{Path: &path}
	internal := apierrors.NewInternalError(errors.New("the count is not set"))
	theirs, ours := ofWeb(), ofFoo()
	read, theirsRead := ofFoo(), ofWeb() // the test sets the objects
	read.Object, theirsRead.Object = &unstructured.Unstructured{}, &unstructured.Unstructured{}
	again := func(requests string) string {
		return strings.TrimSuffix(strings.Repeat(requests+", ", edit.Contested().Steps), ", ")
	}
	for _, test := range []struct {
		what    string
		target  observe.Target
		field   discover.Field
		request Request
		refuses map[string]error
		sent    string
		want    string // description of the change, or "" if it was rejected
		is      func(error) bool
	}{
		{"through /scale", theirs, throughScale, Request{Replicas: 5, Current: AnyCount}, nil, "patch scale", "set to 5", nil},
		{"through /scale, from a count", theirs, throughScale, Request{Replicas: 5, Current: 3}, nil, "get scale, patch scale", "3 → 5", nil},
		{"in the field", theirs, inField, Request{Replicas: 5, Current: AnyCount}, nil, "get, patch", "3 → 5", nil},
		{"from another count", theirs, throughScale, Request{Replicas: 5, Current: 4}, nil, "get scale", "", is(outcome.ErrPrecondition)},
		{"without the right to /scale", theirs, throughScale, Request{Replicas: 5, Current: AnyCount}, map[string]error{"patch scale": forbidden()}, "patch scale", "", apierrors.IsForbidden},
		{"without the right to read /scale", theirs, throughScale, Request{Replicas: 5, Current: 3}, map[string]error{"get scale": forbidden()}, "get scale", "", apierrors.IsForbidden},
		{"without /scale", theirs, throughScale, Request{Replicas: 5, Current: AnyCount}, map[string]error{"patch scale": notFound()}, "patch scale", "", apierrors.IsNotFound},
		{"without /scale, of a kind that is shipped", ours, throughScale, Request{Replicas: 5, Current: AnyCount}, map[string]error{"patch scale": notFound()}, "patch scale, get, get, patch", "3 → 5", nil},
		{"without /scale to read, of a kind that is shipped", ours, throughScale, Request{Replicas: 5, Current: 3}, map[string]error{"get scale": notFound(), "patch scale": notFound()}, "get scale, get, get, patch", "3 → 5", nil},
		{"without the object, of a kind that is shipped", ours, throughScale, Request{Replicas: 5, Current: AnyCount}, map[string]error{"patch scale": notFound(), "get": notFound()}, "patch scale, get", "", apierrors.IsNotFound},
		{"with what was read", read, throughScale, Request{Replicas: 5, Current: AnyCount}, nil, "patch", "3 → 5", nil},
		{"with what was read, from a count", read, throughScale, Request{Replicas: 5, Current: 3}, nil, "get, patch", "3 → 5", nil},
		{"with what was read, by who may only scale", read, throughScale, Request{Replicas: 5, Current: AnyCount}, map[string]error{"patch": forbidden()}, "patch, patch scale", "3 → 5", nil},
		{"with what was read, from a count, by who may only scale", read, throughScale, Request{Replicas: 5, Current: 3}, map[string]error{"patch": forbidden()}, "get, patch, get scale, patch scale", "3 → 5", nil},
		{"with what was read, without any right", read, throughScale, Request{Replicas: 5, Current: AnyCount}, map[string]error{"patch": forbidden(), "patch scale": forbidden()}, "patch, patch scale", "", apierrors.IsForbidden},
		{"with what was read, in the field alone", read, inField, Request{Replicas: 5, Current: AnyCount}, map[string]error{"patch": forbidden()}, "patch", "", apierrors.IsForbidden},
		{"with what was read, while the server fails", read, throughScale, Request{Replicas: 5, Current: AnyCount}, map[string]error{"patch": internal}, "patch", "", apierrors.IsInternalError},
		{"from a count that is not set behind /scale", theirs, throughScale, Request{Replicas: 5, Current: 3}, map[string]error{"get scale": internal}, "get scale, get", "", apierrors.IsInternalError},
		{"undo, without a field", read, discover.Field{Scale: true}, Request{Undo: true, Current: AnyCount}, nil, "", "", is(outcome.ErrPrecondition)},
		{"with what was read, without a field", read, discover.Field{Scale: true}, Request{Replicas: 5, Current: AnyCount}, nil, "patch scale", "set to 5", nil},
		{"with what was read, of others", theirsRead, throughScale, Request{Replicas: 5, Current: AnyCount}, nil, "patch scale", "3 → 5", nil},
		{"in the field, of an object that was not read", ours, inField, Request{Replicas: 5, Current: AnyCount}, nil, "get, patch", "3 → 5", nil},
		{"through /scale, of an object that was not read", ours, throughScale, Request{Replicas: 5, Current: AnyCount}, nil, "patch scale", "set to 5", nil},
		{"of the version, through /scale", theirs, throughScale, Request{Replicas: 5, Current: 3, ResourceVersion: "its"}, nil, "get scale, patch scale", "3 → 5", nil},
		{"of the version, in the field", theirs, inField, Request{Replicas: 5, Current: 3, ResourceVersion: "its"}, nil, "get, patch", "3 → 5", nil},
		{"of another version, through /scale", theirs, throughScale, Request{Replicas: 5, Current: 3, ResourceVersion: "1"}, nil, "get scale, patch scale", "", apierrors.IsConflict},
		{"of another version, in the field", theirs, inField, Request{Replicas: 5, Current: 3, ResourceVersion: "1"}, nil, "get", "", is(outcome.ErrPrecondition)},
		{"while others write, through /scale", theirs, throughScale, Request{Replicas: 5, Current: AnyCount}, map[string]error{"patch scale": conflict()}, again("patch scale"), "", apierrors.IsConflict},
		{"while others write, in the field", theirs, inField, Request{Replicas: 5, Current: AnyCount}, map[string]error{"patch": conflict()}, again("get, patch"), "", apierrors.IsConflict},
		{"while others write, of the version", theirs, throughScale, Request{Replicas: 5, Current: AnyCount, ResourceVersion: "its"}, map[string]error{"patch scale": conflict()}, "patch scale", "", apierrors.IsConflict},
		{"undo, of an object that was not read", ours, throughScale, Request{Undo: true, Current: AnyCount}, nil, "get", "", is(outcome.ErrPrecondition)},
	} {
		for _, dryRun := range [][]string{nil, {metav1.DryRunAll}} {
			s := newShelf(t)
			s.three(test.target)
			s.refuse(test.target, test.refuses)
			target, request := test.target, test.request
			if target.Object != nil {
				target.Object = s.stored(target)
			}
			if request.ResourceVersion == "its" {
				request.ResourceVersion = s.stored(target).GetResourceVersion()
			}
			request.DryRun = dryRun
			done, err := Set(t.Context(), target.Resource(s.objects), target, test.field, request)
			if sent := s.sent(); sent != test.sent {
				t.Errorf("%s: it sends %q, want %q", test.what, sent, test.sent)
			}
			if test.want != "" && (err != nil || done.String() != test.want) || test.want == "" && (err == nil || !test.is(err)) {
				t.Errorf("%s: %s, %v", test.what, done, err)
			}
			count := int64(3)
			if err == nil && dryRun == nil {
				count = 5
			}
			if s.count(target) != count {
				t.Errorf("%s: the count is %d, want %d", test.what, s.count(target), count)
			}
			if err == nil && (done.UID != s.stored(target).GetUID() || s.options() != kinds.FieldManager+" "+strings.Join(dryRun, "")) {
				t.Errorf("%s: the UID is %s, and the options are %q", test.what, done.UID, s.options())
			}
			// The previous count is recorded only for kinds that run-controller reconciles, and only if the
			// object itself is patched and not its /scale.
			records := count == 5 && target.Kind.Reconciled() && !strings.HasSuffix(test.sent, "scale")
			if recorded := len(s.stored(target).GetAnnotations()) > 0; recorded != records {
				t.Errorf("%s: the annotations are %v", test.what, s.stored(target).GetAnnotations())
			}
		}
	}
}

// three creates a Deployment or an ImoocPod with three replicas.
func (s *shelf) three(of observe.Target) {
	if of.Kind.Reconciled() {
		s.CreateCRDs()
		s.put(imoocPod(3))
	} else {
		s.put(deployment(3))
	}
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func TestSetRefuses(t *testing.T) {
	t.Parallel()
	path, more := specReplicas(), fieldpath.Fields("spec", "more")
	three, by := Request{Replicas: 5, Current: 3}, Request{By: change(t, "-3"), Current: AnyCount}
	const deleted = "{name: web, deletionTimestamp: '2001-01-01T00:00:00Z'}"
	for _, test := range []struct {
		what, metadata, spec string
		path                 fieldpath.Path
		request              Request
		want                 string
	}{
		{"an object that is being deleted", deleted, "{replicas: 3}", path, three, "cloneset/web is being deleted and cannot be scaled"},
		{"a count that is not set", "{name: web}", "{replicas: 3}", more, three, "precondition not met: expected the replicas of cloneset/web to be 3, but .spec.more is not set"},
		{"a change of a count that is not set", "{name: web}", "{replicas: 3}", more, by, "precondition not met: expected the replicas of cloneset/web to be set, but .spec.more is not set"},
		{"a count that is none", "{name: web}", "{replicas: many}", path, three, "cloneset/web: "},
		{"a change below zero", "{name: web}", "{replicas: 2}", path, by, "precondition not met: cloneset/web: "},
		{"a field that is not there", "{name: web}", "odd", path, Request{Replicas: 5, Current: AnyCount}, "cloneset/web: "},
	} {
		s := newShelf(t)
		s.CreateYAML(cloneSets)
		s.put("{apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, metadata: " + test.metadata + ", spec: " + test.spec + "}")
		_, err := Set(t.Context(), ofCloneSet().Resource(s.objects), ofCloneSet(), discover.Field{Path: &test.path}, test.request)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) || len(s.writes) > 0 {
			t.Errorf("%s: %v after %d writes, want %s", test.what, err, len(s.writes), test.want)
		}
	}
	// Refuse returns no error if the object was not read or is not being deleted.
	if err := Refuse(ofFoo(), nil); err != nil {
		t.Error(err)
	}
	if err := Refuse(ofFoo(), parse(t, imoocPod(3))); err != nil {
		t.Error(err)
	}
}

func change(t *testing.T, word string) *candidates.CountChange {
	t.Helper()
	c, err := candidates.ParseCountChange(word)
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

// The count is read through /scale or in its field. If a shipped kind has no /scale, the field is read.
func TestCount(t *testing.T) {
	t.Parallel()
	path, more := specReplicas(), fieldpath.Fields("spec", "more")
	internal := apierrors.NewInternalError(errors.New("it is not set"))
	theirs, ours := ofWeb(), ofFoo()
	for _, test := range []struct {
		what    string
		target  observe.Target
		field   discover.Field
		refuses map[string]error
		sent    string
		want    int64 // -1 for an error
		is      func(error) bool
	}{
		{"through /scale", theirs, discover.Field{Scale: true, Path: &path}, nil, "get scale", 3, nil},
		{"in the field", theirs, discover.Field{Path: &path}, nil, "get", 3, nil},
		{"without /scale", theirs, discover.Field{Scale: true, Path: &path}, map[string]error{"get scale": notFound()}, "get scale", -1, apierrors.IsNotFound},
		{"without /scale, of a kind that is shipped", ours, discover.Field{Scale: true, Path: &path}, map[string]error{"get scale": notFound()}, "get scale, get", 3, nil},
		{"without the right to /scale, of a kind that is shipped", ours, discover.Field{Scale: true, Path: &path}, map[string]error{"get scale": forbidden()}, "get scale", -1, apierrors.IsForbidden},
		{"without the object", theirs, discover.Field{Path: &path}, map[string]error{"get": notFound()}, "get", -1, apierrors.IsNotFound},
		{"that is not set", theirs, discover.Field{Path: &more}, nil, "get", -1, says("expected the replicas of deployment/web to be set, but .spec.more is not set")},
		{"that is not set behind /scale", theirs, discover.Field{Scale: true, Path: &more}, map[string]error{"get scale": internal}, "get scale, get", -1, says("but .spec.more is not set")},
		{"that is set, while /scale fails", theirs, discover.Field{Scale: true, Path: &path}, map[string]error{"get scale": internal}, "get scale, get", -1, apierrors.IsInternalError},
		{"of which no field is known, while /scale fails", theirs, discover.Field{Scale: true}, map[string]error{"get scale": internal}, "get scale", -1, apierrors.IsInternalError},
		{"that cannot be read, while /scale fails", theirs, discover.Field{Scale: true, Path: &more}, map[string]error{"get scale": internal, "get": forbidden()}, "get scale, get", -1, apierrors.IsInternalError},
		{"that is none", theirs, discover.Field{Path: new(fieldpath.Fields("spec", "paused"))}, nil, "get", -1, says("deployment/web: ")},
		{"that is none, while /scale fails", theirs, discover.Field{Scale: true, Path: new(fieldpath.Fields("spec", "paused"))}, map[string]error{"get scale": internal}, "get scale, get", -1, apierrors.IsInternalError},
	} {
		s := newShelf(t)
		s.three(test.target)
		s.refuse(test.target, test.refuses)
		n, err := Count(t.Context(), test.target.Resource(s.objects), test.target, test.field)
		if sent := s.sent(); sent != test.sent {
			t.Errorf("%s: it sends %q, want %q", test.what, sent, test.sent)
		}
		if test.want >= 0 && (err != nil || n != test.want) || test.want < 0 && (err == nil || !test.is(err)) {
			t.Errorf("%s: %d, %v", test.what, n, err)
		}
	}
}

func says(words string) func(error) bool {
	return func(err error) bool { return strings.Contains(err.Error(), words) }
}

func TestBefore(t *testing.T) {
	t.Parallel()
	path := specReplicas()
	for value, want := range map[any]string{
		int64(3): "3", int64(0): "0", int64(-1): "-1", int64(math.MaxInt32): fmt.Sprint(math.MaxInt32), int64(math.MinInt32): fmt.Sprint(math.MinInt32),
		int64(math.MaxInt32 + 1): "none", int64(math.MinInt32 - 1): "none", "many": "none", nil: "none",
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
		if value != nil {
			_ = unstructured.SetNestedField(obj.Object, value, "spec", "replicas")
		}
		got := "none"
		if n := Before(obj, &path); n != nil {
			got = fmt.Sprint(*n)
		}
		if got != want {
			t.Errorf("of %v it is %s, want %s", value, got, want)
		}
	}
	if Before(nil, &path) != nil || Before(parse(t, deployment(3)), nil) != nil {
		t.Error("there is a count of nothing")
	}
}

// A request depends on the current count if it compares the count, computes the new count from it, or
// removes pods.
func TestFrom(t *testing.T) {
	t.Parallel()
	target := ofWeb()
	for _, test := range []struct {
		what    string
		request Request
		reads   bool
		now     int64
		want    int32
		refused string
	}{
		{"a count", Request{Replicas: 5, Current: AnyCount}, false, 3, 5, ""},
		{"a count on a condition", Request{Replicas: 5, Current: 3}, true, 3, 5, ""},
		{"a count on a condition of zero", Request{Replicas: 5}, true, 0, 5, ""},
		{"a count on another condition", Request{Replicas: 5, Current: 4}, true, 3, 0, "expected the replicas of deployment/web to be 4, was 3"},
		{"more", Request{By: change(t, "+2"), Current: AnyCount}, true, 3, 5, ""},
		{"fewer than there are", Request{By: change(t, "-4"), Current: AnyCount}, true, 3, 0, "deployment/web: cannot scale by -4"},
		{"without a pod", Request{Remove: []string{"a"}, Current: AnyCount}, true, 3, 2, ""},
		{"without all pods", Request{Remove: []string{"a", "b", "c"}, Current: AnyCount}, true, 3, 0, ""},
		{"without more than there are", Request{Remove: []string{"a", "b"}, Current: AnyCount}, true, 1, 0, "cannot remove 2 pods from deployment/web: its count is 1"},
		{"of as many as there can be", Request{Remove: []string{"a"}, Current: AnyCount}, true, math.MaxInt32, math.MaxInt32 - 1, ""},
		{"of more than there can be", Request{Remove: []string{"a"}, Current: AnyCount}, true, math.MaxInt32 + 1, 0, "its count is 2147483648"},
	} {
		n, err := test.request.From(target, test.now)
		if test.refused == "" && (err != nil || n != test.want) || test.refused != "" && (!errors.Is(err, outcome.ErrPrecondition) || !strings.Contains(err.Error(), test.refused)) {
			t.Errorf("%s: %d, %v", test.what, n, err)
		}
		if got := test.request.ReadsCount(); got != test.reads {
			t.Errorf("%s: it reads the count: %t", test.what, got)
		}
	}
}

func TestNotSet(t *testing.T) {
	t.Parallel()
	path := specReplicas()
	for want, request := range map[string]Request{"to be 3": {Current: 3}, "to be 0": {}, "to be set": {Current: AnyCount}, "to be set ": {By: change(t, "+1"), Current: 3}} {
		err := request.NotSet(ofWeb(), discover.Field{Path: &path})
		if says := "expected the replicas of deployment/web " + strings.TrimSpace(want) + ", but .spec.replicas is not set"; !errors.Is(err, outcome.ErrPrecondition) || !strings.HasSuffix(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
	if err := (Request{}).NotSet(ofWeb(), discover.Field{Scale: true}); !strings.HasSuffix(err.Error(), "but /scale is not set") {
		t.Error(err)
	}
}
