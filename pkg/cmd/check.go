package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/clients"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/printer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// checkOptions says for what the checks are made.
type checkOptions struct {
	clients       *clients.Factory
	streams       genericiooptions.IOStreams
	version       string
	color         color
	output        string
	allNamespaces bool
}

func newCheckCommand(c *clients.Factory, version string, streams genericiooptions.IOStreams) *cobra.Command {
	o := &checkOptions{clients: c, streams: streams, version: version}
	cmd := &cobra.Command{
		Use:   "check [--namespace=NAMESPACE | --all-namespaces] [--output=json]",
		Short: "Tell whether all is in place to work here",
		Long: `Tell whether all is in place to work in a namespace, or in all of them: the server
and its version, the custom resource definitions, the rights of the current user
for each verb and for the controller, the loops that run, deployed controllers of
another version, and pods that a quota or admission holds up.

Below what is missing are the commands that would mend it. Whoever runs them may
need more rights than the current user. The exit code is 0 if nothing is missing.`,
		Example: `  # Is all in place in the current namespace?
  kubectl imoocpod check

  # May somebody else work there?
  kubectl imoocpod check -n team-a --as alice

  # What is missing, for a script
  kubectl imoocpod check -o json`,
	}
	cmd.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "Check for all namespaces.")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "Output format. One of: (json).")
	o.color.addFlag(cmd)
	return bind(cmd, o)
}

func (o *checkOptions) complete(args []string) error { return noArgs("check", args) }

func (o *checkOptions) validate() error {
	if o.output != "" && o.output != "json" {
		return usageErrorf("unknown output format %q: the only one is json", o.output)
	}
	return nil
}

// Run makes the checks, and prints them.
func (o *checkOptions) Run(ctx context.Context) error {
	c := o.clients
	checks, err := o.checks(ctx, c)
	if err != nil {
		return err
	}
	failed := 0
	for i := range checks {
		if checks[i].State == status.CheckFailed {
			failed++
		}
		for j, command := range checks[i].Fix {
			checks[i].Fix[j] = command + sameCluster(c)
		}
	}
	if err := o.print(checks, failed == 0); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(checks))
	}
	return nil
}

func (o *checkOptions) print(checks []status.Check, passed bool) error {
	if o.output == "" {
		return printer.Checks(o.streams.Out, checks, o.color.style(o.streams.Out))
	}
	text, err := json.MarshalIndent(map[string]any{"apiVersion": status.ReportVersion, "kind": "CheckReport", "passed": passed, "checks": checks}, "", "  ")
	if err != nil {
		return fmt.Errorf("print the checks: %w", err)
	}
	_, err = fmt.Fprintf(o.streams.Out, "%s\n", text)
	return err
}

// sameCluster are the flags by which a command that is pasted acts on the
// cluster that was looked at.
func sameCluster(c *clients.Factory) string {
	var flags string
	if given := *c.Flags.KubeConfig; given != "" {
		flags += " --kubeconfig " + escape.ShellWord(given)
	}
	if given := *c.Flags.Context; given != "" {
		flags += " --context " + escape.ShellWord(given)
	}
	return flags
}

func (o *checkOptions) checks(ctx context.Context, c *clients.Factory) ([]status.Check, error) {
	namespace, _, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	if o.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	client, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	server, err := serverVersion(ctx, c)
	if err != nil {
		return nil, err // nothing else can be looked at
	}
	checks := []status.Check{status.CheckServer(server.GitVersion, config.Host)}
	crds, err := deploy.CRDs()
	if err != nil {
		return nil, err
	}
	for _, crd := range crds {
		check, err := checkCRD(ctx, client, crd)
		if err != nil {
			return nil, err
		}
		checks = append(checks, check)
	}
	declarations, inUse, err := checkDeclarations(ctx, client, namespace)
	if err != nil {
		return nil, err
	}
	checks = append(checks, declarations...)
	var shipped []string
	for _, kind := range kinds.Shipped() {
		shipped = append(shipped, kind.CRD())
	}
	rights, err := checkRights(ctx, client, namespace)
	if err != nil {
		return nil, err
	}
	checks = append(checks, rights...)
	loops, err := o.checkLoops(ctx, client, shipped, inUse, namespace)
	if err != nil {
		return nil, err
	}
	checks = append(checks, loops...)
	controllers, err := deployedControllers(ctx, client, namespace)
	if err != nil {
		return nil, err
	}
	for _, d := range controllers {
		checks = append(checks, status.CheckDeployed(d.Namespace, d.Version, o.version))
	}
	held, err := checkHeldUp(ctx, client, namespace)
	return append(checks, held...), err
}

