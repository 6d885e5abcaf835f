package replicas

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
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
	"pgregory.net/rapid"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// server contains one object. It lets other clients write before each request.
type server struct {
	dynamic.ResourceInterface

	obj *unstructured.Unstructured
	// refuses contains errors by request. A request is "get", "get scale", or "patch scale", for
	// example.
	refuses map[string]error
	// sent lists the requests, and options are the options of the last patch.
	sent    []string
	options metav1.PatchOptions
	// others contains writes of other clients. The server executes one of them before each request.
	others []func()
	// wrote is called with the object before and after each write.
	wrote func(before, after *unstructured.Unstructured)
}

func newServer(count int64) *server {
	s := &server{obj: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "namespace": "shop", "uid": "uid", "resourceVersion": "1"},
		"spec":     map[string]any{"replicas": count, "paused": false},
	}}}
	return s
}

func (s *server) target() observe.Target {
	deployment := kinds.Kind{Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Kind: "Deployment", Singular: "deployment"}
	return observe.Target{Kind: deployment, Namespace: "shop", Name: "web"}
}

func (s *server) asked(verb string, subresources []string) error {
	if len(s.others) > 0 {
		act := s.others[0]
		s.others = s.others[1:]
		act()
	}
	request := strings.TrimSuffix(verb+" "+strings.Join(subresources, " "), " ")
	s.sent = append(s.sent, request)
	return s.refuses[request]
}

func (s *server) store(obj *unstructured.Unstructured) {
	version, _ := strconv.Atoi(s.obj.GetResourceVersion())
	obj.SetResourceVersion(strconv.Itoa(version + 1))
	s.obj = obj
}

func (s *server) count() int64 {
	n, _, _ := unstructured.NestedInt64(s.obj.Object, "spec", "replicas")
	return n
}

// scaled returns a function that sets the count as another client.
func (s *server) scaled(count int64) func() {
	return func() {
		obj := s.obj.DeepCopy()
		_ = unstructured.SetNestedField(obj.Object, count, "spec", "replicas")
		s.store(obj)
	}
}

// noted changes another field as another client.
func (s *server) noted() {
	obj := s.obj.DeepCopy()
	_ = unstructured.SetNestedField(obj.Object, "x", "metadata", "labels", "note")
	s.store(obj)
}

func (s *server) scale(obj *unstructured.Unstructured) *unstructured.Unstructured {
	n, _, _ := unstructured.NestedInt64(obj.Object, "spec", "replicas")
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": obj.GetName(), "uid": "uid", "resourceVersion": obj.GetResourceVersion()}, "spec": map[string]any{"replicas": n},
	}}
}

func (s *server) Get(_ context.Context, _ string, _ metav1.GetOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if err := s.asked("get", subresources); err != nil {
		return nil, err
	}
	if len(subresources) > 0 {
		return s.scale(s.obj), nil
	}
	return s.obj.DeepCopy(), nil
}

func (s *server) Patch(_ context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	s.options = options
	if err := s.asked("patch", subresources); err != nil {
		return nil, err
	}
	before, err := json.Marshal(s.obj)
	if err != nil {
		return nil, err
	}
	var after []byte
	if kind == types.JSONPatchType {
		var patch jsonpatch.Patch
		if patch, err = jsonpatch.DecodePatch(data); err == nil {
			after, err = patch.Apply(before)
		}
	} else {
		after, err = jsonpatch.MergePatch(before, data)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	obj := &unstructured.Unstructured{}
	if err := json.Unmarshal(after, obj); err != nil {
		return nil, err
	}
	if obj.GetResourceVersion() != s.obj.GetResourceVersion() {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, name, errors.New("it has changed"))
	}
	old := s.obj
	s.store(obj)
	if s.wrote != nil {
		s.wrote(old, obj)
	}
	if len(subresources) > 0 {
		return s.scale(obj), nil
	}
	return obj.DeepCopy(), nil
}

