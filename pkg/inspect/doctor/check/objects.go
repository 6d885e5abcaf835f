package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// HeldUp returns a failed result for each problem that blocks the creation of pods, or else one passed result.
func (c Checker) HeldUp(reports []status.Report) []Result {
	var checks []Result
	for _, r := range reports {
		for _, p := range r.Problems {
			if !slices.Contains([]problem.Code{problem.CodeQuotaExceeded, problem.CodeAdmissionRefused, problem.CodeNameTaken, problem.CodeCreateFailed}, p.Code) {
				continue
			}
			result := Result{Name: "pods", State: Failed, Message: fmt.Sprintf("%s/%s in namespace %s: %s", r.Metadata.Type, r.Metadata.Name, r.Metadata.Namespace, p.Message)}
			look := commandline.Plugin("describe", r.Metadata.Type+"/"+r.Metadata.Name)
			if p.Code == problem.CodeQuotaExceeded {
				look = commandline.Kubectl("describe", "quota")
			}
			result.Fix = []string{c.Commands.Line(look.In(r.Metadata.Namespace))}
			checks = append(checks, result)
		}
	}
	if len(checks) == 0 {
		checks = []Result{{Name: "pods", State: Passed, Message: "none is blocked by a quota or by admission"}}
	}
	return checks
}

// longPause is the remaining time above which Paused suggests a command that ends a pause.
const longPause = 24 * time.Hour

// Paused returns a reminder of paused objects, or nil if there are none. It contains commands that end long pauses.
func (c Checker) Paused(reports []status.Report, now time.Time) []Result {
	result := Result{Name: "pauses", State: Passed}
	paused := 0
	for _, r := range reports {
		if r.Pause == nil {
			continue
		}
		paused++
		if r.Pause.Forever || r.Pause.Until.Sub(now) > longPause {
			result.Fix = append(result.Fix, c.Commands.Line(commandline.Plugin("resume", r.Metadata.Type+"/"+r.Metadata.Name).In(r.Metadata.Namespace)))
		}
	}
	if paused == 0 {
		return nil
	}
	result.Message = problem.Quantity(paused, "object") + " paused"
	if long := len(result.Fix); long > 0 {
		result.Message += fmt.Sprintf(", %d of them forever or for more than a day", long)
	}
	result.Message += ": " + c.Commands.Line(inNamespace(commandline.Plugin("status", "--only="+status.OnlyPaused), c.Namespace))
	return []Result{result}
}
