package plan

import (
	"fmt"
	"strings"
	"testing"
)

// converged returns a view with an owner whose pods are all ready.
func converged(desired int32) View {
	var words []string
	for slot := range desired {
		words = append(words, fmt.Sprint(slot))
	}
	return view(desired, strings.Join(words, " "))
}

// BenchmarkPods plans for an owner that has all its pods, for an owner without pods, and for an
// owner with only surplus pods.
func BenchmarkPods(b *testing.B) {
	for _, n := range []int32{10, 1000, 10_000} {
		surplus := converged(n)
		surplus.Owner.Desired = 0
		for _, state := range []struct {
			name string
			view View
		}{{"converged", converged(n)}, {"none", view(n, "")}, {"surplus", surplus}} {
			b.Run(fmt.Sprintf("%s/%d", state.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					Pods(state.view)
				}
			})
		}
	}
}

func BenchmarkNodes(b *testing.B) {
	for _, n := range []int{10, 1000} {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("node-%d", i))
		}
		v := view(0, strings.Join(names, " "))
		for _, name := range names {
			v.Nodes = append(v.Nodes, node(name))
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Nodes(v)
			}
		})
	}
}
