package template

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/revision"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
)

// server has one object, which someone may change before each patch.
type server struct {
	dynamic.ResourceInterface

	obj *unstructured.Unstructured
	// others is how many more patches meet an object that someone else has just changed.
	others  int
	gets    int
	patches int
	options metav1.PatchOptions
	getErr  error
	// patchErr, if set, is the answer to every patch.
	patchErr error
}

func (s *server) Get(context.Context, string, metav1.GetOptions, ...string) (*unstructured.Unstructured, error) {
	s.gets++
	return s.obj.DeepCopy(), s.getErr
}

func (s *server) Patch(_ context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, _ ...string) (*unstructured.Unstructured, error) {
	s.patches++
	s.options = options
	if s.patchErr != nil {
		return nil, s.patchErr
	}
	if s.others > 0 {
		s.others--
		s.obj.SetResourceVersion(s.obj.GetResourceVersion() + "0")
		s.obj.SetLabels(map[string]string{"note": s.obj.GetResourceVersion()})
	}
	before, err := json.Marshal(s.obj)
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(data)
	if err != nil || kind != types.JSONPatchType {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	after, err := patch.Apply(before)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	if err := json.Unmarshal(after, obj); err != nil {
		return nil, err
	}
	if obj.GetResourceVersion() != s.obj.GetResourceVersion() {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, name, errors.New("it has changed"))
	}
	obj.SetResourceVersion(obj.GetResourceVersion() + "1")
	s.obj = obj
	return obj.DeepCopy(), nil
}

// serve returns a server with the Deployment web, which runs an image, and its target.
func serve(t *testing.T, image string) (*server, observe.Target) {
	t.Helper()
	target := targetOf(t, kindOf("apps", "deployments"), fmt.Sprintf("kind: Deployment\napiVersion: apps/v1\nspec: {replicas: 3, template: {spec: {containers: [{name: main, image: %s}]}}}", image))
	target.Object.SetResourceVersion("1")
	return &server{obj: target.Object.DeepCopy()}, target
}

// wanted returns a Want function for a template that runs an image.
func wanted(t *testing.T, image, cause string) func(*unstructured.Unstructured) ([]revision.Field, string, error) {
	t.Helper()
	template := parse(t, fmt.Sprintf("spec: {containers: [{name: main, image: %s}]}", image)).Object
	return func(*unstructured.Unstructured) ([]revision.Field, string, error) {
		return []revision.Field{{Path: fieldpath.Fields("spec", "template"), Value: template}}, cause, nil
	}
}

// imageOf returns the image that an object runs.
func imageOf(obj *unstructured.Unstructured) string {
	containers, _, _ := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
	if len(containers) != 1 {
		return ""
	}
	container, _ := containers[0].(map[string]any)
	image, _ := container["image"].(string)
	return image
}

// Write changes the fields, and records who changed them and why. Everything else stays.
func TestWrite(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what        string
		image       string
		cause, by   string
		annotations map[string]string // before
		want        map[string]string
		change      string
		patches     int
	}{
		{"another image", "b", "", "alice", nil, map[string]string{apis.AnnotationChangeCause: "image a → b", apis.AnnotationChangedBy: "alice"}, "image a → b", 1},
		{"with a cause", "b", "faster", "alice", nil, map[string]string{apis.AnnotationChangeCause: "faster", apis.AnnotationChangedBy: "alice"}, "image a → b", 1},
		{"by somebody who is not known", "b", "", "", map[string]string{"note": "kept", apis.AnnotationChangedBy: "bob", apis.AnnotationChangeCause: "older"},
			map[string]string{"note": "kept", apis.AnnotationChangeCause: "image a → b"}, "image a → b", 1},
		{"the same image", "a", "faster", "alice", map[string]string{apis.AnnotationChangedBy: "bob"}, map[string]string{apis.AnnotationChangedBy: "bob"}, "", 0},
	} {
		for _, read := range []bool{true, false} {
			s, target := serve(t, "a")
			s.obj.SetAnnotations(test.annotations)
			if target.Object = s.obj.DeepCopy(); !read {
				target.Object = nil
			}
			done, err := Write(t.Context(), s, target, Request{Want: wanted(t, test.image, test.cause), By: test.by, Options: edit.Options{FieldManager: "tests"}})
			if err != nil || done.Change != test.change || imageOf(s.obj) != test.image || imageOf(done.Object) != test.image || done.Object.GetResourceVersion() != s.obj.GetResourceVersion() {
				t.Errorf("%s: %+v, %v", test.what, done, err)
			}
			if got := s.obj.GetAnnotations(); fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("%s: the annotations are %v, want %v", test.what, got, test.want)
			}
			if n, _, _ := unstructured.NestedInt64(s.obj.Object, "spec", "replicas"); n != 3 || s.patches != test.patches || (s.gets == 0) != read {
				t.Errorf("%s: %d replicas, after %d reads and %d patches", test.what, n, s.gets, s.patches)
			}
			if len(done.Before) != 1 || len(done.After) != 1 || revision.Change(done.Before, done.After) != test.change {
				t.Errorf("%s: it was %v and is %v", test.what, done.Before, done.After)
			}
		}
	}
}

