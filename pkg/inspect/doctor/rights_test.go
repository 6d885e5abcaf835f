package doctor

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

func TestRightsOf(t *testing.T) {
	t.Parallel()
	got := rightsOf("ns", rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments", "deployments/scale"}, Verbs: []string{"get", "patch"}, ResourceNames: []string{"web"}})
	want := []check.Right{
		{Verb: "get", Group: "apps", Resource: "deployments", Name: "web", Namespace: "ns"},
		{Verb: "patch", Group: "apps", Resource: "deployments", Name: "web", Namespace: "ns"},
		{Verb: "get", Group: "apps", Resource: "deployments", Subresource: "scale", Name: "web", Namespace: "ns"},
		{Verb: "patch", Group: "apps", Resource: "deployments", Subresource: "scale", Name: "web", Namespace: "ns"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("rightsOf = %+v, want %+v", got, want)
	}
	if all := rightsOf("", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}}); !slices.Equal(all, []check.Right{{Verb: "list", Resource: "pods"}}) {
		t.Errorf("a rule without resource names: rights = %+v", all)
	}
}

// The viewer and editor roles grant the permissions that their verbs need, in one namespace and in all.
func TestNeededRights(t *testing.T) {
	t.Parallel()
	for _, namespace := range []string{"ns", ""} {
		needed := neededRights(namespace, kinds.Shipped())
		roles := granted(t, namespace)
		for _, verb := range needed {
			if len(verb.Rights) == 0 {
				t.Errorf("in namespace %q, %s needs no permission, want at least one", namespace, verb.Verb)
			}
			if verb.Optional {
				t.Errorf("%s is optional, although the shipped kinds need it", verb.Verb)
			}
			for _, right := range verb.Rights {
				if rights, known := roles[verb.Role]; known && !slices.Contains(rights, right) {
					t.Errorf("%s needs %s, which %s does not have", verb.Verb, right, verb.Role)
				}
			}
		}
	}
}

// If no shipped kind is installed, the user needs neither the CRDs nor the controller, so the
// permissions on Deployments are checked instead.
func TestRightsOfDeployments(t *testing.T) {
	t.Parallel()
	needed := neededRights("ns", nil)
	answers := map[check.Right]*bool{}
	for _, verb := range needed {
		for _, right := range verb.Rights {
			if !verb.Optional && !slices.Contains([]string{"", "apps"}, right.Group) {
				t.Errorf("%s needs %s, which is neither in the core group nor in apps", verb.Verb, right)
			}
			if answers[right] == nil {
				answers[right] = new(!verb.Optional && right.Verb != "delete")
			}
		}
		if !verb.Optional && verb.Role != "" {
			t.Errorf("%s proposes the role %s, which does not cover Deployments", verb.Verb, verb.Role)
		}
	}
	for idle, setup := range map[bool]check.State{true: check.Optional, false: check.Failed} {
		for _, verb := range needed {
			want := check.Passed
			switch {
			case verb.Optional:
				want = setup
			case verb.Verb == "delete":
				want = check.Failed
			}
			verb.Optional = verb.Optional && idle
			result := check.Checker{User: "jane", Namespace: "ns"}.Rights(verb, answers)
			if result.State != want || (want == check.Passed) != (len(result.Fix) == 0) {
				t.Errorf("result = %+v, want %s", result, want)
			}
		}
	}
}

func TestControllerRole(t *testing.T) {
	t.Parallel()
	if check.Controller != deploy.ControllerName {
		t.Errorf("the role is named %s, but the fixes bind %s", deploy.ControllerName, check.Controller)
	}
}

// granted returns the permissions that the viewer and editor roles grant in a namespace.
func granted(t *testing.T, namespace string) map[string][]check.Right {
	t.Helper()
	all := map[string][]check.Right{check.Viewer: nil, check.Editor: nil}
	for _, obj := range deploy.People() {
		if _, is := all[obj.GetName()]; !is {
			continue
		}
		var role rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			all[role.Name] = append(all[role.Name], rightsOf(namespace, rule)...)
		}
	}
	return all
}
