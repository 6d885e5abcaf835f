package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/apis/batch/v1alpha1"
	"github.com/imoocpod/kubectl-imoocpod/pkg/clients"
	"github.com/imoocpod/kubectl-imoocpod/pkg/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// createOptions says what to create.
type createOptions struct {
	streams genericiooptions.IOStreams
	print   *genericclioptions.PrintFlags
	dryRun  dryRun

	// typeName is the TYPE of TYPE/NAME; "" is an ImoocPod.
	typeName string
	name     string
	// counted says that --replicas was given.
	counted  bool
	replicas int32
	path     pathFlag
	image    string
	command  []string
	// files hold objects to create as they are.
	files resource.FilenameOptions
	// set and setString are PATH=VALUE, the one typed by the schema.
	set, setString []string

	wait   bool
	limits waitFlags
}

func newCreateCommand(c *clients.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	o := &createOptions{streams: streams, print: genericclioptions.NewPrintFlags("created"), replicas: 1}
	cmd := &cobra.Command{
		Use:   "create (NAME | TYPE/NAME | -f FILENAME) [--replicas=COUNT] [--image=IMAGE] [--set=PATH=VALUE ...] [--dry-run=server|client|none] [--wait] [-- COMMAND [args...]]",
		Short: "Create an ImoocPod or another object with replicas",
		Long: `Create an ImoocPod: a number of identical pods. Or, with TYPE/NAME, the smallest
object of any type that has that count, and what --set gives it: the server says
what else it wants. The Deployment of an AppService is named like the AppService,
unless --set .spec.deploymentName=NAME says another.

Without --image each pod of an ImoocPod sleeps in a small busybox container that
meets Pod Security's restricted level. With --image the pods run that image and
nothing else is set, as with "kubectl create deployment". Words after -- are the
container's command.

With -f the objects of a file, of a directory or of an URL are created as they are,
as by "kubectl create -f".

With --wait the command waits until the object is ready. It ends with code 3 when
that will not be without help (see --fail-after), 4 when the time is over. With
-o json it then prints one document to a line: the object, and after that a status
report for every change.`,
		Example: `  # Three pods that sleep
  kubectl imoocpod create foo --replicas 3

  # Three pods, and back when they are ready
  kubectl imoocpod create foo --replicas 3 --wait --timeout 2m

  # Two pods with an image of one's own
  kubectl imoocpod create web --replicas 2 --image nginx

  # The default pod with another command
  kubectl imoocpod create nap -- sleep 60

  # The other kinds that "run-controller" reconciles
  kubectl imoocpod create appservice/foo --replicas 2 --image nginx:1.27
  kubectl imoocpod create helloworld/hi --replicas 3
  kubectl imoocpod create mydaemonset/agent --image nginx

  # An object of any type
  kubectl imoocpod create foos.samplecontroller.k8s.io/bar --replicas 2 --replicas-path .spec.replicas --set .spec.deploymentName=bar

  # The objects of a file, and back when they are ready
  kubectl imoocpod create -f foos.yaml --wait

  # A manifest to start from
  kubectl imoocpod create foo --replicas 3 --dry-run=client -o yaml`,
		Args: o.checkArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				if err := o.limits.checkWait(cmd, o.wait); err != nil {
					return err
				}
				return o.runFiles(cmd.Context(), c)
			}
			o.name, o.counted = args[0], cmd.Flags().Changed("replicas")
			if o.path.path != nil && !o.counted {
				return usageErrorf(cmd, "--replicas-path says where --replicas goes in an object of another TYPE")
			}
			if o.image == "" && cmd.Flags().Changed("image") {
				return usageErrorf(cmd, "--image is empty: give the name of an image, or leave it out for the default")
			}
			if err := o.limits.checkWait(cmd, o.wait); err != nil {
				return err
			}
			return o.run(cmd.Context(), c)
		},
	}
	o.print.AddFlags(cmd)
	o.dryRun.addFlag(cmd)
	cmd.Flags().StringSliceVarP(&o.files.Filenames, "filename", "f", nil, "Filename, directory, or URL to files with the objects to create.")
	cmd.Flags().BoolVarP(&o.files.Recursive, "recursive", "R", false, "Process the directory used in -f, --filename recursively.")
	cmd.Flags().StringVarP(&o.files.Kustomize, "kustomize", "k", "", "Process the kustomization directory. This flag can't be used together with -f or -R.")
	cmd.Flags().VarP(count{&o.replicas, 0}, "replicas", "r", "How many pods are wanted.")
	cmd.Flags().Var(&o.path, "replicas-path", "JSONPath of the field that holds the count, for types that do not say it.")
	cmd.Flags().StringArrayVar(&o.set, "set", nil, "PATH=VALUE: a field to set, read as the type's schema wants it (may be given several times).")
	cmd.Flags().StringArrayVar(&o.setString, "set-string", nil, "PATH=VALUE: a field to set to a string (may be given several times).")
	cmd.Flags().StringVar(&o.image, "image", o.image, "Image of the pods' container. Without it the kind's own, such as busybox for an ImoocPod; a MyDaemonSet needs one.")
	cmd.Flags().BoolVar(&o.wait, "wait", false, "Wait until the object is ready.")
	o.limits.addWaitFlags(cmd)
	return cmd
}

