package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/podtemplate"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

type setEnvOptions struct {
	set       setFlags
	container string
	env       []podtemplate.EnvSetting
	list      bool
}

func newSetEnvCommand(common commonOptions) *cobra.Command {
	o := &setEnvOptions{set: setFlags{verb: "set env", part: template.Env, change: newChangeFlags(common, "env updated")}}
	cmd := &cobra.Command{
		Use:   "env (NAME | TYPE/NAME ... | TYPE NAME ... | -f FILENAME) (KEY=VALUE | KEY- ... | --list) [flags]",
		Short: "Set or remove environment variables",
		Long: `Set (KEY=VALUE) or remove (KEY-) environment variables of the containers of an
ImoocPod (NAME) or another resource with a pod template (TYPE/NAME).`,
		Example: `  # Set a variable of an ImoocPod
  kubectl imoocpod set env foo LOG=debug

  # Remove it, and set another, in one container of a Deployment
  kubectl imoocpod set env deployment/web -c web LOG- MODE=fast

  # Show the variables of all its containers
  kubectl imoocpod set env deployment/web --list`,
	}
	addContainerFlag(cmd, &o.container)
	cmd.Flags().BoolVar(&o.list, "list", false, "Show the variables, and change nothing.")
	return o.set.command(cmd, o.complete, o.find)
}

func addContainerFlag(cmd *cobra.Command, container *string) {
	cmd.Flags().StringVarP(container, "container", "c", "", "Only this container of each pod. In a pod template, it can be a pattern.")
}

func (o *setEnvOptions) complete(args []string) error {
	at := slices.IndexFunc(args, func(arg string) bool {
		return strings.Contains(arg, "=") || len(arg) > 1 && strings.HasSuffix(arg, "-")
	})
	if at < 0 {
		at = len(args)
	}
	o.set.words = args[at:]
	for _, word := range o.set.words {
		setting, err := podtemplate.ParseEnv(word)
		if err != nil {
			return usageErrorf("%w", err)
		}
		if slices.ContainsFunc(o.env, func(s podtemplate.EnvSetting) bool { return s.Name == setting.Name && s.Remove != setting.Remove }) {
			return usageErrorf("cannot both set and remove the variable %s", setting.Name)
		}
		o.env = append(o.env, setting)
	}
	if o.list == (len(o.env) > 0) {
		return usageErrorf("either --list or at least one KEY=VALUE or KEY- is required")
	}
	return o.set.change.complete(args[:at])
}

func (o *setEnvOptions) find(c *changer, t *observe.Target, place template.Place) (setter, error) {
	switch {
	case !place.InTemplate && !slices.Contains([]string{"", podtemplate.AllContainers, kinds.ContainerName}, o.container):
		return nil, fmt.Errorf("%s has one environment, at %s: do not name a container", t, place.Path)
	case o.list:
		return nil, o.show(c, t, place)
	case place.InTemplate:
		return inTemplate(t, place.Path, func(template map[string]any) error {
			return podtemplate.SetEnv(template, o.container, o.env)
		}), nil
	}
	return func(value any) (any, error) { return podtemplate.Env(value, o.env), nil }, nil
}

func (o *setEnvOptions) show(c *changer, t *observe.Target, at template.Place) error {
	value, err := at.Path.Value(t.Object.Object)
	if err != nil {
		return fmt.Errorf("%s: %w", t, err)
	}
	if _, is := value.(map[string]any); at.InTemplate && !is {
		return noTemplate(t, at.Path)
	}
	lines, err := podtemplate.ListEnv(t.String(), value, o.container)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", t, at.Path, err)
	}
	return printLines(c.streams.Out, lines)
}
