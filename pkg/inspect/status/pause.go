package status

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// UserPause is a pause of "kubectl imoocpod pause" as a report has it.
type UserPause struct {
	// Until is when it ends by itself; absent where it is Forever.
	Until   metav1.Time `json:"until,omitzero"`
	Forever bool        `json:"forever,omitempty"`
	// By names who paused the object, and Reason says why.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// newUserPause is a pause that is in force, nil where none is.
func newUserPause(p apis.Pause, now time.Time) *UserPause {
	if !p.Active(now) {
		return nil
	}
	told := &UserPause{Forever: p.Forever, By: p.By, Reason: p.Reason}
	if !p.Forever {
		told.Until = metav1.NewTime(p.Until)
	}
	return told
}

// Text says until when, by whom and why, to a reader whose clock shows a time.
func (p UserPause) Text(now time.Time) string {
	return apis.Pause{Until: p.Until.Time, Forever: p.Forever, By: p.By, Reason: p.Reason}.Text(now)
}

// paused sets the pause from the annotations as the reason why the controller does nothing,
// while the pause is active.
func (o Object) paused(now time.Time) Object {
	if o.UserPause.Active(now) {
		o.Pause = &Pause{Code: problem.CodePausedByUser, Why: o.UserPause.Text(now), Command: new(howToResume(o))}
	}
	return o
}

// howToResume is the command that ends the pause of an object.
func howToResume(o Object) commandline.Command {
	return commandline.Plugin("resume", o.argument()).In(o.Namespace)
}
