package cmd

import (
	"context"

	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
)

// warnOfCompetitors says what stands against a change of the count before it is made.
// What cannot be read is no reason not to make it. after is the new count where there
// are so many now; of an error the change itself will tell.
func (o *commonOptions) warnOfCompetitors(ctx context.Context, t observe.Target, after func(now int64) (int32, error)) {
	report, err := observe.Competitors(ctx, o.clients, t)
	if err != nil {
		klog.FromContext(ctx).V(1).Info("Cannot check for warnings", "object", t.String(), "err", err)
		return
	}
	count, err := after(int64(report.Replicas.Desired))
	if err != nil {
		return
	}
	for _, warning := range report.Warnings(count) {
		_ = escape.PrintLine(o.streams.ErrOut, "Warning: %s: %s", t, warning) // the change is what matters
	}
}
