package plan

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// converged returns a view with an owner whose pods are all ready.
func converged(desired int32) View {
	v := view(desired, "")
	v.Owner.TemplateHash = "new"
	for slot := range slots.Slot(desired) {
		v.Pods = append(v.Pods, Pod{
			UID: types.UID(fmt.Sprintf("pod-%d", slot)), Slot: slot, Name: slots.PodName("foo", uid, "", slot),
			Ready: true, ReadySince: noon.Add(-time.Hour), Template: "new",
		})
	}
	return v
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
		v := view(0, "")
		v.Owner.TemplateHash = "new"
		for i := range n {
			name := fmt.Sprintf("node-%d", i)
			slot := slots.OfNode(name)
			v.Nodes = append(v.Nodes, node(name))
			v.Pods = append(v.Pods, Pod{
				UID: types.UID("pod-" + name), Slot: slot, Name: slots.PodName("foo", uid, "", slot),
				Ready: true, ReadySince: noon.Add(-time.Hour), Template: "new",
			})
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Nodes(v)
			}
		})
	}
}
