package controller

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
)

// Changed objects come before the backlog, regardless of the order in which they were added.
func TestOrder(t *testing.T) {
	t.Parallel()
	key := func(name string) memory.Key { return memory.Key{Name: name} }
	for name, test := range map[string]struct{ added, want string }{
		"only changed objects":                            {"a b c", "a b c"},
		"only the backlog":                                {"a- b- c-", "a b c"},
		"a change overtakes the backlog":                  {"a- b- c", "c a b"},
		"an object in the backlog changes":                {"a- b- c- b", "b a c"},
		"a changed object does not return to the backlog": {"a b- a-", "a b"},
		"one object is queued repeatedly":                 {"a- a a- a", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			later := map[memory.Key]bool{}
			o := &order{later: func(k memory.Key) bool { return later[k] }, queued: map[memory.Key]bool{}}
			queued := map[string]bool{}
			for word := range strings.FieldsSeq(test.added) {
				name, unchanged := strings.CutSuffix(word, "-")
				later[key(name)] = unchanged
				if queued[name] {
					o.Touch(key(name))
				} else {
					o.Push(key(name))
				}
				queued[name] = true
			}
			var got []string
			for o.Len() > 0 {
				got = append(got, o.Pop().Name)
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// No object is lost or returned twice, and changed objects come first.
func TestOrderLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		later := false
		o := &order{later: func(memory.Key) bool { return later }, queued: map[memory.Key]bool{}}
		changed := map[memory.Key]bool{} // whether each queued object has changed
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(changed) > 0 && rapid.IntRange(0, 2).Draw(t, "action") == 0 {
				k := o.Pop()
				was, queued := changed[k]
				delete(changed, k)
				anyChanged := false
				for _, c := range changed {
					anyChanged = anyChanged || c
				}
				if !queued || !was && anyChanged {
					t.Fatalf("Pop() = %s: it was queued: %t, changed objects are still queued: %t", k.Name, queued, anyChanged)
				}
				continue
			}
			k := memory.Key{Name: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "object")}
			later = rapid.Bool().Draw(t, "later")
			if _, queued := changed[k]; queued {
				o.Touch(k)
			} else {
				o.Push(k)
			}
			changed[k] = changed[k] || !later
			if o.Len() != len(changed) {
				t.Fatalf("Len() = %d, want %d", o.Len(), len(changed))
			}
		}
		left := []string{}
		for o.Len() > 0 {
			k := o.Pop()
			delete(changed, k)
			left = append(left, k.Name)
		}
		if len(changed) > 0 || len(slices.Compact(slices.Sorted(slices.Values(left)))) != len(left) {
			t.Fatalf("objects that Pop() never returned: %v; objects that it returned: %v, want each once", changed, left)
		}
	})
}

func TestQueueHandsOutChangesFirst(t *testing.T) {
	t.Parallel()
	m := memory.New(metrics.New(""))
	c := &Controller{queue: newQueue("", metrics.New(""), m.Later), memory: m}
	q := c.queue
	defer q.ShutDown()
	for _, name := range []string{"a", "b", "c"} {
		c.wake(memory.Key{Name: name}, true, "it listed")
	}
	c.wake(memory.Key{Name: "b"}, false, "it changed")
	c.wake(memory.Key{Name: "d"}, false, "it created")
	var got []string
	for range 4 {
		k, _ := q.Get()
		q.Done(k)
		got = append(got, k.Name)
	}
	if want := []string{"b", "d", "a", "c"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
