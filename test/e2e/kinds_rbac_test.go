package e2e

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// The output of "kinds rbac", bound as it describes, is enough for a controller of a
// custom kind, and the controller needs nothing else.
func TestKindsRBAC(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind string
		plan kinds.Strategy
		// unused lists rights for situations that do not occur here.
		unused []string
	}{
		{"Ranger", kinds.StrategyPods, nil},
		{"Shop", kinds.StrategyDeployment, []string{"get apps/deployments", "delete apps/deployments", "create /events", "patch /events"}},
		{"Guard", kinds.StrategyNodes, []string{"get /pods", "delete /pods", "create /events", "patch /events"}},
	} {
		t.Run(string(test.plan), func(t *testing.T) {
			t.Parallel()
			ns := cluster.NewNamespace(t)
			crd := strings.ToLower(test.kind) + "s.rights.example.com"
			cluster.Imoocpod(t, "", "kinds", "new", test.kind, "--group", "rights.example.com", "--plan", string(test.plan), "--install")
			removeCRD(t, crd)
			d := grantedBy(t, ns, cluster.Imoocpod(t, "", "kinds", "rbac", crd))
			d.args = []string{"run-controller", "--kinds", crd}
			l := d.start(t)

			object := crd + "/foo"
			create := []string{"create", object}
			if test.plan == kinds.StrategyPods {
				quota(t, ns, "1")
			}
			if test.plan != kinds.StrategyNodes {
				create = append(create, "--replicas", "2")
			}
			cluster.Imoocpod(t, ns, create...)
			if test.plan == kinds.StrategyPods {
				harness.Eventually(t, "events keep reporting the refusal", func() bool {
					list, err := cluster.Core.Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=FailedCreate"})
					return err == nil && len(list.Items) > 0 && list.Items[0].Count > 1
				})
				quota(t, ns, "20")
			}
			// For half a minute, the server refuses references to a new kind.
			cluster.Imoocpod(t, ns, "status", object, "--wait", "--timeout", "2m")
			resource := harness.Resource(crd)
			resource.Version = "v1alpha1"
			foo, err := cluster.Dynamic.Resource(resource).Namespace(ns).Get(t.Context(), "foo", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			changesHistory(t, ns, foo)
			if test.plan != kinds.StrategyDeployment {
				harness.Must(t, cluster.Kubectl(t, ns, "label", "pods", "--all", apis.LabelOwner+"-"))
				harness.Eventually(t, "the pods have their labels again", func() bool {
					return harness.Must(t, cluster.Kubectl(t, ns, "get", "pods", "-o", "name", "-l", "!"+apis.LabelOwner)) == ""
				})
			}
			if test.plan == kinds.StrategyPods {
				taken := takeSlot(t, ns, foo, 2)
				cluster.Imoocpod(t, ns, "scale", object, "--replicas", "3")
				harness.Must(t, cluster.Kubectl(t, ns, "wait", object, "--for=condition=ReplicaFailure", "--timeout", harness.Timeout.String()))
				harness.Must(t, cluster.Kubectl(t, ns, "delete", "pod", taken))
			}
			if test.plan != kinds.StrategyNodes {
				cluster.Imoocpod(t, ns, "scale", object, "--replicas", "1", "--timeout", "2m")
			}
			if code := l.Stop(); code != 0 {
				t.Errorf("the loop ended with exit code %d", code)
			}

			want := rights(d.rules)
			maps.DeleteFunc(want, func(right string, _ bool) bool { return askedByServer(right) || slices.Contains(test.unused, right) })
			var allowed, refused map[string]bool
			harness.Eventually(t, "the watches of the loop have been logged, which happens when they end", func() bool {
				allowed, refused = asked(t, ns, d.user())
				more, no := asked(t, "", d.user())
				maps.Copy(allowed, more)
				maps.Copy(refused, no)
				for right := range want {
					if strings.HasPrefix(right, "watch ") && !allowed[right] {
						return false
					}
				}
				return true
			})
			maps.DeleteFunc(allowed, func(right string, _ bool) bool {
				return slices.Contains(test.unused, right) || rights(ofEverybody())[right]
			})
			if !maps.Equal(allowed, want) {
				t.Errorf("it used the rights %q, and has %q", slices.Sorted(maps.Keys(allowed)), slices.Sorted(maps.Keys(want)))
			}
			maps.DeleteFunc(refused, func(right string, _ bool) bool {
				return right == "get /namespaces" || right == "list coordination.k8s.io/leases"
			})
			if len(refused) > 0 {
				t.Errorf("it asked for %q, which it has no right to", slices.Sorted(maps.Keys(refused)))
			}
		})
	}
}

// grantedBy creates the roles in a text, binds them for one namespace with the commands
// in the comments of the text, and returns the controller that has these rights.
func grantedBy(t *testing.T, namespace, text string) *deployed {
	t.Helper()
	d := &deployed{namespace: namespace}
	for _, role := range manifests(t, text) {
		create(t, role)
		d.rules = append(d.rules, rulesOf(t, role)...)
	}
	harness.Must(t, cluster.Kubectl(t, namespace, "create", "serviceaccount", deploy.ControllerName))
	fill := strings.NewReplacer("NAMESPACE", namespace, "NAME", deploy.ControllerName)
	for line := range strings.Lines(text) {
		command, is := strings.CutPrefix(strings.TrimSpace(line), "#   kubectl ")
		if !is || strings.Contains(command, "clusterrolebinding") && !strings.Contains(command, "-cluster ") {
			continue
		}
		args := harness.Words(fill.Replace(command))
		harness.Must(t, cluster.Kubectl(t, "", args...))
		if args[1] == "clusterrolebinding" {
			t.Cleanup(func() {
				bindings := cluster.Dynamic.Resource(harness.Resource("clusterrolebindings.rbac.authorization.k8s.io"))
				if err := bindings.Delete(context.Background(), args[2], metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	d.signIn(t)
	harness.Eventually(t, "the controller has its rights, and no others", func() bool {
		return maps.Equal(d.mayDo(t, namespace), ruleSet(append(d.rules, ofEverybody()...)))
	})
	return d
}
