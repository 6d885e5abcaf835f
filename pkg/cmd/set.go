package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/revision"
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

// setFlags are the flags of a subcommand of "set". verb is its name, part is what it sets, and words are its settings.
type setFlags struct {
	verb   string
	part   template.Part
	words  []string
	change changeFlags
	// template and image are the paths that flags give, or nil. Only "set image" has a flag for image.
	template, image *fieldpath.Path
}

// setter returns the new value of a field. It may modify the old value.
type setter func(value any) (any, error)

// command adds the flags, makes cmd set the field of each target that defines the part, and returns cmd. find
// returns the setter of this field, or nil if nothing changes.
func (f *setFlags) command(cmd *cobra.Command, complete func([]string) error, find func(*changer, *observe.Target, template.Place) (setter, error)) *cobra.Command {
	f.change.addReasonFlag(cmd)
	cmd.Flags().Var(optional(&f.template, parseSpecField, "path"), "template-path", "JSONPath of the pod template, for types that have several.")
	return f.change.command(cmd, complete, func(ctx context.Context, c *changer, t *observe.Target) (*change, error) {
		place, err := f.place(c, t)
		if err != nil {
			return nil, err
		}
		set, err := find(c, t, place)
		if err != nil || set == nil {
			return nil, err
		}
		return c.changeTemplate(ctx, t, func(obj *unstructured.Unstructured) ([]revision.Field, error) {
			value, err := place.Path.Value(obj.Object)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t, err)
			}
			value, err = set(runtime.DeepCopyJSONValue(value))
			return []revision.Field{{Path: place.Path, Value: value}}, err
		}, "")
	})
}

// place returns the field of a target that defines the part. The error lists the possible fields.
func (f *setFlags) place(c *changer, t *observe.Target) (template.Place, error) {
	switch {
	case f.template != nil:
		return template.Place{Path: *f.template, InTemplate: true}, nil
	case f.image != nil:
		return template.Place{Path: *f.image}, nil
	}
	place, err := template.FindPlace(c.Finder, *t, f.part)
	return place, c.choosePlace(err, commandOn(f.verb, t, f.words...))
}

// inTemplate returns a setter that changes the pod template at path.
func inTemplate(t *observe.Target, path fieldpath.Path, change func(template map[string]any) error) setter {
	return func(value any) (any, error) {
		template, is := value.(map[string]any)
		if !is {
			return nil, noTemplate(t, path)
		}
		if err := change(template); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", t, path, err)
		}
		return template, nil
	}
}

func noTemplate(t *observe.Target, path fieldpath.Path) error {
	return fmt.Errorf("%s has no pod template at %s", t, path)
}
