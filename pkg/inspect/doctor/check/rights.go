package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
)

// Right is a permission for resources in a namespace or, if Namespace is empty, in the whole cluster.
type Right authorizationv1.ResourceAttributes

// String returns the verb, and the resource in the syntax of "kubectl create role", such as deployments.apps/scale.
func (r Right) String() string { return r.Verb + " " + r.resource() }

func (r Right) resource() string {
	s := schema.GroupResource{Group: r.Group, Resource: r.Resource}.String()
	if r.Subresource != "" {
		s += "/" + r.Subresource
	}
	return s
}

// VerbRights lists the rights that a verb needs. Role is the role in deploy/rbac that grants these rights, or "".
type VerbRights struct {
	Verb   string
	Role   string
	Rights []Right
	// Optional means that nothing in the cluster needs the verb.
	Optional bool
}

// Rights checks whether the user has the rights that a verb needs. A nil answer means that the server did not answer.
func (c Checker) Rights(verb VerbRights, answers map[Right]*bool) Result {
	r := Result{Name: "permission to " + verb.Verb, State: Passed, Message: "ok (" + c.User + ")"}
	var missing []Right
	var words []string
	for _, right := range verb.Rights {
		allowed := answers[right]
		if allowed == nil {
			r.State, r.Message = Unknown, "not reported"
			return r
		}
		if !*allowed {
			missing, words = append(missing, right), append(words, right.String())
		}
	}
	if len(missing) == 0 {
		return r
	}
	const most = 4
	if more := len(words) - most; more > 1 {
		words = append(words[:most], fmt.Sprintf("and %d more", more))
	}
	r.State = Failed
	if verb.Optional {
		r.State = Optional
	}
	r.Message = c.User + " has no permission to " + strings.Join(words, ", ")
	r.Fix = c.grant(verb.Verb, missing)
	return r
}

// subject returns the flag of "kubectl create rolebinding" for a user or a service account.
func subject(user string) string {
	if account, is := strings.CutPrefix(user, "system:serviceaccount:"); is {
		return "--serviceaccount=" + account
	}
	return "--user=" + user
}

// grant returns the commands that grant the missing rights. A role from "kubectl create role" allows each of its verbs
// on each of its resources, so each combination of namespace, resource name, and verbs needs its own role and binding.
func (c Checker) grant(what string, missing []Right) []string {
	verbsOf := map[Right][]string{} // by the right without its verb
	for _, r := range missing {
		verb := r.Verb
		r.Verb = ""
		verbsOf[r] = append(verbsOf[r], verb)
	}
	resourcesOf := map[Right][]string{} // by namespace, name, and verbs
	for r, verbs := range verbsOf {
		slices.Sort(verbs)
		key := Right{Namespace: r.Namespace, Name: r.Name, Verb: strings.Join(verbs, ",")}
		resourcesOf[key] = append(resourcesOf[key], r.resource())
	}
	byText := func(a, b Right) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Verb, b.Verb))
	}
	var commands []string
	for i, key := range slices.SortedFunc(maps.Keys(resourcesOf), byText) {
		role := "role"
		if key.Namespace == "" {
			role = "clusterrole"
		}
		name := nameFor("imoocpod-"+what, c.User)
		if i > 0 {
			name += fmt.Sprintf("-%d", i+1)
		}
		slices.Sort(resourcesOf[key])
		create := commandline.Kubectl("create", role, name, "--verb="+key.Verb, "--resource="+strings.Join(resourcesOf[key], ","))
		if key.Name != "" {
			create = create.With("--resource-name=" + key.Name)
		}
		bind := commandline.Kubectl("create", role+"binding", name, "--"+role+"="+name, subject(c.User))
		commands = append(commands, c.Commands.Line(create.In(key.Namespace)), c.Commands.Line(bind.In(key.Namespace)))
	}
	return commands
}
