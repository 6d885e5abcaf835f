package replicas

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// draw queues random writes by other clients to the Deployment web, one before each later request.
func (s *shelf) draw(t *rapid.T) {
	for range rapid.IntRange(0, 6).Draw(t, "others") {
		switch rapid.IntRange(0, 2).Draw(t, "act") {
		case 0:
			s.others = append(s.others, func() {})
		case 1:
			s.others = append(s.others, s.noted(ofWeb()))
		case 2:
			s.others = append(s.others, s.scaled(ofWeb(), rapid.Int64Range(0, 9).Draw(t, "count")))
		}
	}
}

// countIn returns .spec.replicas of an object.
func countIn(obj *unstructured.Unstructured) int64 {
	n, _, _ := specReplicas().Get(obj.Object)
	return n
}

// A step is made only from the planned count, even if other clients write between requests.
func TestStepNeverOverwrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		from := rapid.Int32Range(0, 9).Draw(r, "from")
		s := newShelf(t)
		s.put(deployment(int64(from)))
		s.draw(r)
		field := discover.Field{Scale: rapid.Bool().Draw(r, "scale"), Path: new(specReplicas())}
		_, err := Set(t.Context(), ofWeb().Resource(s.objects), ofWeb(), field, Request{Replicas: 20, Current: from})
		switch {
		case err == nil && (len(s.writes) != 1 || s.count(ofWeb()) != 20):
			r.Fatalf("%d writes left %d", len(s.writes), s.count(ofWeb()))
		case err != nil && (len(s.writes) > 0 || !errors.Is(err, outcome.ErrPrecondition)):
			r.Fatalf("%d writes, and the error %v", len(s.writes), err)
		}
		for _, w := range s.writes {
			if n := countIn(w.Before); n != int64(from) {
				r.Fatalf("a step from %d overwrote %d", from, n)
			}
		}
	})
}

// park saves exactly the count that its write replaces, and unpark changes only a count of zero, even if
// other clients write between requests.
func TestParkingNeverOverwrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s := newShelf(t)
		s.put(deployment(rapid.Int64Range(0, 9).Draw(r, "count")))
		for range rapid.IntRange(1, 5).Draw(r, "commands") {
			s.draw(r)
			plan := parkIt
			if rapid.Bool().Draw(r, "back") {
				plan = unparkIt
			}
			_, _, err := Send(t.Context(), ofWeb().Resource(s.objects), ofWeb(), plan, edit.Options{})
			if err != nil && !errors.Is(err, outcome.ErrOverwritten) {
				r.Fatal(err)
			}
			s.others = nil
		}
		for _, w := range s.writes {
			was, err := apis.ReadParked(w.Before.GetAnnotations())
			if err != nil {
				r.Fatal(err)
			}
			is, err := apis.ReadParked(w.After.GetAnnotations())
			if err != nil {
				r.Fatal(err)
			}
			before, after := countIn(w.Before), countIn(w.After)
			parks := was == nil && is != nil && after == 0 && int64(is.Replicas) == before
			restores := was != nil && is == nil && before == 0 && int64(was.Replicas) == after
			if !parks && !restores {
				r.Fatalf("a write made of %d (%v) %d (%v)", before, was, after, is)
			}
		}
	})
}

func TestParkAndUnparkIsTheIdentity(t *testing.T) {
	t.Parallel()
	for _, annotations := range []map[string]string{nil, {}, {"note": "kept", "a/b": "d"}} {
		s := newShelf(t)
		s.put(deployment(5))
		objects := ofWeb().Resource(s.objects)
		s.Update("deployments", "shop", "web", func(obj *unstructured.Unstructured) { obj.SetAnnotations(annotations) })
		before := s.stored(ofWeb())
		done, parked, err := Send(t.Context(), objects, ofWeb(), parkIt, edit.Options{})
		if err != nil || done.Before != 5 || done.After != 0 || s.count(ofWeb()) != 0 {
			t.Fatalf("%+v left %d (%v)", done, s.count(ofWeb()), err)
		}
		if got, want := parked.Object.GetAnnotations()[apis.AnnotationParked], `{"replicas":5,"path":".spec.replicas","by":"alice","at":"2001-09-09T01:46:40Z"}`; got != want {
			t.Errorf("the annotation is %s, want %s", got, want)
		}
		again, _, err := Send(t.Context(), objects, ofWeb(), func(obj *unstructured.Unstructured) (ParkPlan, error) {
			return Park(ofWeb(), obj, specReplicas(), "bob", "", time.Unix(1e9+3*3600, 0))
		}, edit.Options{})
		if err != nil || again.Kept != "already parked by alice 3h ago (5 replicas)" {
			t.Errorf("parked again: %+v (%v)", again, err)
		}
		if done, _, err = Send(t.Context(), objects, ofWeb(), unparkIt, edit.Options{}); err != nil || done.Before != 0 || done.After != 5 {
			t.Fatalf("%+v (%v)", done, err)
		}
		after := s.stored(ofWeb())
		for _, obj := range []*unstructured.Unstructured{before, after} {
			obj.SetResourceVersion("")
			obj.SetGeneration(0)
			obj.SetManagedFields(nil)
			if len(obj.GetAnnotations()) == 0 {
				obj.SetAnnotations(nil)
			}
		}
		if !reflect.DeepEqual(before.Object, after.Object) {
			t.Errorf("it was %v and is %v", before.Object, after.Object)
		}
		if done, _, err = Send(t.Context(), objects, ofWeb(), unparkIt, edit.Options{}); err != nil || done.Kept != "not parked" {
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
		obj := parse(t, deployment(test.count))
		if test.annotation != "" {
			obj.SetAnnotations(map[string]string{apis.AnnotationParked: test.annotation})
		}
		said := func(err error) string {
			if err == nil {
				return ""
			}
			return told(err)
		}
		if _, err := Park(ofWeb(), obj, test.path, "bob", "", time.Now()); said(err) != test.park {
			t.Errorf("%s: to park it: %q, want %q", test.what, said(err), test.park)
		}
		if _, err := Unpark(ofWeb(), obj, []string{".spec.replicas"}); said(err) != test.back {
			t.Errorf("%s: to restore it: %q, want %q", test.what, said(err), test.back)
		}
	}
}
