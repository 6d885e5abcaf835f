package printer

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// Failure says in a few lines why an object has failed: the reason, and the last
// events of the first thing that has the gravest problem.
func Failure(r status.Report, now time.Time) string {
	lines := []string{oneLine(r.Reason)}
	if len(r.Problems) > 0 {
		for _, e := range r.Problems[0].Events {
			times := ""
			if e.Count > 1 {
				times = fmt.Sprintf(", %d times", e.Count)
			}
			lines = append(lines, oneLine(fmt.Sprintf("  %s: %s %s: %s (%s ago%s)", strings.ToLower(e.Object), e.Type, e.Reason,
				strings.Join(strings.Fields(e.Message), " "), duration.HumanDuration(now.Sub(e.Last.Time)), times)))
		}
	}
	return strings.Join(lines, "\n")
}
