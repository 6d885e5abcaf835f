package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/clients"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// askers is how many rights are asked about at the same time.
const askers = 8

// verbRights are the rights that a verb needs.
type verbRights struct {
	verb   string
	rights []status.Right
}

// rights looks which of the rights that each verb needs the user has.
func (d *Doctor) rights(ctx context.Context) ([]status.Check, error) {
	needed, err := neededRights(d.Namespace)
	if err != nil {
		return nil, err
	}
	user := d.whoAmI(ctx)
	answers := d.ask(ctx, needed)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return checkRights(needed, answers, user, d.Namespace), nil
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
		return status.Right{Verb: verb, Group: kinds.CRDResource().Group, Resource: kinds.CRDResource().Resource, Clusterwide: true}
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
			resource, subresource, _ := strings.Cut(resource, "/")
			for _, verb := range rule.Verbs {
				for _, name := range names {
					rights = append(rights, status.Right{Verb: verb, Group: group, Resource: resource, Subresource: subresource, Name: name})
				}
			}
		}
	}
	return rights
}

// ask asks the server for each right once, several at a time. Of what it does not say
// the answer is nil.
func (d *Doctor) ask(ctx context.Context, needed []verbRights) map[status.Right]*bool {
	answers := map[status.Right]*bool{}
	for _, verb := range needed {
		for _, right := range verb.rights {
			answers[right] = nil
		}
	}
	all := slices.Collect(maps.Keys(answers))
	allowed := make([]*bool, len(all))
	workqueue.ParallelizeUntil(ctx, askers, len(all), func(i int) { allowed[i] = clients.Allowed(ctx, d.access, all[i], d.Namespace) })
	for i, right := range all {
		answers[right] = allowed[i]
	}
	return answers
}

// checkRights says of each verb which of its rights are missing.
func checkRights(needed []verbRights, answers map[status.Right]*bool, user, namespace string) []status.Check {
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
	return checks
}

// whoAmI is the user as the server sees it, or "you" where it does not say.
func (d *Doctor) whoAmI(ctx context.Context) string {
	answer, err := d.users.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || answer.Status.UserInfo.Username == "" {
		return "you"
	}
	return answer.Status.UserInfo.Username
}
