package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/podtemplate"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

type setImageOptions struct {
	set    setFlags
	images []podtemplate.ImageSetting
}

func newSetImageCommand(common commonOptions) *cobra.Command {
	o := &setImageOptions{set: setFlags{verb: "set image", part: template.Image, change: newChangeFlags(common, "image updated")}}
	cmd := &cobra.Command{
		Use:   "image (NAME | TYPE/NAME ... | TYPE NAME ... | -f FILENAME) [CONTAINER=]IMAGE ... [flags]",
		Short: "Set the image of a container",
		Long: `Set the images of containers of an ImoocPod (NAME) or another resource (TYPE/NAME).
An IMAGE without the name of a container is for objects with one container.
CONTAINER can be a pattern; "*" means all.

If a custom resource has several fields that may be meant, the command changes
nothing and lists them. See docs/undo.md.`,
		Example: `  # Set the image, and put the old one back if the new pods fail
  kubectl imoocpod set image foo nginx:1.30 --on-failure=revert --timeout 5m

  # Set the image of one of several containers of a Deployment
  kubectl imoocpod set image deployment/web web=nginx:1.30`,
	}
	cmd.Flags().Var(optional(&o.set.image, parseSpecField, "path"), "image-path", "JSONPath of the image field, for types that have several.")
	return o.set.command(cmd, o.complete, o.find)
}

func (o *setImageOptions) complete(args []string) error {
	// The images start at the first CONTAINER=IMAGE. Without one, the last argument is the only image.
	at := slices.IndexFunc(args, func(arg string) bool { return strings.Contains(arg, "=") })
	if at < 0 {
		at = max(0, len(args)-1)
	}
	args, o.set.words = args[:at], args[at:]
	for _, arg := range args {
		if strings.Contains(arg, ":") { // no name of an object with pods contains a colon
			return usageErrorf("%q is not an object; with several images, each must be CONTAINER=IMAGE", arg)
		}
	}
	for _, word := range o.set.words {
		image, err := podtemplate.ParseImage(word)
		if err != nil {
			return usageErrorf("%w", err)
		}
		o.images = append(o.images, image)
	}
	if len(o.images) > 1 && slices.ContainsFunc(o.images, func(i podtemplate.ImageSetting) bool { return i.Container == "" }) {
		return usageErrorf("with several images, each must be CONTAINER=IMAGE")
	}
	if targets := &o.set.change.targets; len(o.images) == 0 || len(args) == 0 && !targets.given() {
		return usageErrorf("an object and an IMAGE or CONTAINER=IMAGE are required")
	}
	switch err := o.set.change.complete(args); {
	case err != nil:
		return err
	case o.set.image != nil && o.set.template != nil:
		return usageErrorf("--image-path and --template-path cannot be used together")
	case o.set.image != nil && o.images[0].Container != "":
		return usageErrorf("--image-path takes one IMAGE, without the name of a container")
	}
	return nil
}

func (o *setImageOptions) find(c *changer, t *observe.Target, place template.Place) (setter, error) {
	switch {
	case place.InTemplate:
		return inTemplate(t, place.Path, func(template map[string]any) error { return o.setImages(c, t, template) }), nil
	case len(o.images) > 1 || !slices.Contains([]string{"", podtemplate.AllContainers, kinds.ContainerName}, o.images[0].Container):
		return nil, fmt.Errorf("%s has one image, at %s: give it without the name of a container", t, place.Path)
	}
	return func(value any) (any, error) {
		if _, is := value.(string); !is && value != nil {
			return nil, fmt.Errorf("%s: %s is not the name of an image", t, place.Path)
		}
		return o.images[0].Image, nil
	}, nil
}

// setImages sets the images in a pod template. The error for an ambiguous image suggests a command for each container.
func (o *setImageOptions) setImages(c *changer, t *observe.Target, template map[string]any) error {
	err := podtemplate.SetImages(template, o.images)
	several, is := errors.AsType[*podtemplate.SeveralContainersError](err)
	if !is {
		return err
	}
	var lines []string
	for _, name := range several.Names {
		command := commandOn(o.set.verb, t, name+"="+o.images[0].Image)
		if o.set.template != nil {
			command = command.With("--template-path", o.set.template.String())
		}
		lines = append(lines, "  "+c.line(command))
	}
	return &choiceError{err, lines}
}
