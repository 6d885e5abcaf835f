package doctor

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// A rule stands for each of its verbs on each of its resources.
func TestRightsOf(t *testing.T) {
	t.Parallel()
	got := rightsOf(rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments", "deployments/scale"}, Verbs: []string{"get", "patch"}, ResourceNames: []string{"web"}})
	want := []status.Right{
		{Verb: "get", Group: "apps", Resource: "deployments", Name: "web"},
		{Verb: "patch", Group: "apps", Resource: "deployments", Name: "web"},
		{Verb: "get", Group: "apps", Resource: "deployments", Subresource: "scale", Name: "web"},
		{Verb: "patch", Group: "apps", Resource: "deployments", Subresource: "scale", Name: "web"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if all := rightsOf(rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}}); !slices.Equal(all, []status.Right{{Verb: "list", Resource: "pods"}}) {
		t.Errorf("without names it is %+v", all)
	}
}

// A verb passes with all of its rights, fails without one, and nobody knows where the
// server does not say.
func TestCheckRights(t *testing.T) {
	t.Parallel()
	get, list := status.Right{Verb: "get", Resource: "pods"}, status.Right{Verb: "list", Resource: "pods"}
	needed := []verbRights{{"status", []status.Right{get, list}}}
	for name, test := range map[string]struct {
		get, list *bool
		want      status.CheckState
	}{
		"has all":     {new(true), new(true), status.CheckPassed},
		"lacks one":   {new(true), new(false), status.CheckFailed},
		"lacks all":   {new(false), new(false), status.CheckFailed},
		"is not told": {new(true), nil, status.CheckUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checks := checkRights(needed, map[status.Right]*bool{get: test.get, list: test.list}, "jane", "ns")
			if len(checks) != 1 || checks[0].State != test.want || checks[0].Name != "rights to status" {
				t.Errorf("got %+v, want %s", checks, test.want)
			}
		})
	}
}

// What run-controller may do is asked one by one, in a namespace and in all.
func TestNeededRights(t *testing.T) {
	t.Parallel()
	for _, namespace := range []string{"ns", ""} {
		needed, err := neededRights(namespace)
		if err != nil {
			t.Fatal(err)
		}
		for _, verb := range needed {
			if len(verb.rights) == 0 {
				t.Errorf("in %q, %s needs no right", namespace, verb.verb)
			}
		}
	}
}
