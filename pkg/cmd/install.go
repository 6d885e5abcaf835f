package cmd

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

type installOptions struct {
	common  commonOptions
	print   objectOutput
	dryRun  dryRun
	timeout time.Duration

	// controller means that the controller is also installed. settings configures it.
	controller bool
	settings   deploy.Settings
	// roles means that the roles are also installed, without bindings.
	roles bool
	given func(flag string) bool
}

func newInstallCommand(common commonOptions) *cobra.Command {
	o := &installOptions{
		common: common, timeout: 2 * time.Minute,
		settings: deploy.Settings{Replicas: 2, Version: common.version, Image: deploy.Image + ":" + common.version},
	}
	cmd := &cobra.Command{
		Use:   "install [--roles] [--controller [--namespace=NAMESPACE | --all-namespaces] [--image=IMAGE] [--replicas=COUNT]] [--dry-run=server|client|none] [--timeout=duration]",
		Short: "Install the custom resource definitions and, optionally, the controller",
		Long: `Install the custom resource definitions of this program and wait until the server
serves them. Run the command again to update them; it keeps the objects.

With --controller, the command also installs the controller as a Deployment and
waits until it is ready. The controller runs in the current namespace and
reconciles its objects. With -A it reconciles all namespaces and runs in
` + deploy.SystemNamespace + `, unless --namespace names another. A flag that is omitted in a
later run returns to its default. --image is required unless this program is a
release.

With --roles, the command also installs the roles for people, which add permissions
for these kinds to the built-in roles view, edit and admin, and the role that a
controller needs in the current namespace. It binds them to nobody. --controller -A
also installs the roles for people.`,
		Example: `  # Install or update the CRDs
  kubectl imoocpod install

  # Install or update the CRDs and the controller for all namespaces
  kubectl imoocpod install --controller -A --image registry.example.com/kubectl-imoocpod:v1

  # Print the manifests of a controller for one namespace
  kubectl imoocpod install --controller -n team-a --dry-run=client -o yaml`,
	}
	o.print.addFlags(cmd)
	o.dryRun.addFlag(cmd)
	cmd.Flags().BoolVar(&o.controller, "controller", false, "Install the controller as well.")
	cmd.Flags().BoolVar(&o.roles, "roles", false, "Install the roles for people, and the role of a controller in the current namespace.")
	addAllNamespacesFlag(cmd, &o.settings.AllNamespaces)
	cmd.Flags().Var(imageFlag(&o.settings.Image), "image", "Image of the controller.")
	if !isRelease(common.version) {
		cmd.Flags().Lookup("image").DefValue = "" // no image is published for other builds
	}
	cmd.Flags().VarP(numberFlag(&o.settings.Replicas, 0), "replicas", "r", "Number of pods of the controller, one of which is active.")
	addDuration(cmd.Flags(), &o.timeout, "timeout", "The length of time to wait for each definition to be served and for the controller to be ready.")
	o.given = cmd.Flags().Changed
	return command(cmd, o.complete, o.run)
}

func (o *installOptions) complete(args []string) error {
	if err := noArgs("install", args); err != nil {
		return err
	}
	if o.timeout == 0 {
		return usageErrorf("--timeout must be more than 0")
	}
	for _, flag := range []string{"image", "replicas", "all-namespaces"} {
		if o.given(flag) && !o.controller {
			return usageErrorf("--%s needs --controller", flag)
		}
	}
	if o.controller && !o.given("image") && !o.dryRun.client() && !isRelease(o.common.version) {
		return usageErrorf("--image is required: version %[1]s is not a release, so no image of it is published; build one with \"docker build --build-arg VERSION=%[1]s --tag REGISTRY/kubectl-imoocpod:%[1]s .\" and push it", o.common.version)
	}
	return o.print.complete()
}

