package cmd

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/logs"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
)

func newDescribeCommand(common commonOptions) *cobra.Command {
	f := &targetFlags{without: toRead, optional: true}
	cmd := &cobra.Command{
		Use:   "describe (NAME | TYPE/NAME ... | TYPE NAME ... | -l label | --all | -f FILENAME)",
		Short: "Show details of an ImoocPod or another object, its pods and its events",
		Long: `Show details of an ImoocPod (NAME) or another object (TYPE/NAME, or other arguments of
kubectl), its pods and its events. If a pod crashes, the last line of its log is shown,
too. For a pod, the command shows its owner.`,
		Example: `  # Describe an ImoocPod
  kubectl imoocpod describe foo

  # Describe any object that has pods
  kubectl imoocpod describe deployment/web`,
	}
	f.addFlags(cmd)
	return f.command(cmd, common, f.complete, f.describe)
}

func (f *targetFlags) describe(ctx context.Context, c *cluster) error {
	targets, errs := f.find(ctx, c)
	targets, errs = c.podOwners(ctx, targets, errs, "showing", commandline.Kubectl("describe", "pod"))
	return c.showEach(targets, errs, "\n\n", func(w io.Writer, t *observe.Target) error {
		_, seen, err := observe.Read(ctx, c.Clients, *t, observe.Extent{Depth: observe.Details, Competitors: true})
		if err != nil {
			return err
		}
		logs.AddLastLine(ctx, c.Core, &seen.Report)
		var template *corev1.PodTemplateSpec
		if t.Kind.Mapping.Strategy == kinds.StrategyPods {
			if template, err = kinds.Template(t.Kind, seen.Object); err != nil {
				return err
			}
		}
		return printer.Describe(w, seen.Report, seen.Object, template, time.Now())
	})
}
