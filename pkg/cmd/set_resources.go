package cmd

import (
	"github.com/spf13/cobra"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/podtemplate"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
)

type setResourcesOptions struct {
	set              setFlags
	container        string
	requests, limits podtemplate.Quantities
}

func newSetResourcesCommand(common commonOptions) *cobra.Command {
	o := &setResourcesOptions{set: setFlags{verb: "set resources", part: template.Resources, change: newChangeFlags(common, "resource requirements updated")}}
	cmd := &cobra.Command{
		Use:   "resources (NAME | TYPE/NAME ... | TYPE NAME ... | -f FILENAME) [--requests=REQUESTS] [--limits=LIMITS] [flags]",
		Short: "Set resource requests and limits",
		Long: `Set the resource requests and limits of the containers of an ImoocPod (NAME) or
another resource with a pod template (TYPE/NAME). Resources that are not named stay
as they are.`,
		Example: `  # Set requests and limits of an ImoocPod
  kubectl imoocpod set resources foo --requests=cpu=100m,memory=128Mi --limits=memory=256Mi

  # Set the limits of one container of a Deployment
  kubectl imoocpod set resources deployment/web -c web --limits=cpu=200m`,
	}
	addContainerFlag(cmd, &o.container)
	cmd.Flags().Var(parsed[podtemplate.Quantities]{&o.requests, podtemplate.ParseQuantities, "string"}, "requests", "The resource requests of the containers, for example 'cpu=100m,memory=256Mi'.")
	cmd.Flags().Var(parsed[podtemplate.Quantities]{&o.limits, podtemplate.ParseQuantities, "string"}, "limits", "The resource limits of the containers, for example 'cpu=200m,memory=512Mi'.")
	return o.set.command(cmd, o.complete, o.find)
}

func (o *setResourcesOptions) complete(args []string) error {
	o.set.words = o.set.change.limits.repeated("requests", "limits")
	err := o.set.change.complete(args)
	if err == nil && len(o.set.words) == 0 {
		err = usageErrorf("--requests or --limits is required")
	}
	return err
}

func (o *setResourcesOptions) find(_ *changer, t *observe.Target, place template.Place) (setter, error) {
	return inTemplate(t, place.Path, func(template map[string]any) error {
		return podtemplate.SetResources(template, o.container, o.requests, o.limits)
	}), nil
}