// checkArgs reads what to create, and refuses what cannot be its name.
func (o *createOptions) checkArgs(cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		o.command = args[dash:]
		args = args[:dash]
	}
	if len(o.files.Filenames)+len(o.files.Kustomize) > 0 {
		return o.checkFiles(cmd, args)
	}
	if len(args) == 1 && strings.Contains(args[0], "/") {
		o.typeName, args[0], _ = strings.Cut(args[0], "/")
		if o.typeName == "" {
			return usageErrorf(cmd, "which type? %q has none before the slash", "/"+args[0])
		}
		if slices.Contains(clients.TypeNames(kinds.ImoocPod()), o.typeName) {
			o.typeName = ""
		}
	}
	if len(args) == 1 && o.typeName == "" {
		if err := checkLength(args[0]); err != nil {
			return usageErrorf(cmd, "%w", err)
		}
	}
	return oneName(cmd, args)
}

func (o *createOptions) run(ctx context.Context, c *clients.Factory) error {
	o.dryRun.complete(o.print)
	printer, err := linePrinter(o.print)
	if err != nil {
		return &outcome.UsageError{Command: name + " create", Err: err}
	}
	kind, finder, err := o.kind(ctx, c)
	if err != nil {
		return err
	}
	if err := o.check(kind); err != nil {
		return &outcome.UsageError{Command: name + " create", Err: err}
	}
	namespace, given, err := c.Namespace()
	if err != nil {
		return err
	}
	obj, err := o.object(ctx, kind, finder)
	if err != nil {
		return err
	}
	if !kind.Clusterwide && (given || !o.dryRun.client()) {
		obj.SetNamespace(namespace)
	}
	t := observe.Target{Kind: kind, Namespace: namespace, Name: o.name, Path: o.path.path}
	if !o.dryRun.client() {
		client, err := c.Dynamic()
		if err != nil {
			return err
		}
		objects := t.Resource(client)
		obj, err = objects.Create(ctx, obj, metav1.CreateOptions{
			FieldManager: kinds.FieldManager, FieldValidation: metav1.FieldValidationStrict, DryRun: o.dryRun.server(),
		})
		if err != nil {
			return clients.Explain(kind, err)
		}
	}
	if !o.wait || o.dryRun != "none" {
		return printer.PrintObj(obj, o.streams.Out)
	}
	if err := printLine(printer, *o.print.OutputFormat, obj, o.streams.Out); err != nil {
		return err
	}
	created := observe.WaitTarget{Target: t, Conditions: []observe.Condition{observe.Ready()}, UID: obj.GetUID(), Since: obj.GetResourceVersion()}
	return outcome.Join(awaitAll(ctx, c, o.streams, *o.print.OutputFormat, o.limits.Limits, []observe.WaitTarget{created}))
}

// checkFiles refuses what would make another object than the files hold.
func (o *createOptions) checkFiles(cmd *cobra.Command, args []string) error {
	if len(args)+len(o.command) > 0 {
		return usageErrorf(cmd, "objects are named either by -f or -k or by arguments, not by both")
	}
	for _, flag := range []string{"replicas", "replicas-path", "image", "set", "set-string"} {
		if cmd.Flags().Changed(flag) {
			return usageErrorf(cmd, "--%s is for an object that is made of flags: those of -f and -k are created as they are", flag)
		}
	}
	return nil
}

// runFiles creates the objects of files. One that is refused does not stop the
// others.
func (o *createOptions) runFiles(ctx context.Context, c *clients.Factory) error {
	o.dryRun.complete(o.print)
	printer, err := o.print.ToPrinter()
	if err != nil {
		return &outcome.UsageError{Command: name + " create", Err: err}
	}
	namespace, enforced, err := c.Namespace()
	if err != nil {
		return err
	}
	if _, err := c.Config(); err != nil {
		return err // the builder would try a server on localhost
	}
	infos, err := resource.NewBuilder(c.Flags).
		Unstructured().
		ContinueOnError().
		NamespaceParam(namespace).DefaultNamespace().
		FilenameParam(enforced, &o.files).
		Flatten().
		Do().
		Infos()
	errs := separate(err)
	var all []observe.WaitTarget
	for _, info := range infos {
		w, err := o.createFrom(ctx, c, info, printer)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, w)
	}
	if len(infos)+len(errs) == 0 {
		return errors.New("no objects passed to create")
	}
	if o.wait && o.dryRun == "none" {
		errs = append(errs, awaitAll(ctx, c, o.streams, *o.print.OutputFormat, o.limits.Limits, all)...)
	}
	return outcome.Join(errs)
}

