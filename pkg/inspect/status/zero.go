package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// ParkedCount is the annotation apis.AnnotationParked, as JSON: the count of an object that
// is scaled to zero for a time.
type ParkedCount struct {
	// Replicas is the count that the object had, in the field at Path.
	Replicas int32  `json:"replicas"`
	Path     string `json:"path"`
	// By is the user who parked the object, if the server told it.
	By string    `json:"by,omitempty"`
	At time.Time `json:"at"`
}

// ReadParked returns the parked count of an object, nil if it has none. It is an error if the
// annotation is invalid.
func ReadParked(annotations map[string]string) (*ParkedCount, error) {
	text, found := annotations[apis.AnnotationParked]
	if !found {
		return nil, nil //nolint:nilnil // it is not parked
	}
	var p ParkedCount
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return nil, fmt.Errorf("the annotation %s is invalid: %w", apis.AnnotationParked, err)
	}
	if p.Replicas < 1 || p.Path == "" {
		return nil, errors.New("the annotation " + apis.AnnotationParked + " is invalid: it needs a positive number of replicas and a path")
	}
	return &p, nil
}

// Story says who parked the object, as in "by alice 3h ago (5 replicas)".
func (p ParkedCount) Story(now time.Time) string {
	by := ""
	if p.By != "" {
		by = "by " + p.By + " "
	}
	return fmt.Sprintf("%s%s ago (%s)", by, duration.HumanDuration(max(now.Sub(p.At), 0)), problem.Quantity(p.Replicas, "replica"))
}

// parked is the verdict on an object that has come down to the zero that someone set for a
// time. It does not matter that the controller does not call no pods ready.
func parked(v *view) *ruling {
	o := v.Object
	if o.Parked == nil || o.Current > 0 || v.report.livePods() > 0 || v.given.verdict != Ready && !v.given.doubtsZero() {
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
	none := !o.NoCount && o.Desired == 0 && o.Current == 0 && v.report.livePods() == 0
	if by == "" || !none || v.given.verdict != Ready && !v.given.doubtsZero() {
		return nil
	}
	return &ruling{verdict: Ready, code: problem.CodeReady, reason: "scaled to zero by " + by}
}

// doubtsZero reports whether a verdict only says that no evidence shows that no pods are
// wanted.
func (v ruling) doubtsZero() bool {
	return slices.Contains([]problem.Code{problem.CodeChangeNotSeen, problem.CodeCannotTell, problem.CodeNoPods}, v.code)
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
