package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// ParkedCount is what an object remembers of its count while that is zero for a time: the
// annotation apis.AnnotationParked, as JSON.
type ParkedCount struct {
	// Replicas is the count that the object had, in the field at Path.
	Replicas int32  `json:"replicas"`
	Path     string `json:"path"`
	// By is the name of the user who parked the object; empty where the server did not
	// tell it.
	By string    `json:"by,omitempty"`
	At time.Time `json:"at"`
}

// ReadParked reads what the annotations of an object tell of a count that was parked:
// nil where they tell nothing. What is no count to go back to is an error.
func ReadParked(annotations map[string]string) (*ParkedCount, error) {
	text, found := annotations[apis.AnnotationParked]
	if !found {
		return nil, nil //nolint:nilnil // it is not parked, and that is no error
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

// Story tells who parked the object, when, and with how many replicas, as in "by alice
// 3h ago (5 replicas)".
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
