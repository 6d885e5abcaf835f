package status

import (
	"slices"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/competing"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// parked returns the verdict on a parked object that has reached zero. It does not require that the
// controller reports the object as ready.
func parked(v *view) *ruling {
	o := v.Object
	if o.Parked == nil || o.Current > 0 || v.report.ActivePods() > 0 || v.given.verdict != Ready && !v.given.doubtsZero() {
		return nil
	}
	return &ruling{
		verdict: Parked, code: problem.CodeParked, reason: o.Parked.Story(v.Now),
		hint: v.Commands.Line(commandline.Plugin("unpark", o.Type+"/"+o.Name).In(o.Namespace)),
	}
}

// scaledToZero returns the verdict on an object that its autoscaler has scaled to zero. It does not
// require that the controller reports the object as ready.
func scaledToZero(v *view) *ruling {
	o, by := v.Object, competing.ZeroBy(v.Object.reference(), v.Autoscalers)
	none := !o.NoCount && o.Desired == 0 && o.Current == 0 && v.report.ActivePods() == 0
	if by == "" || !none || v.given.verdict != Ready && !v.given.doubtsZero() {
		return nil
	}
	return &ruling{verdict: Ready, code: problem.CodeReady, reason: "scaled to zero by " + by}
}

// doubtsZero reports whether an object with zero pods is not ready only because evidence is missing.
func (v ruling) doubtsZero() bool {
	return slices.Contains([]problem.Code{problem.CodeChangeNotSeen, problem.CodeCannotTell, problem.CodeNoPods, problem.CodeNothingReported}, v.code)
}
