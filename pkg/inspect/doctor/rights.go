package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
)

// askers is how many rights are asked about at the same time.
const askers = 8

// verbRights are the rights that a verb needs, and the role of deploy/rbac that grants them.
type verbRights struct {
	verb   string
	role   string
	rights []check.Right
	// setup reports whether the verb serves only those who use the kinds that this program
	// reconciles.
	setup bool
}

// The roles of deploy/rbac.
const (
	viewer     = "imoocpod-viewer"
	editor     = "imoocpod-editor"
	controller = deploy.ControllerName
)

// rights checks which of the rights that each verb needs the user has.
func (d *Doctor) rights(ctx context.Context) ([]check.Result, error) {
	needed, err := neededRights(d.Namespace, d.served)
	if err != nil {
		return nil, err
	}
	answers := d.ask(ctx, needed)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	checks := d.checkRights(needed, answers)
	if slices.ContainsFunc(checks, func(c check.Result) bool { return len(c.Fix) > 0 }) {
		d.bindRoles(checks, needed, d.roles(ctx))
	}
	return checks, nil
}

// roles returns which roles of deploy/rbac are installed.
func (d *Doctor) roles(ctx context.Context) sets.Set[string] {
	installed := sets.New[string]()
	for _, role := range []string{viewer, editor, controller} {
		var err error
		switch kindOf(role, d.Namespace) {
		case "clusterrole":
			_, err = d.client.Resource(rbacv1.SchemeGroupVersion.WithResource("clusterroles")).Get(ctx, role, metav1.GetOptions{})
		case "role":
			_, err = d.client.Resource(rbacv1.SchemeGroupVersion.WithResource("roles")).Namespace(d.Namespace).Get(ctx, role, metav1.GetOptions{})
		default:
			continue
		}
		if err == nil {
			installed.Insert(role)
		}
	}
	return installed
}

// bindRoles replaces the commands that grant single rights by one that binds a role. A
// command that installs the role precedes it unless the role is installed. The editor role
// includes the rights of the viewer role.
func (d *Doctor) bindRoles(checks []check.Result, needed []verbRights, installed sets.Set[string]) {
	edits := false
	for i, c := range checks {
		edits = edits || len(c.Fix) > 0 && needed[i].role == editor
	}
	for i := range checks {
		role := needed[i].role
		if role == viewer && edits {
			role = editor
		}
		kind := kindOf(role, d.Namespace)
		if len(checks[i].Fix) == 0 || kind == "" {
			continue
		}
		checks[i].Fix = nil
		if !installed.Has(role) {
			checks[i].Fix = []string{d.commands.Line(commandline.Plugin("install", "--roles").In(d.Namespace))}
		}
		checks[i].Fix = append(checks[i].Fix, d.commands.Line(d.bind(role, kind)))
	}
}

// kindOf returns the kind of a role that "install --roles" installs for a namespace or, if
// that is empty, for all: "clusterrole", "role", or "" if it installs none.
func kindOf(role, namespace string) string {
	switch {
	case role == viewer || role == editor:
		return "clusterrole"
	case role == controller && namespace != metav1.NamespaceAll:
		return "role"
	}
	return ""
}

// bind returns the command that grants the user a role.
func (d *Doctor) bind(role, kind string) commandline.Command {
	binding := "rolebinding"
	if d.Namespace == metav1.NamespaceAll {
		binding = "clusterrolebinding"
	}
	name := role + "-" + strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, strings.ToLower(d.user))
	return commandline.Kubectl("create", binding, name, "--"+kind+"="+role, check.Subject(d.user)).In(d.Namespace)
}

