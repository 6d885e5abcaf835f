package cmd

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
)

// warnPaused warns that a change of an object takes effect only when its pause ends. The
// object, which verbs have read before they change it, may be nil: then nothing is known.
func (o *commonOptions) warnPaused(t observe.Target, obj *unstructured.Unstructured) {
	if obj == nil || !t.Kind.Reconciled() {
		return
	}
	now, out := time.Now(), o.streams.ErrOut
	pause := apis.ReadPause(obj.GetAnnotations())
	if !pause.Active(now) {
		return
	}
	if !pause.Forever {
		_ = escape.PrintLine(out, "Warning: %s is %s; the change will be applied then", t, pause.Text(now)) // the change is what matters
		return
	}
	_ = escape.PrintLine(out, "Warning: %s is %s; the change will be applied when it is resumed", t, pause.Text(now))
	_ = escape.PrintLine(out, "hint: %s", o.line(commandline.Plugin("resume", t.String()).In(t.Namespace)))
}
