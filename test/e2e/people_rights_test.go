package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// A verb needs the rights that "check" asks for, uses each of them, and gets by without any
// other. What it asks for beyond them is optional: who uses the pods beside the object, who
// reconciles it, and what guards it.
func TestRightsOfVerbs(t *testing.T) {
	t.Parallel()
	const (
		imoocpods = "batch.tutorial.kubebuilder.io/imoocpods"
		get       = "get " + imoocpods
		list      = "list " + imoocpods
		watch     = "watch " + imoocpods
		patch     = "patch " + imoocpods
		history   = "list apps/controllerrevisions"
		listPods  = "list /pods"
		watchPods = "watch /pods"
		events    = "list /events"
	)
	optional := map[string]bool{
		"list coordination.k8s.io/leases": true, "watch coordination.k8s.io/leases": true,
		"list autoscaling/horizontalpodautoscalers": true, "list policy/poddisruptionbudgets": true,
		"list apps/replicasets": true, "get " + imoocpods + "/scale": true, events: true, listPods: true,
	}
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	for verb, test := range map[string]struct {
		// commands run one after the other; NAME is an object of the verb.
		commands []string
		rights   []string
	}{
		"create":   {[]string{"create NAME-2"}, []string{"create " + imoocpods}},
		"scale":    {[]string{"scale NAME --replicas 3"}, []string{get, patch + "/scale"}},
		"restart":  {[]string{"restart NAME"}, []string{get, patch}},
		"pause":    {[]string{"pause NAME", "resume NAME"}, []string{get, patch}},
		"set":      {[]string{"set image NAME nginx:1.28"}, []string{get, patch}},
		"undo":     {[]string{"undo NAME"}, []string{get, patch, history}},
		"park":     {[]string{"park NAME"}, []string{get, patch}},
		"unpark":   {[]string{"unpark NAME"}, []string{get, patch}},
		"delete":   {[]string{"delete NAME"}, []string{get, list, watch, "delete " + imoocpods}},
		"status":   {[]string{"status NAME", "status imoocpods", "status NAME --wait --timeout 1m"}, []string{get, list, watch, listPods, watchPods, events}},
		"describe": {[]string{"describe NAME"}, []string{get, listPods, events}},
		"history":  {[]string{"history NAME"}, []string{get, history}},
		"wait":     {[]string{"wait NAME --timeout 1m"}, []string{get, list, watch, listPods, watchPods}},
	} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			user, name := verb+"-"+ns, "of-"+verb
			if verb == "undo" {
				cluster.Imoocpod(t, ns, "create", name, "--image", "nginx:1.27")
				cluster.AwaitConverged(t, ns, name, 1)
				cluster.Imoocpod(t, ns, "set", "image", name, "nginx:1.28")
			} else {
				cluster.Imoocpod(t, ns, "create", name)
			}
			cluster.AwaitConverged(t, ns, name, 1)
			if verb == "unpark" {
				cluster.Imoocpod(t, ns, "park", name)
			}
			grantTo(t, ns, user, test.rights)
			harness.Eventually(t, "check agrees that the rights are enough", func() bool {
				r := cluster.Kubectl(t, ns, "imoocpod", "check", "-o", "json", "--as", user)
				var report struct{ Checks []check.Result }
				if err := json.Unmarshal([]byte(r.Stdout), &report); err != nil {
					t.Fatalf("%v: %s", err, r.Stdout)
				}
				i := slices.IndexFunc(report.Checks, func(c check.Result) bool { return c.Name == "permission to "+verb })
				return i >= 0 && report.Checks[i].State == check.Passed
			})
			before, _ := asked(t, ns, user)
			if len(before) > 0 {
				t.Errorf("check itself has used %q", slices.Sorted(maps.Keys(before)))
			}
			for _, command := range test.commands {
				args := append([]string{"imoocpod"}, strings.Fields(strings.ReplaceAll(command, "NAME", name))...)
				harness.Must(t, cluster.Kubectl(t, ns, append(args, "--as", user)...))
			}
			used, refused := asked(t, ns, user)
			for _, right := range test.rights {
				if !used[right] {
					t.Errorf("it does not use %q", right)
				}
			}
			for right := range refused {
				if !optional[right] {
					t.Errorf("it also asks for %q", right)
				}
			}
		})
	}
}

// grantTo gives a user rights in a namespace, such as "list /pods". Rights on imoocpods include
// those on the other kinds that are installed, for which "check" asks as well.
func grantTo(t *testing.T, namespace, user string, granted []string) {
	t.Helper()
	others := map[string]string{
		"batch.tutorial.kubebuilder.io/imoocpods": "appcontroller.k8s.io/appservices test.jiaozi.com/helloworlds apps.zhongmingmao.io/mydaemonsets",
	}
	var rules []string
	add := func(verb, group, resource string) {
		rules = append(rules, fmt.Sprintf("{verbs: [%s], apiGroups: [%q], resources: [%s]}", verb, group, resource))
	}
	for _, right := range granted {
		verb, what, _ := strings.Cut(right, " ")
		group, resource, _ := strings.Cut(what, "/")
		add(verb, group, resource)
		_, subresource, _ := strings.Cut(resource, "/")
		for other := range strings.FieldsSeq(others[strings.TrimSuffix(what, "/"+subresource)]) {
			group, resource, _ := strings.Cut(other, "/")
			if subresource != "" {
				resource += "/" + subresource
			}
			add(verb, group, resource)
		}
	}
	const api = "apiVersion: rbac.authorization.k8s.io/v1\n"
	cluster.Apply(t, namespace, manifest(api+"kind: Role\n", user, "rules: ["+strings.Join(rules, ", ")+"]"))
	cluster.Apply(t, namespace, manifest(api+"kind: RoleBinding\n", user,
		fmt.Sprintf("roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %s}\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}]", user, user)))
}
