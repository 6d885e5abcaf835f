package status

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Anyone who can write a status can add many conditions. The cost is linear in their number.
func TestCostOfConditions(t *testing.T) { // not parallel, because it counts allocations
	cost := func(size int) uint64 {
		var all []metav1.Condition
		for i := range size {
			all = append(all, metav1.Condition{Type: fmt.Sprint("Part", i, "Ready"), Status: metav1.ConditionFalse, Reason: "Odd"})
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		NewReport(Snapshot{Object: Object{Counts: Counts{Desired: 1}, Evidence: Evidence{Conditions: all}}, Now: time.Unix(0, 0)})
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for size := 200; size <= 400; size *= 2 {
		if half, bytes := cost(size), cost(2*size); bytes > 5*half/2 {
			t.Errorf("%d conditions allocate %d bytes, want at most 2.5 times the %d bytes of half as many", 2*size, bytes, half)
		}
	}
}
