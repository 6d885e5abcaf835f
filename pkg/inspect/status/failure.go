package status

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
)

// Failure describes in a few lines why an object has failed: the reason, and the last
// events of the first pod that has the most serious problem.
func (r Report) Failure(now time.Time) string {
	lines := []string{escape.Line(strings.TrimSpace(r.Reason))}
	if len(r.Problems) > 0 {
		for _, e := range r.Problems[0].Events {
			times := ""
			if e.Count > 1 {
				times = fmt.Sprintf(", %d times", e.Count)
			}
			lines = append(lines, escape.Line(fmt.Sprintf("  %s: %s %s: %s (%s ago%s)", strings.ToLower(e.Object), e.Type, e.Reason,
				strings.Join(strings.Fields(e.Message), " "), duration.HumanDuration(now.Sub(e.Last.Time)), times)))
		}
	}
	return strings.Join(lines, "\n")
}