// draw adds random writes of other clients, one before each of the next requests.
func (s *server) draw(t *rapid.T) {
	for range rapid.IntRange(0, 6).Draw(t, "others") {
		switch rapid.IntRange(0, 2).Draw(t, "act") {
		case 0:
			s.others = append(s.others, func() {})
		case 1:
			s.others = append(s.others, s.noted)
		case 2:
			s.others = append(s.others, s.scaled(rapid.Int64Range(0, 9).Draw(t, "count")))
		}
	}
}

// A step is made only from the planned count, even if other clients write between requests.
func TestStepNeverOverwrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.Int64Range(0, 9).Draw(t, "from")
		s := newServer(from)
		s.draw(t)
		path := specReplicas()
		field := discover.Field{Scale: rapid.Bool().Draw(t, "scale"), Path: &path}
		writes := 0
		s.wrote = func(before, _ *unstructured.Unstructured) {
			writes++
			if n, _, _ := path.Get(before.Object); n != from {
				t.Fatalf("a step from %d overwrote %d", from, n)
			}
		}
		_, err := Set(t.Context(), s, s.target(), field, Request{Replicas: 20, Current: int32(from)})
		switch {
		case err == nil && (writes != 1 || s.count() != 20):
			t.Fatalf("%d writes left %d", writes, s.count())
		case err != nil && (writes != 0 || !errors.Is(err, outcome.ErrPrecondition)):
			t.Fatalf("%d writes, and the error %v", writes, err)
		}
	})
}

// park saves exactly the count that its write replaces, and unpark changes only a count of zero, even if
// other clients write between requests.
func TestParkingNeverOverwrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newServer(rapid.Int64Range(0, 9).Draw(t, "count"))
		path := specReplicas()
		at := func(obj *unstructured.Unstructured) int64 { n, _, _ := path.Get(obj.Object); return n }
		s.wrote = func(before, after *unstructured.Unstructured) {
			was, err := apis.ReadParked(before.GetAnnotations())
			if err != nil {
				t.Fatal(err)
			}
			is, err := apis.ReadParked(after.GetAnnotations())
			if err != nil {
				t.Fatal(err)
			}
			parks := was == nil && is != nil && at(after) == 0 && int64(is.Replicas) == at(before)
			restores := was != nil && is == nil && at(before) == 0 && int64(was.Replicas) == at(after)
			if !parks && !restores {
				t.Fatalf("a write made of %d (%v) %d (%v)", at(before), was, at(after), is)
			}
		}
		for range rapid.IntRange(1, 5).Draw(t, "commands") {
			s.draw(t)
			plan := parkIt(s)
			if rapid.Bool().Draw(t, "back") {
				plan = unparkIt(s)
			}
			if _, _, err := Send(t.Context(), s, s.target(), plan, edit.Options{}); err != nil && !errors.Is(err, outcome.ErrOverwritten) {
				t.Fatal(err)
			}
			s.others = nil
		}
	})
}

func TestParkAndUnparkIsTheIdentity(t *testing.T) {
	t.Parallel()
	for _, annotations := range []map[string]string{nil, {}, {"note": "kept", "a/b~c": "d"}} {
		s := newServer(5)
		s.obj.SetAnnotations(annotations)
		before := s.obj.DeepCopy()
		done, parked, err := Send(t.Context(), s, s.target(), parkIt(s), edit.Options{})
		if err != nil || done.Before != 5 || done.After != 0 || s.count() != 0 {
			t.Fatalf("%+v left %d (%v)", done, s.count(), err)
		}
		if got, want := parked.Object.GetAnnotations()[apis.AnnotationParked], `{"replicas":5,"path":".spec.replicas","by":"alice","at":"2001-09-09T01:46:40Z"}`; got != want {
			t.Errorf("the annotation is %s, want %s", got, want)
		}
		again, _, err := Send(t.Context(), s, s.target(), func(obj *unstructured.Unstructured) (ParkPlan, error) {
			return Park(s.target(), obj, specReplicas(), "bob", "", time.Unix(1e9+3*3600, 0))
		}, edit.Options{})
		if err != nil || again.Kept != "already parked by alice 3h ago (5 replicas)" {
			t.Errorf("parked again: %+v (%v)", again, err)
		}
		if done, _, err = Send(t.Context(), s, s.target(), unparkIt(s), edit.Options{}); err != nil || done.Before != 0 || done.After != 5 {
			t.Fatalf("%+v (%v)", done, err)
		}
		after := s.obj.DeepCopy()
		for _, obj := range []*unstructured.Unstructured{before, after} {
			obj.SetResourceVersion("")
			if len(obj.GetAnnotations()) == 0 {
				obj.SetAnnotations(nil)
			}
		}
		if !reflect.DeepEqual(before.Object, after.Object) {
			t.Errorf("it was %v and is %v", before.Object, after.Object)
		}
		if done, _, err = Send(t.Context(), s, s.target(), unparkIt(s), edit.Options{}); err != nil || done.Kept != "not parked" {
			t.Errorf("restored again: %+v (%v)", done, err)
		}
	}
}

