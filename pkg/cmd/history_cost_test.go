package cmd

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/revision"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
)

// Anyone who can create ControllerRevisions can create many of them. The cost of showing them must
// not grow faster than their number.
func TestCostOfRevisions(t *testing.T) { // not parallel, because it counts allocations
	cost := func(size int) float64 {
		var all []revision.Revision
		field := func(n int) []revision.Field {
			containers := []any{map[string]any{"name": "web", "image": fmt.Sprint("web:", n)}}
			return []revision.Field{{Path: fieldpath.Fields("spec", "template"), Value: map[string]any{"spec": map[string]any{"containers": containers}}}}
		}
		for i := range size {
			all = append(all, revision.Revision{Number: int64(i + 1), Name: fmt.Sprint("web-", i), Fields: field(i)})
		}
		h := revision.NewHistory(all, field(0), "", "")
		return testing.AllocsPerRun(1, func() {
			if rows := historyRows(&observe.Target{Object: &unstructured.Unstructured{}}, h); len(rows) != size || !rows[size-1].Current {
				t.Errorf("history of %d revisions: got %d rows, or the newest is not the current one", size, len(rows))
			}
		})
	}
	size := 50
	before := cost(size)
	for range 2 {
		size *= 2
		allocations := cost(size)
		if allocations > 2.5*before {
			t.Errorf("%d revisions cost %.0f allocations, want at most 2.5 times those of half as many, %.0f", size, allocations, before)
		}
		before = allocations
	}
}
