package status

import (
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

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