// The request has the field manager, the dry run, and the field validation.
func TestWriteOptions(t *testing.T) {
	t.Parallel()
	s, target := serve(t, "a")
	if _, err := Write(t.Context(), s, target, Request{Want: wanted(t, "b", ""), Options: edit.Options{FieldManager: "tests", DryRun: []string{metav1.DryRunAll}}}); err != nil {
		t.Fatal(err)
	}
	if s.options.FieldManager != "tests" || !slices.Equal(s.options.DryRun, []string{metav1.DryRunAll}) || s.options.FieldValidation != metav1.FieldValidationStrict {
		t.Errorf("the options are %+v", s.options)
	}
}

// A client-side dry run shows the change and sends nothing.
func TestWriteByTheClient(t *testing.T) {
	t.Parallel()
	s, target := serve(t, "a")
	done, err := Write(t.Context(), s, target, Request{Want: wanted(t, "b", ""), By: "alice", Options: edit.Options{Local: true}})
	if err != nil || imageOf(done.Object) != "b" || done.Object.GetAnnotations()[apis.AnnotationChangedBy] != "alice" || s.patches+s.gets > 0 {
		t.Errorf("%+v, %v, after %d reads and %d patches", done, err, s.gets, s.patches)
	}
	if imageOf(target.Object) != "a" || len(target.Object.GetAnnotations()) > 0 {
		t.Errorf("the object that was read has become %v", target.Object)
	}
	target.Object.Object["metadata"] = "odd"
	if _, err := Write(t.Context(), s, target, Request{Want: wanted(t, "b", ""), Options: edit.Options{Local: true}}); err == nil {
		t.Error("an object whose metadata is a word can be changed")
	}
}

// If someone changes the object in between, the change is computed again and overwrites
// nothing.
func TestWriteAgain(t *testing.T) {
	t.Parallel()
	most := edit.Contested().Steps
	for _, test := range []struct {
		others, patches int
		conflict        bool
	}{{0, 1, false}, {1, 2, false}, {most - 1, most, false}, {most, most, true}, {most + 5, most, true}} {
		s, target := serve(t, "a")
		s.others = test.others
		computed := 0
		want := wanted(t, "b", "")
		_, err := Write(t.Context(), s, target, Request{Want: func(obj *unstructured.Unstructured) ([]revision.Field, string, error) {
			if computed++; computed > 1 && obj.GetLabels()["note"] != s.obj.GetResourceVersion() {
				t.Errorf("it is computed from %v", obj)
			}
			return want(obj)
		}})
		if apierrors.IsConflict(err) != test.conflict || !test.conflict && err != nil || s.patches != test.patches || computed != test.patches || s.gets != test.patches-1 {
			t.Errorf("after %d changes: %d reads, %d patches, %v", test.others, s.gets, s.patches, err)
		}
		if kept := s.obj.GetLabels()["note"] != ""; kept != (test.others > 0) {
			t.Errorf("after %d changes the labels are %v", test.others, s.obj.GetLabels())
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	odd := errors.New("it is odd")
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "web", odd)
	for _, test := range []struct {
		what    string
		change  func(*server, *observe.Target)
		want    func(*unstructured.Unstructured) ([]revision.Field, string, error)
		says    string
		patches int
	}{
		{"an object that is being deleted", func(_ *server, target *observe.Target) {
			target.Object.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1000, 0)})
		}, wanted(t, "b", ""), "deployments/web is being deleted and cannot be changed", 0},
		{"what cannot be computed", func(*server, *observe.Target) {}, func(*unstructured.Unstructured) ([]revision.Field, string, error) { return nil, "", odd }, "it is odd", 0},
		{"an object that cannot be read", func(s *server, target *observe.Target) { s.getErr, target.Object = odd, nil }, wanted(t, "b", ""), "it is odd", 0},
		{"fields that are not there", func(_ *server, target *observe.Target) { target.Object.Object["spec"] = "odd" }, wanted(t, "b", ""), ".spec", 0},
		{"annotations that are none", func(_ *server, target *observe.Target) {
			_ = unstructured.SetNestedField(target.Object.Object, "odd", "metadata", "annotations")
		}, wanted(t, "b", ""), "annotations", 0},
		{"what the server refuses", func(s *server, _ *observe.Target) { s.patchErr = refused }, wanted(t, "b", ""), refused.Error(), 1},
	} {
		s, target := serve(t, "a")
		test.change(s, &target)
		if _, err := Write(t.Context(), s, target, Request{Want: test.want}); err == nil || !strings.Contains(err.Error(), test.says) || s.patches != test.patches {
			t.Errorf("%s: %v after %d patches, want %s", test.what, err, s.patches, test.says)
		}
	}
}
