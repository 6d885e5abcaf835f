package plan

import (
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// The start and the end of a pause are written to the status at once. Changes during a pause are written
// at most once a second.
func TestStatusOfAPause(t *testing.T) {
	none, hour := apis.Pause{}, apis.Pause{Until: noon.Add(time.Hour)}
	v := view(3, "")
	for i, step := range []struct {
		pause   apis.Pause
		pods    string
		written bool
	}{
		{none, "0 1", true}, {hour, "0 1", true}, {hour, "0", false}, {none, "0", true},
	} {
		v.Owner.Pause, v.Pods = step.pause, pods(step.pods)
		a := Decide(v, Pods)
		if a.WriteStatus != step.written || !a.WriteStatus && a.Recheck != 900*time.Millisecond {
			t.Errorf("step %d: status written: %t, recheck after %s; want a write except in step 2, which rechecks after 900ms", i, a.WriteStatus, a.Recheck)
		}
		if a.WriteStatus {
			v.Owner.Status, v.Memory = a.Status, a.Memory
			v.Memory.Written = Written{At: v.Now, Status: a.Status, Stored: a.Status}
		}
		v.Now = v.Now.Add(100 * time.Millisecond)
	}
}
