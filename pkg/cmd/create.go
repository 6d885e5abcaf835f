package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/podtemplate"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// createOptions says what to create.
type createOptions struct {
	commonOptions
	print  *genericclioptions.PrintFlags
	dryRun dryRun

	// typeName is the TYPE of TYPE/NAME; "" is an ImoocPod.
	typeName string
	name     string
	// counted says that --replicas was given.
	counted  bool
	replicas int32
	path     *fieldpath.Path
	image    string
	command  []string
	// files hold objects to create as they are.
	files resource.FilenameOptions
	// set and setString are PATH=VALUE, the one typed by the schema.
	set, setString []string
	reason         string

	after changeWaitFlags

	// dash is how many arguments stand before --, negative without.
	dash    func() int
	printer printers.ResourcePrinter
	finder  *discover.Finder
	client  dynamic.Interface
	loops   *loopWarner
	// namespace is the current one; chosen says that a flag named it.
	namespace string
	chosen    bool
}

func newCreateCommand(common commonOptions) *cobra.Command {
	o := &createOptions{commonOptions: common, print: genericclioptions.NewPrintFlags("created"), replicas: 1}
	cmd := &cobra.Command{
		Use:   "create (NAME | TYPE/NAME | -f FILENAME) [--replicas=COUNT] [--image=IMAGE] [--set=PATH=VALUE ...] [--dry-run=server|client|none] [--wait] [-- COMMAND [args...]]",
		Short: "Create an ImoocPod or another object with replicas",
		Long: `Create an ImoocPod, which is a number of identical pods, or, with TYPE/NAME, an
object of any type. The object contains the replica count and the fields that
--set gives, and nothing else. The Deployment of an AppService has the name of the
AppService unless --set .spec.deploymentName=NAME gives another.

Without --image, each pod of an ImoocPod sleeps in a small busybox container that
meets the restricted Pod Security level. With --image, the pods run that image and
nothing else is set, as with "kubectl create deployment". The words after -- are
the command of the container.

With -f, the command creates the objects of a file, a directory or a URL as they
are, like "kubectl create -f".

With --wait, the command waits until the object is ready. It exits with code 3 if
the object cannot become ready without help (see --fail-after), with code 4 when
the timeout is over, and with code 5 if someone else changes what it created. With
--on-failure=revert, it deletes the object then, and exits with code 9. With -o json
it prints one document per line: the object, followed by a status report for every
change.`,
		Example: `  # Create three pods that sleep
  kubectl imoocpod create foo --replicas 3

  # Create three pods and wait until they are ready
  kubectl imoocpod create foo --replicas 3 --wait --timeout 2m

  # Create two pods with your own image
  kubectl imoocpod create web --replicas 2 --image nginx

  # Create the default pod with another command
  kubectl imoocpod create nap -- sleep 60

  # Create objects of the other kinds that "run-controller" reconciles
  kubectl imoocpod create appservice/foo --replicas 2 --image nginx:1.27
  kubectl imoocpod create helloworld/hi --replicas 3
  kubectl imoocpod create mydaemonset/agent --image nginx

  # Create an object of any type
  kubectl imoocpod create foos.samplecontroller.k8s.io/bar --replicas 2 --replicas-path .spec.replicas --set .spec.deploymentName=bar

  # Create the objects of a file and wait until they are ready
  kubectl imoocpod create -f foos.yaml --wait

  # Print a manifest to start from
  kubectl imoocpod create foo --replicas 3 --dry-run=client -o yaml`,
	}
	addPrintFlags(cmd, o.print)
	o.dryRun.addFlag(cmd)
	cmd.Flags().StringSliceVarP(&o.files.Filenames, "filename", "f", nil, "Filename, directory, or URL to files with the objects to create.")
	cmd.Flags().BoolVarP(&o.files.Recursive, "recursive", "R", false, "Process the directory used in -f, --filename recursively.")
	cmd.Flags().StringVarP(&o.files.Kustomize, "kustomize", "k", "", "Process the kustomization directory. This flag can't be used together with -f or -R.")
	cmd.Flags().VarP(count{&o.replicas, 0}, "replicas", "r", "The desired number of replicas.")
	addReplicasPathFlag(cmd, &o.path)
	cmd.Flags().StringArrayVar(&o.set, "set", nil, "Set a field, as PATH=VALUE; the schema gives the type of the value (can be repeated).")
	cmd.Flags().StringArrayVar(&o.setString, "set-string", nil, "Set a field to a string, as PATH=VALUE (can be repeated).")
	cmd.Flags().StringVar(&o.image, "image", o.image, "Image of the container; required for a MyDaemonSet.")
	cmd.Flags().StringVar(&o.reason, "reason", "", "Why the object is created, which \"history\" shows.")
	o.after.addFlags(cmd, "Wait until the object is ready.")
	o.dash = cmd.ArgsLenAtDash
	return bind(cmd, o)
}