func checkCRD(ctx context.Context, client dynamic.Interface, crd *unstructured.Unstructured) (status.Check, error) {
	have, err := client.Resource(crdResource()).Get(ctx, crd.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return status.CheckCRD(crd.GetName(), crd.Object, nil), nil
	case apierrors.IsForbidden(err):
		return status.Check{Name: "CRD " + crd.GetName(), State: status.CheckUnknown, Message: "may not be read"}, nil
	case err != nil:
		return status.Check{}, err
	}
	return status.CheckCRD(crd.GetName(), crd.Object, have.Object), nil
}

// checkDeclarations looks at the kinds that CRDs declare beside those that are
// shipped, and returns those of which there are objects. Who may not list CRDs has
// none to look at.
func checkDeclarations(ctx context.Context, client dynamic.Interface, namespace string) (checks []status.Check, inUse []string, err error) {
	crds, err := client.Resource(crdResource()).List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for i := range crds.Items {
		crd := &crds.Items[i]
		kind, err := kinds.Declared(crd)
		check := status.Check{Name: "kind " + crd.GetName(), State: status.CheckPassed, Message: fmt.Sprintf("declared with the plan %s", kind.Mapping.Strategy)}
		switch {
		case err == nil && (!kind.Reconciled() || kind.Shipped()):
			continue
		case err != nil:
			check.State, check.Message, check.Fix = status.CheckFailed, err.Error(), []string{"kubectl edit crd " + crd.GetName()}
		default:
			in := namespace
			if kind.Clusterwide {
				in = metav1.NamespaceAll
			}
			// Who may not list them has none, either.
			if list, err := client.Resource(kind.Resource).Namespace(in).List(ctx, metav1.ListOptions{Limit: 1}); err == nil && len(list.Items) > 0 {
				inUse = append(inUse, kind.CRD())
			}
		}
		checks = append(checks, check)
	}
	return checks, inUse, nil
}

// verbRights are the rights that a verb needs.
type verbRights struct {
	verb   string
	rights []status.Right
}

// neededRights lists what each verb does with ImoocPods, and what the controller's
// role allows it.
func neededRights(namespace string) ([]verbRights, error) {
	kind := kinds.ImoocPod().Resource
	own := func(subresource string, verbs ...string) []status.Right {
		var rights []status.Right
		for _, verb := range verbs {
			rights = append(rights, status.Right{Verb: verb, Group: kind.Group, Resource: kind.Resource, Subresource: subresource})
		}
		return rights
	}
	pods := status.Right{Verb: "list", Resource: "pods"}
	crd := func(verb string) status.Right {
		return status.Right{Verb: verb, Group: crdResource().Group, Resource: crdResource().Resource, Clusterwide: true}
	}
	all := []verbRights{
		{"create", own("", "create")},
		{"scale", append(own("scale", "patch"), own("", "get", "list", "watch")...)},
		{"status", append(own("", "get", "list", "watch"), pods)},
		{"describe", append(own("", "get"), pods, status.Right{Verb: "list", Resource: "events"})},
		{"delete", own("", "get", "delete")},
		{"install", []status.Right{crd("get"), crd("create"), crd("patch")}},
	}
	loop, err := loopRights(namespace)
	return append(all, verbRights{"run-controller", loop}), err
}

// loopRights reads the rights of the controller from its role.
func loopRights(namespace string) ([]status.Right, error) {
	objs, err := deploy.Controller(deploy.Settings{Namespace: namespace, AllNamespaces: namespace == ""})
	if err != nil {
		return nil, err
	}
	var rights []status.Right
	for _, obj := range objs {
		if kind := obj.GetKind(); kind != "Role" && kind != "ClusterRole" || namespace == "" && kind == "Role" {
			continue
		}
		var role rbacv1.ClusterRole // a Role has the same rules
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &role); err != nil {
			return nil, fmt.Errorf("read the role of the controller: %w", err)
		}
		for _, rule := range role.Rules {
			rights = append(rights, rightsOf(rule)...)
		}
	}
	return rights, nil
}

