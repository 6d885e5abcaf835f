package status

import (
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// parked is the verdict on an object that has come down to the zero that someone set for a
// time. It does not matter that the controller does not call no pods ready.
func parked(v *view) *ruling {
	o := v.Object
	if o.Parked == nil || o.Current > 0 || v.report.LivePods() > 0 || v.given.verdict != Ready && !v.given.doubtsZero() {
		return nil
	}
	return &ruling{
		verdict: Parked, code: problem.CodeParked, reason: o.Parked.Story(v.Now),
		hint: v.Commands.Line(commandline.Plugin("unpark", o.Type+"/"+o.Name).In(o.Namespace)),
	}
}

// scaledToZero is the verdict on an object that its autoscaler has scaled to zero. It does
// not matter that the controller does not call no pods ready.
func scaledToZero(v *view) *ruling {
	o, by := v.Object, zeroBy(v.Autoscalers, v.Object)
	none := !o.NoCount && o.Desired == 0 && o.Current == 0 && v.report.LivePods() == 0
	if by == "" || !none || v.given.verdict != Ready && !v.given.doubtsZero() {
		return nil
	}
	return &ruling{verdict: Ready, code: problem.CodeReady, reason: "scaled to zero by " + by}
}

// doubtsZero reports whether a verdict only says that no evidence shows that no pods are
// wanted.
func (v ruling) doubtsZero() bool {
	return slices.Contains([]problem.Code{problem.CodeChangeNotSeen, problem.CodeCannotTell, problem.CodeNoPods, problem.CodeNothingReported}, v.code)
}

// zeroBy returns the autoscaler that has scaled an object to zero, "" if none has. It reports
// that in a condition since Kubernetes 1.36
// (https://github.com/kubernetes/enhancements/issues/2021).
func zeroBy(all []autoscalingv2.HorizontalPodAutoscaler, o Object) string {
	for i := range all {
		h := &all[i]
		told := slices.ContainsFunc(h.Status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
			return c.Type == autoscalingv2.ScaledToZero && c.Status == corev1.ConditionTrue
		})
		if told && scales(h, o) {
			return "HorizontalPodAutoscaler/" + h.Name
		}
	}
	return ""
}