// createFrom creates an object of a file, and says so. It returns what there is
// to wait for.
func (o *createOptions) createFrom(ctx context.Context, c *clients.Factory, info *resource.Info, printer printers.ResourcePrinter) (observe.WaitTarget, error) {
	kind, err := c.KindOf(ctx, info.Mapping)
	if err != nil {
		return observe.WaitTarget{}, err
	}
	obj, is := info.Object.(*unstructured.Unstructured)
	if !is {
		return observe.WaitTarget{}, fmt.Errorf("read %s: it is no object", info.Source)
	}
	t := observe.Target{Kind: kind, Namespace: info.Namespace, Name: info.Name}
	if !o.dryRun.client() {
		client, err := c.Dynamic()
		if err != nil {
			return observe.WaitTarget{}, err
		}
		obj, err = t.Resource(client).Create(ctx, obj, metav1.CreateOptions{
			FieldManager: kinds.FieldManager, FieldValidation: metav1.FieldValidationStrict, DryRun: o.dryRun.server(),
		})
		if err != nil {
			return observe.WaitTarget{}, clients.Explain(kind, err)
		}
	}
	w := observe.WaitTarget{Target: t, Conditions: []observe.Condition{observe.Ready()}, UID: obj.GetUID(), Since: obj.GetResourceVersion()}
	w.Target.Name = obj.GetName() // which the server may have made
	if !o.wait || o.dryRun != "none" {
		return w, printer.PrintObj(obj, o.streams.Out)
	}
	return w, printLine(printer, *o.print.OutputFormat, obj, o.streams.Out)
}

// kind is the kind to create. An ImoocPod needs no discovery, and no finder
// unless fields are set.
func (o *createOptions) kind(ctx context.Context, c *clients.Factory) (kinds.Kind, *discover.Finder, error) {
	if o.typeName == "" && len(o.set) == 0 {
		return kinds.ImoocPod(), &discover.Finder{}, nil
	}
	finder, err := c.Finder()
	if err != nil || o.typeName == "" {
		return kinds.ImoocPod(), finder, err
	}
	kind, err := c.KindNamed(ctx, o.typeName)
	return kind, finder, err
}

// object is the smallest object that says what the flags say: what they leave
// out is left to the defaults of the CRD.
func (o *createOptions) object(ctx context.Context, kind kinds.Kind, finder *discover.Finder) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(kind.GroupVersionKind())
	obj.SetName(o.name)
	var err error
	if kind.Reconciled() && o.path.path == nil {
		err = o.putSpec(kind, obj)
	} else if o.counted {
		err = o.putCount(ctx, kind, finder, obj)
	}
	if err != nil {
		return nil, err
	}
	return obj, o.putFields(kind, finder, obj)
}

// putCount puts the count of a kind that this program does not ship where it
// lives.
func (o *createOptions) putCount(ctx context.Context, kind kinds.Kind, finder *discover.Finder, obj *unstructured.Unstructured) error {
	field, err := finder.Find(ctx, kind, obj, o.path.path)
	var unknown *discover.UnknownFieldError
	switch {
	case errors.As(err, &unknown):
		return &ChooseFieldError{verb: "create", target: observe.Target{Kind: kind, Name: o.name}, count: fmt.Sprintf("--replicas %d", o.replicas), Err: unknown}
	case err != nil:
		return err
	case o.path.path == nil && severalCounts(ctx, finder, kind, field):
		facts, err := finder.StatusFacts(ctx, kind, field.Path)
		if err != nil {
			return err
		}
		return &outcome.UsageError{Command: name + " create", Err: fmt.Errorf("%s has several counts, and --replicas could mean %s (its /scale, of %ss) or %s: name it with --replicas-path",
			kind.CRD(), field.Path, facts.Unit, strings.Join(facts.Beside, " or "))}
	case field.Path == nil:
		return fmt.Errorf("%s has /scale, but you may not read its CRD, which says of which field: name it with --replicas-path", kind.CRD())
	}
	return field.Path.Set(obj.Object, int64(o.replicas))
}

// severalCounts reports whether the count of a kind is not of pods while another
// beside it may be.
func severalCounts(ctx context.Context, finder *discover.Finder, kind kinds.Kind, field discover.Field) bool {
	if field.Path == nil {
		return false
	}
	facts, err := finder.StatusFacts(ctx, kind, field.Path)
	return err == nil && facts.Unit != "pod" && len(facts.Beside) > 0
}