// If an object cannot be parked or restored, the error contains the command to run next.
func TestParkRefuses(t *testing.T) {
	t.Parallel()
	const (
		forget = "kubectl annotate deployments.apps/web -n shop imoocpod.dev/parked-" + pasted
		since  = "overwritten: deployment/web was parked with 5 replicas and has been scaled to 3 since\nhint: to keep the count as it is: " + forget +
			"\nhint: to set it back after that: kubectl imoocpod scale deployments.apps/web -n shop --replicas 5" + pasted
		invalid = "deployment/web: the annotation imoocpod.dev/parked is invalid: "
		gone    = "overwritten: deployment/web was parked with 5 replicas and has changed since: precondition not met: expected the replicas of deployment/web to be set, but .spec.size is not set" +
			"\nhint: to keep the count as it is: " + forget +
			"\nhint: to set it back after that: kubectl imoocpod scale deployments.apps/web -n shop --replicas 5 --replicas-path .spec.size" + pasted
	)
	path, other := specReplicas(), fieldpath.Fields("spec", "more")
	for _, test := range []struct {
		what       string
		count      int64
		annotation string
		path       fieldpath.Path
		park, back string // the errors of park and unpark
	}{
		{"scaled since", 3, `{"replicas":5,"path":".spec.replicas","by":"alice"}`, path, since, since},
		{"nonsense", 0, `5`, path,
			invalid + "json: cannot unmarshal number into Go value of type apis.ParkedCount\nhint: to forget it: " + forget,
			invalid + "json: cannot unmarshal number into Go value of type apis.ParkedCount\nhint: to forget it: " + forget},
		{"no count", 0, `{"replicas":-5,"path":".spec.replicas"}`, path,
			invalid + "it needs a positive number of replicas and a path\nhint: to forget it: " + forget,
			invalid + "it needs a positive number of replicas and a path\nhint: to forget it: " + forget},
		{"a field that is not there", 0, `{"replicas":5,"path":".spec.size"}`, path, gone, gone},
		{"another count", 0, `{"replicas":5,"path":".spec.replicas"}`, other, "deployment/web cannot be parked: it is parked already, by its count .spec.replicas", ""},
		{"no field", 3, "", other, "precondition not met: expected the replicas of deployment/web to be set, but .spec.more is not set", ""},
	} {
		s := newServer(test.count)
		if test.annotation != "" {
			s.obj.SetAnnotations(map[string]string{apis.AnnotationParked: test.annotation})
		}
		said := func(err error) string {
			if err == nil {
				return ""
			}
			return told(err)
		}
		if _, err := Park(s.target(), s.obj, test.path, "bob", "", time.Now()); said(err) != test.park {
			t.Errorf("%s: to park it: %q, want %q", test.what, said(err), test.park)
		}
		if _, err := Unpark(s.target(), s.obj, []string{".spec.replicas"}); said(err) != test.back {
			t.Errorf("%s: to restore it: %q, want %q", test.what, said(err), test.back)
		}
	}
}