// complete reads what to create.
func (o *createOptions) complete(args []string) error {
	o.dryRun.complete(o.print)
	o.after.complete()
	o.counted = o.after.given("replicas")
	if dash := o.dash(); dash >= 0 {
		args, o.command = args[:dash], args[dash:]
	}
	switch {
	case o.fromFiles() && len(args)+len(o.command) > 0:
		return usageErrorf("-f and -k cannot be used together with arguments")
	case o.fromFiles():
		return nil
	case len(args) == 0:
		return usageErrorf("a NAME is required")
	case len(args) > 1:
		return usageErrorf("expected one NAME, got %d arguments", len(args))
	}
	o.name = args[0]
	if typeName, name, found := strings.Cut(o.name, "/"); found {
		o.typeName, o.name = typeName, name
		if typeName == "" {
			return usageErrorf("%q has no type before the slash", "/"+name)
		}
	}
	if slices.Contains(kube.TypeNames(kinds.ImoocPod()), o.typeName) {
		o.typeName = ""
	}
	return nil
}

// validate refuses what cannot be the name of an object, or would make another object
// than the files hold.
func (o *createOptions) validate() error {
	if o.fromFiles() {
		for _, flag := range []string{"replicas", "replicas-path", "image", "set", "set-string"} {
			if o.after.given(flag) {
				return usageErrorf("--%s cannot be used with -f or -k, which create objects as they are", flag)
			}
		}
		return o.after.validateTimeout()
	}
	if o.typeName == "" {
		if err := checkLength(o.name); err != nil {
			return usageErrorf("%w", err)
		}
	}
	switch problem := nameProblem(o.name); {
	case problem != "":
		return usageErrorf("invalid name %q: %s", o.name, problem)
	case o.path != nil && !o.counted:
		return usageErrorf("--replicas-path needs --replicas")
	case o.image == "" && o.after.given("image"):
		return usageErrorf("--image must not be empty")
	case o.image != "":
		if err := podtemplate.CheckImage(o.image); err != nil {
			return usageErrorf("--image: %w", err)
		}
	}
	return o.after.validateTimeout()
}

func (o *createOptions) fromFiles() bool { return len(o.files.Filenames)+len(o.files.Kustomize) > 0 }

// Run creates an object, or those of files.
func (o *createOptions) Run(ctx context.Context) error {
	var err error
	if o.printer, err = linePrinter(o.print); err != nil {
		return err
	}
	if o.waits() {
		o.printer = onOneLine(o.printer, o.print)
	}
	if o.fromFiles() {
		return o.createFiles(ctx)
	}
	kind, err := o.kind(ctx)
	if err != nil {
		return err
	}
	if err := o.check(kind); err != nil {
		return usageErrorf("%w", err)
	}
	if err := o.connect(); err != nil {
		return err
	}
	obj, err := o.object(ctx, kind)
	if err != nil {
		return err
	}
	t := observe.Named(kind, o.namespace, o.name)
	t.Path = o.path
	if o.chosen || !o.dryRun.client() {
		obj.SetNamespace(t.Namespace)
	}
	c, err := o.send(ctx, t, obj)
	if err != nil || !o.waits() {
		return err
	}
	return outcome.Join(o.followChanges(ctx, *o.print.OutputFormat, o.after, []change{c}))
}

// waits reports whether what is created is waited for.
func (o *createOptions) waits() bool { return o.after.wait && o.dryRun == "none" }

