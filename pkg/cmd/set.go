package cmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/revision"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
)

func newSetCommand(common commonOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set (image | env | resources)",
		Short: "Set the image, environment, or resources of the pods of an object",
		Long: `Set the image, the environment variables, or the resources in the pod template of an
ImoocPod or of any other resource that has one, as "kubectl set" does for its kinds.`,
		Example: `  # Set the image of an ImoocPod
  kubectl imoocpod set image foo nginx:1.30

  # Set a variable of a Deployment, and wait until it has new pods
  kubectl imoocpod set env deployment/web LOG=debug --wait

  # Set the resources of an ImoocPod
  kubectl imoocpod set resources foo --requests=cpu=100m,memory=128Mi`,
		SuggestionsMinimumDistance: 2, // as for the program itself
		Args:                       knownVerb,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSetImageCommand(common), newSetEnvCommand(common), newSetResourcesCommand(common))
	return cmd
}

// setWaits ends the help of the subcommands of set.
const setWaits = `

With --wait, the command waits until all objects have pods of the new template and
are ready. It exits with code 3 if they cannot become ready without help (see
--fail-after), with code 4 when the timeout is over, and with code 5 if someone else
changes the same fields. With --on-failure=revert, it writes back what was there
before, unless someone else has changed the same fields since, and exits with
code 9.`

// setOptions is what the subcommands of set share.
type setOptions struct {
	templateChange
	template *fieldpath.Path
	// undoOnFailure is the former name of --on-failure=revert.
	undoOnFailure bool
	// what is the subcommand, and words are what it sets, as they were given.
	what  string
	words []string
}

func newSetOptions(common commonOptions, what, done string) setOptions {
	return setOptions{templateChange: newTemplateChange(common, done), what: what}
}

func (o *setOptions) commandFor(t observe.Target, words ...string) commandline.Command {
	return commandline.Plugin("set", o.what, argumentOf(t)).With(words...).In(t.Namespace)
}

func (o *setOptions) addFlags(cmd *cobra.Command) {
	o.templateChange.addFlags(cmd)
	cmd.Flags().BoolVar(&o.undoOnFailure, "undo-on-failure", false, "Another name of --on-failure=revert.")
	_ = cmd.Flags().MarkDeprecated("undo-on-failure", "use --on-failure=revert") // it has just been added
	cmd.Flags().Var(specFieldFlag(&o.template), "template-path", "JSONPath of the pod template, for types that have several.")
}

func (o *setOptions) complete(args []string) error {
	if o.undoOnFailure {
		o.after.onFailure = revertOnFailure
	}
	return o.templateChange.complete(args)
}

// places finds the fields of a target that pods are made from.
func (o *setOptions) places(t observe.Target, images bool) (template.Places, error) {
	if o.template != nil {
		return template.Places{Template: o.template}, nil
	}
	places, err := template.FindPlaces(o.finder, t, images)
	if unknown := (*template.UnknownPlaceError)(nil); errors.As(err, &unknown) {
		return places, &choosePlaceError{o.commandFor(t, o.words...), o.clients.CommandContext(), unknown}
	}
	return places, err
}

// inTemplate is the change of a pod template that a function makes in a copy of it.
func inTemplate(t observe.Target, path fieldpath.Path, change func(template map[string]any) error) wanted {
	return inField(path, func(value any) (any, error) {
		template, is := value.(map[string]any)
		if !is {
			return nil, fmt.Errorf("%s has no pod template at %s", t, path)
		}
		if err := change(template); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", t, path, err)
		}
		return template, nil
	})
}

// inField is the change of one field that a function makes of a copy of its value.
func inField(path fieldpath.Path, change func(value any) (any, error)) wanted {
	return func(obj *unstructured.Unstructured) ([]revision.Field, string, error) {
		fields, err := revision.FieldsAt(obj.Object, []fieldpath.Path{path})
		if err != nil {
			return nil, "", err
		}
		fields[0].Value, err = change(runtime.DeepCopyJSONValue(fields[0].Value))
		return fields, "", err
	}
}