// rightsOf takes a rule of a role apart.
func rightsOf(rule rbacv1.PolicyRule) []status.Right {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	var rights []status.Right
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				for _, name := range names {
					rights = append(rights, newRight(verb, group, resource, name))
				}
			}
		}
	}
	return rights
}

func newRight(verb, group, resource, name string) status.Right {
	resource, subresource, _ := strings.Cut(resource, "/")
	return status.Right{Verb: verb, Group: group, Resource: resource, Subresource: subresource, Name: name}
}

// checkRights asks the server for each right once, several at a time.
func checkRights(ctx context.Context, client dynamic.Interface, namespace string) ([]status.Check, error) {
	needed, err := neededRights(namespace)
	if err != nil {
		return nil, err
	}
	user := whoAmI(ctx, client)
	answers := map[status.Right]*bool{}
	var mu sync.Mutex
	var running sync.WaitGroup
	todo := make(chan status.Right)
	for range surveyors {
		running.Go(func() {
			for right := range todo {
				allowed := clients.Allowed(ctx, client, right, namespace)
				mu.Lock()
				answers[right] = allowed
				mu.Unlock()
			}
		})
	}
	asked := map[status.Right]bool{}
	for _, verb := range needed {
		for _, right := range verb.rights {
			if !asked[right] {
				asked[right] = true
				todo <- right
			}
		}
	}
	close(todo)
	running.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var checks []status.Check
	for _, verb := range needed {
		var missing []status.Right
		answered := true
		for _, right := range verb.rights {
			switch allowed := answers[right]; {
			case allowed == nil:
				answered = false
			case !*allowed:
				missing = append(missing, right)
			}
		}
		checks = append(checks, status.CheckRights(verb.verb, missing, answered, user, namespace))
	}
	return checks, nil
}

// whoAmI is the user as the server sees it, or "you" where it does not say.
func whoAmI(ctx context.Context, client dynamic.Interface) string {
	review := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}}
	reviews := client.Resource(schema.GroupVersionResource{Group: "authentication.k8s.io", Version: "v1", Resource: "selfsubjectreviews"})
	answer, err := reviews.Create(ctx, review, metav1.CreateOptions{})
	if err == nil {
		if user, found, err := unstructured.NestedString(answer.Object, "status", "userInfo", "username"); err == nil && found {
			return user
		}
	}
	return "you"
}

// checkLoops finds the loops by their leases: all that this user may list.
func (o *checkOptions) checkLoops(ctx context.Context, client dynamic.Interface, shipped, declared []string, namespace string) ([]status.Check, error) {
	leases := client.Resource(coordinationv1.SchemeGroupVersion.WithResource("leases"))
	selected := metav1.ListOptions{LabelSelector: apis.LabelController + "=" + apis.RunController}
	list, err := leases.List(ctx, selected)
	if apierrors.IsForbidden(err) && namespace != metav1.NamespaceAll {
		list, err = leases.Namespace(namespace).List(ctx, selected)
	}
	if apierrors.IsForbidden(err) {
		return []status.Check{{Name: "loop", State: status.CheckUnknown, Message: "the leases that tell of one may not be listed"}}, nil
	}
	if err != nil {
		return nil, err
	}
	var loops []status.Loop
	for i := range list.Items {
		var lease coordinationv1.Lease
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &lease); err != nil {
			return nil, fmt.Errorf("read the lease %s: %w", list.Items[i].GetName(), err)
		}
		loops = append(loops, status.LoopOf(&lease))
	}
	now := time.Now()
	return append(status.CheckLoops(loops, shipped, namespace, o.version, now), status.CheckDeclared(loops, declared, namespace, now)...), nil
}

// checkHeldUp looks at the objects of the kinds that the program ships.
func checkHeldUp(ctx context.Context, client dynamic.Interface, namespace string) ([]status.Check, error) {
	var reports []status.Report
	for _, kind := range kinds.Shipped() {
		list, err := client.Resource(kind.Resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue // the check of its CRD says so
		case apierrors.IsForbidden(err):
			return []status.Check{{Name: "pods", State: status.CheckUnknown, Message: kind.CRD() + " may not be listed"}}, nil
		case err != nil:
			return nil, err
		}
		for i := range list.Items {
			facts, err := kind.Facts(&list.Items[i])
			if err != nil {
				return nil, err
			}
			reports = append(reports, status.NewReport(status.Snapshot{Object: facts, Now: time.Now()}))
		}
	}
	return status.CheckHeldUp(reports), nil
}
