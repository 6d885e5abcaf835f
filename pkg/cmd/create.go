package cmd

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

type createOptions struct {
	// change.targets holds the names of the new objects, or the files that define them.
	change changeFlags

	replicas int32
	path     *fieldpath.Path
	image    string
	command  []string
	// set and setString hold PATH=VALUE pairs. The schema determines the types of the values in set.
	set, setString []string

	// dash returns the number of arguments before --, or -1 if there is no --.
	dash  func() int
	given func(flag string) bool
}

func newCreateCommand(common commonOptions) *cobra.Command {
	o := &createOptions{change: newChangeFlags(common, "created"), replicas: 1}
	cmd := &cobra.Command{
		Use:   "create (NAME | TYPE/NAME ... | TYPE NAME ... | -f FILENAME) [--replicas=COUNT] [--image=IMAGE] [--set=PATH=VALUE ...] [flags] [-- COMMAND [args...]]",
		Short: "Create an ImoocPod or another object with replicas",
		Long: `Create an ImoocPod (NAME), which is a number of identical pods, or an object of any
type (TYPE/NAME) with the replica count and the fields that --set gives. With -f,
create the objects of a file, a directory, or a URL as they are.

Without --image, each pod of an ImoocPod sleeps in a small busybox container. The
words after -- are the command of the container.`,
		Example: `  # Create three pods that sleep, and wait until they are ready
  kubectl imoocpod create foo --replicas 3 --wait --timeout 2m

  # Create two pods with your own image
  kubectl imoocpod create web --replicas 2 --image nginx

  # Create the default pod with another command
  kubectl imoocpod create nap -- sleep 60

  # Create an object of any type
  kubectl imoocpod create foos.samplecontroller.k8s.io/bar --replicas 2 --replicas-path .spec.replicas --set .spec.deploymentName=bar

  # Create three ImoocPods
  kubectl imoocpod create imoocpod a b c

  # Print a manifest to start from
  kubectl imoocpod create foo --replicas 3 --dry-run=client -o yaml`,
	}
	o.change.addOutputFlags(cmd)
	o.change.targets.addFileFlags(cmd, "with the objects to create")
	cmd.Flags().VarP(numberFlag(&o.replicas, 0), "replicas", "r", "The desired number of replicas.")
	addReplicasPathFlag(cmd, &o.path)
	cmd.Flags().StringArrayVar(&o.set, "set", nil, "Set a field, as PATH=VALUE; the schema gives the type of the value (can be repeated).")
	cmd.Flags().StringArrayVar(&o.setString, "set-string", nil, "Set a field to a string, as PATH=VALUE (can be repeated).")
	cmd.Flags().Var(imageFlag(&o.image), "image", "Image of the container.")
	o.change.addReasonFlag(cmd)
	o.dash, o.given = cmd.ArgsLenAtDash, cmd.Flags().Changed
	return command(cmd, o.complete, o.run)
}

func (o *createOptions) complete(args []string) error {
	if dash := o.dash(); dash >= 0 {
		args, o.command = args[:dash], args[dash:]
	}
	files := o.change.targets.fromFiles()
	switch err := cmp.Or(o.change.complete(args), o.change.targets.checkNames()); {
	case files && len(o.command) > 0:
		return usageErrorf("-f and -k cannot be used together with a command")
	case err != nil:
		return err
	case !files && o.path != nil && !o.given("replicas"):
		return usageErrorf("--replicas-path needs --replicas")
	}
	for _, flag := range []string{"replicas", "replicas-path", "image", "set", "set-string"} {
		if files && o.given(flag) {
			return usageErrorf("--%s cannot be used with -f or -k, which create objects as they are", flag)
		}
	}
	return nil
}

func (o *createOptions) run(ctx context.Context) error {
	connect := o.change.common.connect
	if o.change.targets.onlyImoocPods() && len(o.set) == 0 && o.change.dryRun.client() {
		connect = o.change.common.offline
	}
	on, err := connect()
	if err != nil {
		return err
	}
	c := newChanger(ctx, on, &o.change)
	if o.change.targets.fromFiles() {
		return o.createFiles(ctx, c)
	}
	targets, errs := o.change.targets.name(ctx, on)
	if len(errs) > 0 {
		return outcome.Join(o.change.targets.explainTypes(errs))
	}
	for i := range targets {
		t := &targets[i]
		if err := o.check(*t); err != nil {
			return usageErrorf("%w", c.Finder.Undeclared(t.Kind, err))
		}
		t.Path = o.path
		if err := o.describe(ctx, c, t); err != nil {
			return err
		}
		if !c.given && o.change.dryRun.client() {
			t.Object.SetNamespace("")
		}
	}
	return makeAll(ctx, c, targets, nil, func(t observe.Target) (*change, error) { return o.create(ctx, c, t) })
}

// create creates t.Object and returns the change. A client-side dry run creates nothing.
func (o *createOptions) create(ctx context.Context, c *changer, t observe.Target) (*change, error) {
	request := t.Object
	if o.change.reason != "" {
		for _, mark := range template.Annotations(o.change.reason, c.user()) {
			if err := mark.Apply(request.Object); err != nil {
				return nil, err
			}
		}
	}
	if o.change.dryRun.client() {
		return &change{WaitTarget: observe.WaitTarget{Target: t}, object: request}, nil
	}
	c.loops.begin(&t)
	objects := t.Resource(c.Dynamic)
	obj, err := objects.Create(ctx, request, metav1.CreateOptions{
		FieldManager: kinds.FieldManager, FieldValidation: metav1.FieldValidationStrict, DryRun: o.change.dryRun.server(),
	})
	if err != nil {
		return nil, kube.Explain(t.Kind, err)
	}
	t.Name, t.Object = obj.GetName(), obj // the server may have generated the name
	done := edit.Created(request, obj)
	made := c.edited(&t, done, observe.Ready(), "", nil)
	made.revert = func(ctx context.Context) (string, error) { return "deleted", edit.Delete(ctx, objects, done) }
	made.back = new(commandOn("delete", &t))
	return made, nil
}

func (o *createOptions) createFiles(ctx context.Context, c *changer) error {
	found, errs := o.change.targets.build(ctx, c.cluster)
	if len(found)+len(errs) == 0 {
		return errors.New("no objects passed to create")
	}
	for i := range found {
		t := &found[i]
		t.Object.SetResourceVersion("") // like kubectl create
		// The file may use a version other than the declared one.
		t.Kind.Resource.Version = t.Object.GroupVersionKind().Version
	}
	return makeAll(ctx, c, found, errs, func(t observe.Target) (*change, error) { return o.create(ctx, c, t) })
}
