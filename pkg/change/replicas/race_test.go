package replicas

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// draw queues up to six random actions of another client, one per request: no write, a label, or a new count.
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

func countIn(obj *unstructured.Unstructured) int64 {
	n, _, _ := specReplicas().Get(obj.Object)
	return n
}

// A step replaces only the planned count, even if other clients write between requests.
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
			r.Fatalf("no error, but %d writes and %d replicas; want 1 write and 20 replicas", len(s.writes), s.count(ofWeb()))
		case err != nil && (len(s.writes) > 0 || !errors.Is(err, outcome.ErrPrecondition)):
			r.Fatalf("%d writes and the error %v, want no writes and ErrPrecondition", len(s.writes), err)
		}
		for _, c := range s.writes {
			if n := countIn(c.Before); n != int64(from) {
				r.Fatalf("a step from %d overwrote %d", from, n)
			}
		}
	})
}

// Result.Before of an exact change is the count that the write replaced, even if other clients write before it.
func TestExactChangeReportsReplacedCount(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s := newShelf(t)
		web := ofWeb()
		web.Object = s.put(deployment(rapid.Int64Range(0, 9).Draw(r, "count")))
		s.draw(r)
		field := discover.Field{Scale: rapid.Bool().Draw(r, "scale"), Path: new(specReplicas())}
		done, err := Set(t.Context(), web.Resource(s.objects), web, field, Request{Replicas: 20, Current: AnyCount, Exact: true})
		if err != nil {
			r.Fatal(err)
		}
		if was := countIn(s.writes[len(s.writes)-1].Before); done.Before == nil || int64(*done.Before) != was {
			r.Fatalf("result %v, want Before = %d, the count that the write replaced", done, was)
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
			plan := parkWeb
			if rapid.Bool().Draw(r, "back") {
				plan = unparkWeb
			}
			_, _, err := send(t, s, ofWeb(), plan, edit.Options{})
			if err != nil && !errors.Is(err, outcome.ErrOverwritten) {
				r.Fatal(err)
			}
			s.others = nil
		}
		for _, c := range s.writes {
			was, _, err := facts.Parked(c.Before)
			if err != nil {
				r.Fatal(err)
			}
			is, _, err := facts.Parked(c.After)
			if err != nil {
				r.Fatal(err)
			}
			before, after := countIn(c.Before), countIn(c.After)
			parks := was == nil && is != nil && after == 0 && int64(is.Replicas) == before
			restores := was != nil && is == nil && before == 0 && int64(was.Replicas) == after
			if !parks && !restores {
				r.Fatalf("write from %d (parked %v) to %d (parked %v), want one that parks or restores", before, was, after, is)
			}
		}
	})
}

// A revert does not change a new object with the same name.
func TestRevertOfAnotherObject(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.put(deployment(3))
	web := ofWeb().Resource(s.objects)
	field := discover.Field{Scale: true, Path: new(specReplicas())}
	done, err := Set(t.Context(), web, ofWeb(), field, Request{Replicas: 5, Current: AnyCount, Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Remove("deployments", "shop", "web")
	other := parse(t, deployment(5))
	other.SetUID("other")
	s.Create(other)
	if err := Revert(t.Context(), web, ofWeb(), field, done, edit.Options{}); !errors.Is(err, edit.ErrAnother) || s.count(ofWeb()) != 5 {
		t.Errorf("revert: error %v, count %d; want ErrAnother and 5", err, s.count(ofWeb()))
	}
}
