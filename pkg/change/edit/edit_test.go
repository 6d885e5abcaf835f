package edit

import (
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// serve returns a server with the Deployment web, which has three replicas.
func serve(t *testing.T) (*apiserver.Server, dynamic.ResourceInterface) {
	t.Helper()
	s := apiserver.New(t)
	s.CreateYAML(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: ns}, spec: {replicas: 3, selector: {matchLabels: {app: web}},
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: web}]}}}}`)
	client, err := dynamic.NewForConfig(s.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return s, client.Resource(appsv1.SchemeGroupVersion.WithResource("deployments")).Namespace("ns")
}

// scale plans to set 5 replicas, and an annotation as a mark.
func scale(*unstructured.Unstructured) (Plan, error) {
	return Plan{
		Edits: []fieldpath.Edit{{Path: fieldpath.Fields("spec", "replicas"), Value: int64(5)}},
		Marks: []fieldpath.Edit{{Path: fieldpath.Fields("metadata", "annotations", "note"), Value: "scaled"}},
	}, nil
}

func shown(obj *unstructured.Unstructured) string {
	n, _, _ := unstructured.NestedInt64(obj.Object, "spec", "replicas")
	return fmt.Sprint(n, " ", obj.GetAnnotations()["note"])
}

// A dry run returns the change, but does not store it. A client-side dry run sends no requests if the
// object has been read before.
func TestApply(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		options Options
		stored  string
		sent    int
	}{
		"a change":              {Options{FieldManager: "tests"}, "5 scaled", 1},
		"a dry run":             {Options{FieldManager: "tests", DryRun: []string{metav1.DryRunAll}}, "3 ", 1},
		"a client-side dry run": {Options{Local: true}, "3 ", 0},
	} {
		s, objects := serve(t)
		seen := s.Get("deployments", "ns", "web")
		w, err := Apply(t.Context(), objects, "web", seen, scale, test.options)
		if err != nil || shown(w.Object) != "5 scaled" || shown(s.Get("deployments", "ns", "web")) != test.stored || shown(seen) != "3 " {
			t.Errorf("%s: result %+v, error %v; want 5 replicas and a note in the result, and %q stored", what, w, err, test.stored)
		}
		if len(w.Fields) != 1 || w.Fields[0].Before != int64(3) || w.Fields[0].After != int64(5) {
			t.Errorf("%s: changed fields = %+v, want replicas 3 → 5", what, w.Fields)
		}
		sent := s.Requests(nil)
		if len(sent) != test.sent {
			t.Errorf("%s: sent %v, want %d requests", what, sent, test.sent)
		}
		for _, r := range sent {
			if r.Verb != "patch" || r.Query.Get("fieldManager") != "tests" || r.Query.Get("fieldValidation") != metav1.FieldValidationStrict || len(r.Query["dryRun"]) != len(test.options.DryRun) {
				t.Errorf("%s: request %s with the query %v, want a strict patch by the field manager tests, dryRun %v", what, r, r.Query, test.options.DryRun)
			}
		}
	}
	if _, err := Apply(t.Context(), nil, "web", parse(t, "metadata: odd"), scale, Options{Local: true}); err == nil {
		t.Error("Apply accepted an object whose metadata is a string")
	}
}

// If another client writes between the read and the write of Apply, Apply plans again, and overwrites nothing.
func TestApplyAgain(t *testing.T) {
	t.Parallel()
	most := maxTries
	for _, test := range []struct {
		others, patches int
		conflict        bool
	}{{0, 1, false}, {1, 2, false}, {most - 1, most, false}, {most, most, true}, {most + 5, most, true}} {
		s, objects := serve(t)
		seen := s.Get("deployments", "ns", "web")
		others, planned := 0, 0
		s.Fail(apiserver.On("patch", "deployments"), apiserver.Fault{Before: func() {
			if others++; others <= test.others {
				s.Update("deployments", "ns", "web", func(obj *unstructured.Unstructured) { obj.SetLabels(map[string]string{"others": fmt.Sprint(others)}) })
			}
		}})
		_, err := Apply(t.Context(), objects, "web", seen, func(obj *unstructured.Unstructured) (Plan, error) {
			if planned++; planned > 1 && obj.GetLabels()["others"] != fmt.Sprint(others) {
				t.Errorf("the retry is planned for an outdated object: %v", obj)
			}
			return scale(obj)
		}, Options{})
		gets, patches := len(s.Requests(apiserver.On("get", "deployments"))), len(s.Requests(apiserver.On("patch", "deployments")))
		if apierrors.IsConflict(err) != test.conflict || !test.conflict && err != nil || patches != test.patches || planned != patches || gets != patches-1 {
			t.Errorf("%d concurrent changes: %d reads, %d patches, error %v; want %d patches, conflict %t", test.others, gets, patches, err, test.patches, test.conflict)
		}
		if kept := s.Get("deployments", "ns", "web").GetLabels()["others"] != ""; kept != (test.others > 0) {
			t.Errorf("%d concurrent changes: label of the other client kept = %t", test.others, kept)
		}
	}
}

// If another client has already removed a field, a patch that removes it fails, and Apply plans again.
func TestApplyAfterRemoval(t *testing.T) {
	t.Parallel()
	s, objects := serve(t)
	s.Update("deployments", "ns", "web", func(obj *unstructured.Unstructured) { obj.SetAnnotations(map[string]string{"note": "scaled"}) })
	seen := s.Get("deployments", "ns", "web")
	s.Update("deployments", "ns", "web", func(obj *unstructured.Unstructured) { obj.SetAnnotations(nil) })
	_, err := Apply(t.Context(), objects, "web", seen, func(*unstructured.Unstructured) (Plan, error) {
		return Plan{Edits: []fieldpath.Edit{fieldpath.Annotate("note", "")}}, nil
	}, Options{})
	if patches := len(s.Requests(apiserver.On("patch", "deployments"))); err != nil || patches != 2 {
		t.Errorf("%d patches, error %v; want 2 patches and no error", patches, err)
	}
}

// Apply does not retry a patch with an unknown field. Unlike the error for a missing field, this error names a cause.
func TestApplyUnknownField(t *testing.T) {
	t.Parallel()
	s, objects := serve(t)
	unknown := field.Invalid(field.NewPath("patch"), "{}", `strict decoding error: unknown field "spec.size"`)
	s.Fail(apiserver.On("patch", "deployments"), apiserver.Fault{Err: apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{unknown})})
	_, err := Apply(t.Context(), objects, "web", nil, scale, Options{})
	if patches := len(s.Requests(apiserver.On("patch", "deployments"))); !apierrors.IsInvalid(err) || patches != 1 {
		t.Errorf("%d patches, error %v; want 1 patch and an Invalid error", patches, err)
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	edits := []fieldpath.Edit{{Path: fieldpath.Fields("spec", "size"), Value: int64(5)}, {Path: fieldpath.Fields("spec", "image"), Value: "b"}}
	for after, want := range map[string]error{
		"{metadata: {uid: a}, spec: {size: 5, image: b}}": nil,
		"{metadata: {uid: a}, spec: {size: 5, image: c}}": nil, // a webhook may set another image
		"{metadata: {uid: a}, spec: {size: 5, image: a}}": outcome.ErrOverwritten,
		"{metadata: {uid: a}, spec: {size: 4, image: b}}": outcome.ErrOverwritten,
		"{metadata: {uid: a}, spec: {size: 3, image: b}}": outcome.ErrOverwritten,
		"{metadata: {uid: b}, spec: {size: 5, image: b}}": outcome.ErrUnknown,
	} {
		w := Written{Object: parse(t, after)}
		if err := w.record(parse(t, "{metadata: {uid: a}, spec: {size: 3, image: a}}"), edits); !errors.Is(err, want) {
			t.Errorf("record after %s: error %v, want %v", after, err, want)
		}
	}
}
