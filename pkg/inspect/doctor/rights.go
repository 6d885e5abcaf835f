package doctor

import (
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// askers is the maximum number of rights that are checked at the same time.
const askers = 8

// rights checks whether the user has the rights that each verb needs.
func (d *Doctor) rights(ctx context.Context) ([]check.Result, error) {
	needed := neededRights(d.Namespace, d.served)
	answers := d.ask(ctx, needed)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var checks []check.Result
	for _, verb := range needed {
		checks = append(checks, d.Rights(verb, answers))
	}
	if slices.ContainsFunc(checks, func(r check.Result) bool { return len(r.Fix) > 0 }) {
		d.BindRoles(checks, needed, d.roles(ctx))
	}
	return checks, nil
}

// roles returns the names of the installed roles from deploy/rbac.
func (d *Doctor) roles(ctx context.Context) sets.Set[string] {
	installed := sets.New[string]()
	namespaces := map[string]string{"role": d.Namespace, "clusterrole": metav1.NamespaceAll}
	for _, role := range []string{check.Viewer, check.Editor, check.Controller} {
		kind := check.RoleKind(role, d.Namespace)
		if kind == "" {
			continue
		}
		resource := d.Dynamic.Resource(rbacv1.SchemeGroupVersion.WithResource(kind + "s"))
		if _, err := resource.Namespace(namespaces[kind]).Get(ctx, role, metav1.GetOptions{}); err == nil {
			installed.Insert(role)
		}
	}
	return installed
}

// neededRights returns the rights that each verb needs for the served kinds in namespace, or in all namespaces if it is
// "". If no kinds are served, it returns the rights for Deployments. No role in deploy/rbac/people grants these rights.
func neededRights(namespace string, served []kinds.Kind) []check.VerbRights {
	editor, viewer, revisions := check.Editor, check.Viewer, "controllerrevisions.apps"
	idle := len(served) == 0
	if idle {
		deployments := appsv1.SchemeGroupVersion.WithResource("deployments")
		served = []kinds.Kind{{Resource: deployments, ReplicasPath: []string{"spec", "replicas"}}}
		editor, viewer, revisions = "", "", "replicasets.apps"
	}
	var objects, scales []string
	for _, k := range served {
		objects = append(objects, k.CRD())
		if len(k.ReplicasPath) > 0 {
			scales = append(scales, k.Resource.Resource+"/scale."+k.Resource.Group)
		}
	}
	to := func(verbs string, resources ...string) []check.Right { return rightsTo(namespace, verbs, resources...) }
	edit, read := to("get patch", objects...), to("get list watch", objects...)
	history := to("list", revisions)
	pods, events, logs := to("list watch", "pods"), to("list", "events"), to("get", "pods/log")
	crds := kinds.CRDResource().GroupResource().String()
	return []check.VerbRights{
		{Verb: "create", Role: editor, Rights: to("create", objects...)},
		{Verb: "scale", Role: editor, Rights: append(to("patch", scales...), to("get", objects...)...)},
		{Verb: "restart", Role: editor, Rights: edit},
		{Verb: "pause", Role: editor, Rights: edit},
		{Verb: "set", Role: editor, Rights: edit},
		{Verb: "undo", Role: editor, Rights: slices.Concat(edit, history)},
		{Verb: "park", Role: editor, Rights: edit},
		{Verb: "unpark", Role: editor, Rights: edit},
		{Verb: "delete", Role: editor, Rights: to("get list watch delete", objects...)},
		{Verb: "status", Role: viewer, Rights: slices.Concat(read, pods, events)},
		{Verb: "describe", Role: viewer, Rights: slices.Concat(to("get", objects...), to("list", "pods"), events)},
		{Verb: "history", Role: viewer, Rights: slices.Concat(to("get", objects...), history)},
		{Verb: "logs", Role: viewer, Rights: slices.Concat(read, pods, logs)},
		{Verb: "wait", Role: viewer, Rights: slices.Concat(to("list watch", objects...), pods)},
		{Verb: "install", Rights: rightsTo(metav1.NamespaceAll, "get create patch watch", crds), Optional: idle},
		{Verb: "uninstall", Rights: rightsTo(metav1.NamespaceAll, "get delete watch", crds), Optional: idle},
		{Verb: "run-controller", Role: check.Controller, Rights: loopRights(namespace), Optional: idle},
	}
}

// rightsTo returns rights for space-separated verbs and for resources such as "pods/log" or "deployments/scale.apps".
func rightsTo(namespace, verbs string, resources ...string) []check.Right {
	var rights []check.Right
	for _, resource := range resources {
		gr := schema.ParseGroupResource(resource)
		rule := rbacv1.PolicyRule{Verbs: strings.Fields(verbs), APIGroups: []string{gr.Group}, Resources: []string{gr.Resource}}
		rights = append(rights, rightsOf(namespace, rule)...)
	}
	return rights
}

// loopRights returns the rights that the controller's roles grant, each in the namespace of its role.
func loopRights(namespace string) []check.Right {
	var rights []check.Right
	for _, obj := range deploy.Controller(deploy.Settings{Namespace: namespace, AllNamespaces: namespace == ""}) {
		if kind := obj.GetKind(); kind != "Role" && kind != "ClusterRole" {
			continue
		}
		var role rbacv1.ClusterRole // a Role has the same rules
		utilruntime.Must(runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &role))
		for _, rule := range role.Rules {
			rights = append(rights, rightsOf(role.Namespace, rule)...)
		}
	}
	return rights
}

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

// ask asks the server about each right, with parallel requests. An answer is nil if the server does not answer.
func (d *Doctor) ask(ctx context.Context, needed []check.VerbRights) map[check.Right]*bool {
	rights := sets.New[check.Right]()
	for _, verb := range needed {
		rights.Insert(verb.Rights...)
	}
	all := rights.UnsortedList()
	allowed := make([]*bool, len(all))
	workqueue.ParallelizeUntil(ctx, askers, len(all), func(i int) {
		allowed[i] = d.Allowed(ctx, authorizationv1.ResourceAttributes(all[i]))
	})
	answers := map[check.Right]*bool{}
	for i, right := range all {
		answers[right] = allowed[i]
	}
	return answers
}