// putFields sets the fields that --set and --set-string name.
func (o *createOptions) putFields(kind kinds.Kind, finder *discover.Finder, obj *unstructured.Unstructured) error {
	for _, pair := range o.setString {
		path, word, err := fieldpath.ParseSetting(pair)
		if err == nil {
			err = path.Set(obj.Object, word)
		}
		if err != nil {
			return &outcome.UsageError{Command: name + " create", Err: fmt.Errorf("--set-string: %w", err)}
		}
	}
	if len(o.set) == 0 {
		return nil
	}
	schema, err := finder.Schema(kind)
	if err != nil {
		return err
	}
	for _, pair := range o.set {
		path, word, err := fieldpath.ParseSetting(pair)
		if err != nil {
			return &outcome.UsageError{Command: name + " create", Err: fmt.Errorf("--set: %w", err)}
		}
		value, err := path.Typed(schema, word)
		if err == nil {
			err = path.Set(obj.Object, value)
		}
		if err != nil {
			return &outcome.UsageError{Command: name + " create", Err: fmt.Errorf("--set: %w", err)}
		}
	}
	return nil
}

// checkLength refuses what is too long for the name of a new object of a kind
// that this program ships. The other verbs ask a server for longer names too,
// which an older CRD may have let in.
func checkLength(objectName string) error {
	if len(objectName) > apis.MaxNameLength {
		return fmt.Errorf("invalid name %q: it must be no longer than %d characters", objectName, apis.MaxNameLength)
	}
	return nil
}

// check refuses what a kind has no field for.
func (o *createOptions) check(kind kinds.Kind) error {
	r := kind.Mapping
	switch {
	case kind.Shipped() && o.path.path != nil:
		return errors.New("--replicas-path says where --replicas goes in an object of another TYPE")
	case !kind.Reconciled() && (o.image != "" || len(o.command) > 0):
		return errors.New("--image and a command are for the kinds that run-controller reconciles; --set gives other types their fields")
	case o.image != "" && r.TemplatePath == nil && r.ImagePath == nil:
		return fmt.Errorf("a %s takes no --image: it runs %s", kind.Kind, r.Image)
	case len(o.command) > 0 && r.TemplatePath == nil && r.CommandPath == nil:
		return fmt.Errorf("a %s takes no command: it runs that of its image", kind.Kind)
	case len(o.command) > 0 && o.image == "" && r.TemplatePath != nil && r.Template == nil:
		return fmt.Errorf("a %s takes a command only with --image: it has no template of its own", kind.Kind)
	case o.counted && r.Strategy == kinds.StrategyNodes:
		return fmt.Errorf("a %s takes no --replicas: it runs one pod per node", kind.Kind)
	case kind.Shipped():
		return checkLength(o.name)
	}
	return nil
}

// putSpec puts what the flags say into an object of a kind that run-controller
// reconciles. The count is always said, as the tutorials' own CRDs want it.
func (o *createOptions) putSpec(kind kinds.Kind, obj *unstructured.Unstructured) error {
	if path := kind.Path(); path != nil {
		if err := path.Set(obj.Object, int64(o.replicas)); err != nil {
			return err
		}
	}
	r := kind.Mapping
	var err error
	if r.DeploymentNamePath != nil {
		// --set may choose another.
		err = unstructured.SetNestedField(obj.Object, o.name, r.DeploymentNamePath...)
	}
	if err == nil && r.TemplatePath != nil {
		return o.putTemplate(obj.Object, r.TemplatePath)
	}
	if err == nil && o.image != "" {
		err = unstructured.SetNestedField(obj.Object, o.image, r.ImagePath...)
	}
	if err == nil && len(o.command) > 0 {
		err = unstructured.SetNestedStringSlice(obj.Object, o.command, r.CommandPath...)
	}
	return err
}

// putTemplate puts the pod template that the flags ask for, if they do.
func (o *createOptions) putTemplate(obj map[string]any, path []string) error {
	template := o.template()
	if template == nil {
		return nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(template)
	if err != nil {
		return fmt.Errorf("make the pod template: %w", err)
	}
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	return unstructured.SetNestedMap(obj, fields, path...)
}

// template is the pod template that the flags ask for, nil for the default.
func (o *createOptions) template() *corev1.PodTemplateSpec {
	switch {
	case o.image != "":
		return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: o.image, Command: o.command}},
		}}
	case len(o.command) > 0:
		template := v1alpha1.DefaultTemplate()
		template.Spec.Containers[0].Command = o.command
		return template
	}
	return nil
}
