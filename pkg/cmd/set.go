package cmd

import (
	"context"
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
		SuggestionsMinimumDistance: 2, // as in the root command
		Args:                       knownVerb,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSetImageCommand(common), newSetEnvCommand(common), newSetResourcesCommand(common))
	return cmd
}

// setFlags are the flags of a subcommand of "set". what is its name, and words holds its settings.
type setFlags struct {
	what   string
	words  []string
	change changeFlags
	// template and image are the paths that flags give, or nil. Only "set image" has a flag for image.
	template, image *fieldpath.Path
}

// command adds the flags, makes cmd apply the result of want to each target, and returns cmd. want returns nil
// if nothing changes.
func (f *setFlags) command(cmd *cobra.Command, complete func([]string) error, want func(*changer, *observe.Target) (template.Wanted, error)) *cobra.Command {
	f.change.addFlags(cmd)
	f.change.addManagerFlag(cmd)
	f.change.addReasonFlag(cmd)
	cmd.Flags().Var(optional(&f.template, parseSpecField, "path"), "template-path", "JSONPath of the pod template, for types that have several.")
	return f.change.command(cmd, complete, func(ctx context.Context, c *changer, t *observe.Target) (*change, error) {
		wanted, err := want(c, t)
		if err != nil || wanted == nil {
			return nil, err
		}
		return c.changeTemplate(ctx, t, wanted, "")
	})
}

func (f *setFlags) line(t *observe.Target, words ...string) commandline.Command {
	return commandline.Plugin("set", f.what, argumentOf(t)).With(words...).In(t.Namespace)
}

// place returns the field that defines a part of the pods, such as the image. The error lists the possible fields.
func (f *setFlags) place(c *changer, t *observe.Target, part template.Part) (template.Place, error) {
	switch {
	case f.template != nil:
		return template.Place{Path: *f.template, InTemplate: true}, nil
	case f.image != nil:
		return template.Place{Path: *f.image}, nil
	}
	place, err := template.FindPlace(c.Finder, *t, part)
	return place, c.choosePlace(err, f.line(t, f.words...))
}

// inTemplate returns a function that applies change to a copy of the pod template at path.
func inTemplate(t *observe.Target, path fieldpath.Path, change func(template map[string]any) error) template.Wanted {
	return inField(t, path, func(value any) (any, error) {
		template, is := value.(map[string]any)
		if !is {
			return nil, noTemplate(t, path)
		}
		if err := change(template); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", t, path, err)
		}
		return template, nil
	})
}

func noTemplate(t *observe.Target, path fieldpath.Path) error {
	return fmt.Errorf("%s has no pod template at %s", t, path)
}

// inField returns a function that passes a copy of the field at path to change, and sets the field to the result.
func inField(t *observe.Target, path fieldpath.Path, change func(value any) (any, error)) template.Wanted {
	return func(obj *unstructured.Unstructured) ([]revision.Field, error) {
		value, err := path.Value(obj.Object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
		value, err = change(runtime.DeepCopyJSONValue(value))
		return []revision.Field{{Path: path, Value: value}}, err
	}
}
