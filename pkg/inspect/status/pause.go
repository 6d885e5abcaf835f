package status

import (
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// paused returns the object with Pause set if its annotations have an active pause.
func (o Object) paused(now time.Time) Object {
	if o.UserPause.Active(now) {
		o.Pause = &Pause{Code: problem.CodePausedByUser, Why: o.UserPause.Text(now), Command: new(howToResume(o))}
	}
	return o
}

// howToResume returns the command that ends the pause of an object.
func howToResume(o Object) commandline.Command {
	return commandline.Plugin("resume", o.argument()).In(o.Namespace)
}