// connect makes what objects are created with.
func (o *createOptions) connect() (err error) {
	if o.namespace, o.chosen, err = o.clients.Namespace(); err == nil && !o.dryRun.client() {
		o.client, err = o.clients.Dynamic()
	}
	if o.dryRun == "none" {
		o.loops = &loopWarner{client: o.client, out: o.streams.ErrOut, line: o.line}
	}
	return err
}

// send creates an object, and says so. It returns what there is to wait for.
func (o *createOptions) send(ctx context.Context, t observe.Target, request *unstructured.Unstructured) (change, error) {
	if err := o.sayWhy(ctx, request); err != nil {
		return change{}, err
	}
	if !o.waits() {
		o.loops.begin(ctx, t)
	}
	obj := request
	if !o.dryRun.client() {
		var err error
		obj, err = t.Resource(o.client).Create(ctx, request, metav1.CreateOptions{
			FieldManager: kinds.FieldManager, FieldValidation: metav1.FieldValidationStrict, DryRun: o.dryRun.server(),
		})
		if err != nil {
			return change{}, kube.Explain(t.Kind, err)
		}
	}
	t.Name = obj.GetName() // which the server may have made
	err := o.printer.PrintObj(obj, o.streams.Out)
	if err == nil && !o.waits() {
		t.Object = obj
		o.loops.warn(ctx, t)
	}
	uid := obj.GetUID()
	return change{
		WaitTarget: observe.WaitTarget{Target: t, Conditions: []observe.Condition{observe.Ready()}, UID: uid, Since: obj.GetResourceVersion()},
		written:    edit.Created(request, obj),
		revert: func(ctx context.Context) (string, error) {
			return "deleted", t.Resource(o.client).Delete(ctx, t.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(uid)), PropagationPolicy: new(metav1.DeletePropagationBackground)})
		},
		back: new(commandline.Plugin("delete", argumentOf(t)).In(obj.GetNamespace())),
	}, err
}

// sayWhy adds to an object who creates it and why, if a reason was given.
func (o *createOptions) sayWhy(ctx context.Context, obj *unstructured.Unstructured) error {
	if o.reason == "" {
		return nil
	}
	for _, edit := range template.Annotations(o.reason, o.clients.User(ctx)) {
		if err := edit.Apply(obj.Object); err != nil {
			return err
		}
	}
	return nil
}

// createFiles creates the objects of files. One that is refused does not stop the
// others.
func (o *createOptions) createFiles(ctx context.Context) error {
	if err := o.connect(); err != nil {
		return err
	}
	if _, err := o.clients.Config(); err != nil {
		return err // the builder would try a server on localhost
	}
	infos, err := resource.NewBuilder(o.clients.Flags).
		Unstructured().
		ContinueOnError().
		NamespaceParam(o.namespace).DefaultNamespace().
		FilenameParam(o.chosen, &o.files).
		Flatten().
		Do().
		Infos()
	errs := separate(err)
	var all []change
	for _, info := range infos {
		c, err := o.createFrom(ctx, info)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, c)
	}
	if len(infos)+len(errs) == 0 {
		return errors.New("no objects passed to create")
	}
	if o.waits() {
		errs = append(errs, o.followChanges(ctx, *o.print.OutputFormat, o.after, all)...)
	}
	return outcome.Join(errs)
}

// createFrom creates an object of a file.
func (o *createOptions) createFrom(ctx context.Context, info *resource.Info) (change, error) {
	kind, err := o.clients.KindOf(ctx, info.Mapping)
	if err != nil {
		return change{}, err
	}
	obj, is := info.Object.(*unstructured.Unstructured)
	if !is {
		return change{}, fmt.Errorf("read %s: not an object", info.Source)
	}
	return o.send(ctx, observe.Target{Kind: kind, Namespace: info.Namespace, Name: info.Name}, obj)
}

// kind is the kind to create. An ImoocPod needs no discovery, and no finder
// unless fields are set.
func (o *createOptions) kind(ctx context.Context) (kind kinds.Kind, err error) {
	o.finder = &discover.Finder{}
	if o.typeName != "" || len(o.set) > 0 {
		if o.finder, err = o.clients.Finder(); err != nil {
			return kind, err
		}
	}
	if o.typeName == "" {
		return kinds.ImoocPod(), nil
	}
	return o.clients.KindNamed(ctx, o.typeName)
}
