package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
)

// Right is what somebody may do, or not.
type Right struct {
	Verb, Group, Resource, Subresource string
	// Name is the one object that it is about; empty: all.
	Name string
	// Clusterwide says that the resource is in no namespace.
	Clusterwide bool
}

// String says the right as "kubectl auth can-i" takes it.
func (r Right) String() string { return r.Verb + " " + r.resource() }

func (r Right) resource() string {
	s := r.Resource
	if r.Group != "" {
		s += "." + r.Group
	}
	if r.Subresource != "" {
		s += "/" + r.Subresource
	}
	return s
}

// Rights reports whether somebody may do what a verb of the program does, in
// a namespace or, if that is empty, in all. Missing are the rights that the
// server refuses, asked says that it could be asked.
func Rights(verb string, missing []Right, asked bool, user, namespace string, commands commandline.Context) Result {
	c := Result{Name: "permission to " + verb, State: Passed, Message: "ok (" + user + ")"}
	switch {
	case !asked:
		c.State, c.Message = Unknown, "not reported"
	case len(missing) > 0:
		words := make([]string, len(missing))
		for i, right := range missing {
			words[i] = right.String()
		}
		const most = 4
		if more := len(words) - most; more > 1 {
			words = append(words[:most], fmt.Sprintf("and %d more", more))
		}
		c.State, c.Message = Failed, user+" has no permission to "+strings.Join(words, ", ")
		for _, command := range grant(verb, missing, user, namespace) {
			c.Fix = append(c.Fix, commands.Line(command))
		}
	}
	return c
}

// Subject is the flag of "kubectl create rolebinding" that names a user.
func Subject(user string) string {
	if account, is := strings.CutPrefix(user, "system:serviceaccount:"); is {
		return "--serviceaccount=" + account
	}
	return "--user=" + user
}

// grant gives the commands that give somebody rights: a role for each verb, as
// kubectl makes one of all verbs with all resources, and a binding to each.
func grant(what string, missing []Right, user, namespace string) []commandline.Command {
	role := "role"
	if namespace == "" || slices.ContainsFunc(missing, func(r Right) bool { return r.Clusterwide }) {
		namespace, role = "", "clusterrole"
	}
	verbsOf := map[string][]string{}
	for _, r := range missing {
		verbsOf[r.resource()] = append(verbsOf[r.resource()], r.Verb)
	}
	resourcesOf := map[string][]string{}
	for resource, verbs := range verbsOf {
		slices.Sort(verbs)
		key := strings.Join(verbs, ",")
		resourcesOf[key] = append(resourcesOf[key], resource)
	}
	var commands []commandline.Command
	for i, verbs := range slices.Sorted(maps.Keys(resourcesOf)) {
		name := "imoocpod-" + what
		if i > 0 {
			name += fmt.Sprintf("-%d", i+1)
		}
		slices.Sort(resourcesOf[verbs])
		commands = append(commands,
			commandline.Kubectl("create", role, name, "--verb="+verbs, "--resource="+strings.Join(resourcesOf[verbs], ",")).In(namespace),
			commandline.Kubectl("create", role+"binding", name, "--"+role+"="+name, Subject(user)).In(namespace))
	}
	return commands
}