func (o *installOptions) run(ctx context.Context) error {
	crds := deploy.CRDs()
	objs, err := o.objects()
	if err != nil {
		return err
	}
	if o.dryRun.client() {
		for _, obj := range append(crds, objs...) {
			if err := o.say(obj, "applied"); err != nil {
				return err
			}
		}
		return nil
	}
	c, err := o.common.connect()
	if err != nil {
		return err
	}
	err = o.installCRDs(ctx, c.Dynamic.Resource(kinds.CRDResource()), crds)
	if o.controller && apierrors.IsForbidden(err) {
		// All controllers share the CRDs, so the CRDs may be installed already.
		o.common.printErrf("Warning: the custom resource definitions were not updated: %v", err)
	} else if err != nil {
		return err
	}
	for _, obj := range objs {
		before, after, err := o.apply(ctx, objectsLike(c.Dynamic, obj), obj)
		if err == nil {
			err = o.say(after, applyDeed(before, after))
		}
		if err != nil {
			return err
		}
	}
	found, err := doctor.Controllers(ctx, c.Dynamic, o.settings.Namespace)
	if err != nil {
		return err
	}
	o.common.warnOfSkew(found)
	if !o.controller || o.dryRun != "none" {
		return nil
	}
	return o.awaitController(ctx, c)
}

// isRelease reports whether a version is a release, which has a published image. The versions that "git
// describe" prints for later commits are not releases.
func isRelease(version string) bool {
	return regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?$`).MatchString(version)
}

func (o *installOptions) awaitController(ctx context.Context, c *cluster) error {
	kind, err := c.KindNamed(ctx, kinds.Deployments)
	if err != nil {
		return err
	}
	t := observe.Target{Kind: kind, Namespace: o.settings.Namespace, Name: deploy.ControllerName}
	limits := waitFlags{Limits: observe.Limits{Timeout: o.timeout, FailAfter: failAfter, FailFast: true}}
	return outcome.Join(c.awaitAll(ctx, "", limits, []observe.WaitTarget{{Target: t, Conditions: []observe.Condition{observe.Ready()}}}, nil, nil))
}

// objects returns the roles and the controller's objects that the flags select, and sets the controller's
// namespace. If this namespace is SystemNamespace, the Namespace object is first.
func (o *installOptions) objects() (objs []*unstructured.Unstructured, err error) {
	if o.roles {
		namespace, _, err := o.common.factory.Namespace()
		if err != nil {
			return nil, err
		}
		objs = deploy.Roles(namespace)
	} else if o.settings.AllNamespaces {
		objs = deploy.People()
	}
	if !o.controller {
		return objs, nil
	}
	if o.settings.Namespace, err = controllerNamespace(o.common.factory, o.settings.AllNamespaces); err != nil {
		return nil, err
	}
	if o.settings.Namespace == deploy.SystemNamespace {
		objs = slices.Insert(objs, 0, deploy.Namespace())
	}
	return append(objs, deploy.Controller(o.settings)...), nil
}

// controllerNamespace returns the namespace that a controller runs in. Without -n, a controller for all namespaces
// runs in SystemNamespace, and any other controller runs in the current namespace.
func controllerNamespace(f *kube.Factory, all bool) (string, error) {
	namespace, given, err := f.Namespace()
	if err == nil && all && !given {
		namespace = deploy.SystemNamespace
	}
	return namespace, err
}

// installCRDs applies all CRDs before it waits until they are served, because some servers need seconds for each.
func (o *installOptions) installCRDs(ctx context.Context, objects dynamic.ResourceInterface, crds []*unstructured.Unstructured) error {
	var errs []error
	var deeds []string
	for i, crd := range crds {
		before, after, err := o.apply(ctx, objects, crd)
		if err != nil {
			errs = append(errs, err)
			break
		}
		crds[i], deeds = after, append(deeds, applyDeed(before, after))
	}
	for i, deed := range deeds {
		var err error
		if o.dryRun == "none" {
			err = awaitEstablished(ctx, objects, crds[i], o.timeout)
		}
		if err == nil {
			err = o.say(crds[i], deed)
		}
		errs = append(errs, err)
	}
	return outcome.Join(errs)
}

func awaitEstablished(ctx context.Context, crds dynamic.ResourceInterface, sent *unstructured.Unstructured, timeout time.Duration) error {
	err := observe.WaitForObject(ctx, crds, sent.GetName(), timeout, func(obj *unstructured.Unstructured) (bool, error) {
		return obj != nil && kinds.Established(obj), nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s to be established: %w", sent.GetName(), err)
	}
	return nil
}
