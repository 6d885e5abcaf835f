package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
)

// askers is how many rights are asked about at the same time.
const askers = 8

// verbRights are the rights that a verb needs, and the role of deploy/rbac that has them.
type verbRights struct {
	verb   string
	role   string
	rights []check.Right
}

// The roles of deploy/rbac.
const (
	viewer     = "imoocpod-viewer"
	editor     = "imoocpod-editor"
	controller = deploy.ControllerName
)

// rights looks which of the rights that each verb needs the user has.
func (d *Doctor) rights(ctx context.Context) ([]check.Result, error) {
	needed, err := neededRights(d.Namespace)
	if err != nil {
		return nil, err
	}
	answers := d.ask(ctx, needed)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	checks := d.checkRights(needed, answers)
	if slices.ContainsFunc(checks, func(c check.Result) bool { return c.State == check.Failed }) {
		d.bindRoles(checks, needed, d.roles(ctx))
	}
	return checks, nil
}

// roles are the roles of deploy/rbac that are installed: each with its kind as kubectl
// takes it, such as "clusterrole".
func (d *Doctor) roles(ctx context.Context) map[string]string {
	installed := map[string]string{}
	for _, role := range []string{viewer, editor} {
		if _, err := d.client.Resource(rbacv1.SchemeGroupVersion.WithResource("clusterroles")).Get(ctx, role, metav1.GetOptions{}); err == nil {
			installed[role] = "clusterrole"
		}
	}
	if d.Namespace != metav1.NamespaceAll {
		if _, err := d.client.Resource(rbacv1.SchemeGroupVersion.WithResource("roles")).Namespace(d.Namespace).Get(ctx, controller, metav1.GetOptions{}); err == nil {
			installed[controller] = "role"
		}
	}
	return installed
}

// bindRoles replaces the commands that grant rights one by one by one binding to a role,
// after the command that installs it where it is not to be seen. The role of those who
// change objects has the rights of those who look at them.
func (d *Doctor) bindRoles(checks []check.Result, needed []verbRights, installed map[string]string) {
	edits := false
	for i, c := range checks {
		edits = edits || c.State == check.Failed && needed[i].role == editor
	}
	for i := range checks {
		role := needed[i].role
		if role == viewer && edits {
			role = editor
		}
		if checks[i].State != check.Failed {
			continue
		}
		if kind := installed[role]; kind != "" {
			checks[i].Fix = []string{d.commands.Line(d.bind(role, kind))}
		} else if kind := kindOf(role, d.Namespace); kind != "" {
			install := commandline.Plugin("install", "--roles").In(d.Namespace)
			checks[i].Fix = []string{d.commands.Line(install), d.commands.Line(d.bind(role, kind))}
		}
	}
}

// kindOf is the kind of a role that "install --roles" installs, as kubectl takes it;
// empty if it installs none for a namespace or, if that is empty, for all.
func kindOf(role, namespace string) string {
	switch {
	case role == viewer || role == editor:
		return "clusterrole"
	case role == controller && namespace != metav1.NamespaceAll:
		return "role"
	}
	return ""
}

// bind is the command that gives the user a role.
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

// neededRights lists what each verb does with the kinds that this program ships, and what
// the controller's role allows it.
func neededRights(namespace string) ([]verbRights, error) {
	kind := func(verbs ...string) (rights []check.Right) {
		for _, k := range kinds.Shipped() {
			for _, verb := range verbs {
				rights = append(rights, check.Right{Verb: verb, Group: k.Resource.Group, Resource: k.Resource.Resource})
			}
		}
		return rights
	}
	scale := func() (rights []check.Right) {
		for _, k := range kinds.Shipped() {
			if len(k.ReplicasPath) > 0 {
				rights = append(rights, check.Right{Verb: "patch", Group: k.Resource.Group, Resource: k.Resource.Resource, Subresource: "scale"})
			}
		}
		return rights
	}
	pods := []check.Right{{Verb: "list", Resource: "pods"}, {Verb: "watch", Resource: "pods"}}
	revisions := check.Right{Verb: "list", Group: "apps", Resource: "controllerrevisions"}
	events := check.Right{Verb: "list", Resource: "events"}
	crds := func(verbs ...string) (rights []check.Right) {
		for _, verb := range verbs {
			rights = append(rights, check.Right{Verb: verb, Group: kinds.CRDResource().Group, Resource: kinds.CRDResource().Resource, Clusterwide: true})
		}
		return rights
	}
	all := []verbRights{
		{verb: "create", role: editor, rights: kind("create")},
		{verb: "scale", role: editor, rights: append(scale(), kind("get")...)},
		{verb: "restart", role: editor, rights: kind("get", "patch")},
		{verb: "pause", role: editor, rights: kind("get", "patch")},
		{verb: "set", role: editor, rights: kind("get", "patch")},
		{verb: "undo", role: editor, rights: append(kind("get", "patch"), revisions)},
		{verb: "park", role: editor, rights: kind("get", "patch")},
		{verb: "unpark", role: editor, rights: kind("get", "patch")},
		{verb: "delete", role: editor, rights: kind("get", "list", "watch", "delete")},
		{verb: "status", role: viewer, rights: append(append(kind("get", "list", "watch"), pods...), events)},
		{verb: "describe", role: viewer, rights: append(append(kind("get"), pods[0]), events)},
		{verb: "history", role: viewer, rights: append(kind("get"), revisions)},
		{verb: "logs", role: viewer, rights: append(append(kind("get", "list", "watch"), pods...), check.Right{Verb: "get", Resource: "pods", Subresource: "log"})},
		{verb: "wait", role: viewer, rights: append(kind("get", "list", "watch"), pods...)},
		{verb: "install", rights: crds("get", "create", "patch", "watch")},
		{verb: "uninstall", rights: crds("get", "delete", "watch")},
	}
	loop, err := loopRights(namespace)
	return append(all, verbRights{verb: "run-controller", role: controller, rights: loop}), err
}

// loopRights reads the rights of the controller from its role.
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
			rights = append(rights, rightsOf(rule)...)
		}
	}
	return rights, nil
}

// rightsOf takes a rule of a role apart.
func rightsOf(rule rbacv1.PolicyRule) []check.Right {
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
					rights = append(rights, check.Right{Verb: verb, Group: group, Resource: resource, Subresource: subresource, Name: name})
				}
			}
		}
	}
	return rights
}

// ask asks the server for each right once, several at a time. Of what it does not say
// the answer is nil.
func (d *Doctor) ask(ctx context.Context, needed []verbRights) map[check.Right]*bool {
	answers := map[check.Right]*bool{}
	for _, verb := range needed {
		for _, right := range verb.rights {
			answers[right] = nil
		}
	}
	all := slices.Collect(maps.Keys(answers))
	allowed := make([]*bool, len(all))
	workqueue.ParallelizeUntil(ctx, askers, len(all), func(i int) { allowed[i] = kube.Allowed(ctx, d.access, all[i], d.Namespace) })
	for i, right := range all {
		answers[right] = allowed[i]
	}
	return answers
}

// checkRights says of each verb which of its rights are missing.
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
		checks = append(checks, check.Rights(verb.verb, missing, answered, d.user, d.Namespace, d.commands))
	}
	return checks
}