// neededRights returns the rights that each verb needs in a namespace, or in all if that is
// empty, to work with the kinds that are served. Whoever has none of these works with
// Deployments, which the roles of deploy/rbac do not cover.
func neededRights(namespace string, served []kinds.Kind) ([]verbRights, error) {
	editor, viewer := editor, viewer
	if len(served) == 0 {
		served, editor, viewer = []kinds.Kind{deployments()}, "", ""
	}
	var objects, scales []string
	for _, k := range served {
		objects = append(objects, k.CRD())
		if len(k.ReplicasPath) > 0 {
			scales = append(scales, k.CRD()+"/scale")
		}
	}
	to := func(verbs string, resources ...string) []check.Right { return rightsTo(namespace, verbs, resources...) }
	edit, read := to("get patch", objects...), to("get list watch", objects...)
	history := to("list", "controllerrevisions.apps")
	pods, events, logs := to("list watch", "pods"), to("list", "events"), to("get", "pods/log")
	crds := func(verbs string) []check.Right {
		return rightsTo(metav1.NamespaceAll, verbs, kinds.CRDResource().GroupResource().String())
	}
	loop, err := loopRights(namespace)
	return []verbRights{
		{verb: "create", role: editor, rights: to("create", objects...)},
		{verb: "scale", role: editor, rights: append(to("patch", scales...), to("get", objects...)...)},
		{verb: "restart", role: editor, rights: edit},
		{verb: "pause", role: editor, rights: edit},
		{verb: "set", role: editor, rights: edit},
		{verb: "undo", role: editor, rights: slices.Concat(edit, history)},
		{verb: "park", role: editor, rights: edit},
		{verb: "unpark", role: editor, rights: edit},
		{verb: "delete", role: editor, rights: to("get list watch delete", objects...)},
		{verb: "status", role: viewer, rights: slices.Concat(read, pods, events)},
		{verb: "describe", role: viewer, rights: slices.Concat(to("get", objects...), to("list", "pods"), events)},
		{verb: "history", role: viewer, rights: slices.Concat(to("get", objects...), history)},
		{verb: "logs", role: viewer, rights: slices.Concat(read, pods, logs)},
		{verb: "wait", role: viewer, rights: slices.Concat(read, pods)},
		{verb: "install", rights: crds("get create patch watch"), setup: true},
		{verb: "uninstall", rights: crds("get delete watch"), setup: true},
		{verb: "run-controller", role: controller, rights: loop, setup: true},
	}, err
}

// deployments returns the kind that people use who have none of the shipped kinds.
func deployments() kinds.Kind {
	return kinds.Kind{Resource: appsv1.SchemeGroupVersion.WithResource("deployments"), ReplicasPath: []string{"spec", "replicas"}}
}

// rightsTo returns the rights to some verbs of the API, separated by spaces, on each of some
// resources, such as "pods/log" or "deployments.apps".
func rightsTo(namespace, verbs string, resources ...string) []check.Right {
	var rights []check.Right
	for _, resource := range resources {
		name, subresource, _ := strings.Cut(resource, "/")
		gr := schema.ParseGroupResource(name)
		for verb := range strings.FieldsSeq(verbs) {
			rights = append(rights, check.Right{Namespace: namespace, Verb: verb, Group: gr.Group, Resource: gr.Resource, Subresource: subresource})
		}
	}
	return rights
}

// loopRights returns the rights of the controller's role.
func loopRights(namespace string) ([]check.Right, error) {
	objs, err := deploy.Controller(deploy.Settings{Namespace: namespace, AllNamespaces: namespace == ""})
	if err != nil {
		return nil, err
	}
	var rights []check.Right
	for _, obj := range objs {
		if kind := obj.GetKind(); kind != "Role" && kind != "ClusterRole" || namespace == "" && kind == "Role" {
			continue
		}
		var role rbacv1.ClusterRole // a Role has the same rules
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &role); err != nil {
			return nil, fmt.Errorf("read the role of the controller: %w", err)
		}
		for _, rule := range role.Rules {
			rights = append(rights, rightsOf(namespace, rule)...)
		}
	}
	return rights, nil
}

// rightsOf returns the rights that a rule of a role grants in a namespace.
func rightsOf(namespace string, rule rbacv1.PolicyRule) []check.Right {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	var rights []check.Right
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			resource, subresource, _ := strings.Cut(resource, "/")
			for _, verb := range rule.Verbs {
				for _, name := range names {
					rights = append(rights, check.Right{Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: subresource, Name: name})
				}
			}
		}
	}
	return rights
}

// ask asks the server for each right once, several at a time. The answer is nil if the
// server does not say.
func (d *Doctor) ask(ctx context.Context, needed []verbRights) map[check.Right]*bool {
	answers := map[check.Right]*bool{}
	for _, verb := range needed {
		for _, right := range verb.rights {
			answers[right] = nil
		}
	}
	all := slices.Collect(maps.Keys(answers))
	allowed := make([]*bool, len(all))
	workqueue.ParallelizeUntil(ctx, askers, len(all), func(i int) {
		allowed[i] = kube.Allowed(ctx, d.access, authorizationv1.ResourceAttributes(all[i]))
	})
	for i, right := range all {
		answers[right] = allowed[i]
	}
	return answers
}

// checkRights checks, for each verb, which of its rights are missing. Rights that serve the
// controller are optional while there is nothing for it to reconcile.
func (d *Doctor) checkRights(needed []verbRights, answers map[check.Right]*bool) []check.Result {
	var checks []check.Result
	for _, verb := range needed {
		var missing []check.Right
		answered := true
		for _, right := range verb.rights {
			switch allowed := answers[right]; {
			case allowed == nil:
				answered = false
			case !*allowed:
				missing = append(missing, right)
			}
		}
		c := check.Rights(verb.verb, missing, answered, d.user, d.commands)
		if c.State == check.Failed && verb.setup && len(d.served)+len(d.declared) == 0 {
			c.State = check.Optional
		}
		checks = append(checks, c)
	}
	return checks
}
