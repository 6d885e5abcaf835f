package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// A verb needs the permissions that "check" lists, uses each of them, and works without any other.
// Further requests are optional. They find out what else sets the count, what reconciles the
// object, and which budgets protect it.
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
		events: true, listPods: true,
	}
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	for verb, test := range map[string]struct {
		// commands run one after the other and exit with code. NAME stands for the object.
		commands []string
		rights   []string
		// more lists permissions that the verb uses if it has them.
		more  []string
		image string
		code  int
	}{
		"create":   {commands: []string{"create NAME-2"}, rights: []string{"create " + imoocpods}},
		"scale":    {commands: []string{"scale NAME --replicas 3"}, rights: []string{get, patch + "/scale"}, more: []string{patch}},
		"restart":  {commands: []string{"restart NAME"}, rights: []string{get, patch}},
		"pause":    {commands: []string{"pause NAME", "resume NAME"}, rights: []string{get, patch}},
		"set":      {commands: []string{"set image NAME nginx:1.28"}, rights: []string{get, patch}},
		"undo":     {commands: []string{"undo NAME"}, rights: []string{get, patch, history}},
		"park":     {commands: []string{"park NAME"}, rights: []string{get, patch}},
		"unpark":   {commands: []string{"unpark NAME"}, rights: []string{get, patch}},
		"delete":   {commands: []string{"delete NAME"}, rights: []string{get, list, watch, "delete " + imoocpods}},
		"describe": {commands: []string{"describe NAME"}, rights: []string{get, listPods, events}},
		"history":  {commands: []string{"history NAME"}, rights: []string{get, history}},
		"status": {
			commands: []string{"status NAME --wait --timeout 2s", "status NAME", "status imoocpods -l verb=status --wait --timeout 2s"},
			rights:   []string{get, list, watch, listPods, watchPods, events}, more: []string{"watch /events"}, image: "never-ready", code: 4,
		},
		"wait": {commands: []string{"wait NAME --timeout 2s"}, rights: []string{list, watch, listPods, watchPods}, image: "never-ready", code: 4},
	} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			user, name := verb+"-"+ns, "of-"+verb
			cluster.Imoocpod(t, ns, "create", name, "--image", cmp.Or(test.image, "nginx:1.27"))
			switch verb {
			case "undo":
				cluster.AwaitConverged(t, ns, name, 1)
				cluster.Imoocpod(t, ns, "set", "image", name, "nginx:1.28")
				cluster.AwaitConverged(t, ns, name, 1)
			case "unpark":
				cluster.Imoocpod(t, ns, "park", name)
			case "status": // its lists leave out the objects of the other verbs, which come and go
				harness.Must(t, cluster.Kubectl(t, ns, "label", "imoocpod", name, "verb=status"))
			case "delete": // it waits until the object is gone
				harness.Must(t, cluster.Kubectl(t, ns, "patch", "imoocpod", name, "--type=merge", "-p", `{"metadata":{"finalizers":["example.com/later"]}}`))
			}
			grantTo(t, ns, user, test.rights)
			harness.Eventually(t, "check agrees that the rights are enough", func() bool {
				r := cluster.Kubectl(t, ns, "imoocpod", "check", "-o", "json", "--as", "of-check-"+user)
				var report struct{ Checks []check.Result }
				if err := json.Unmarshal([]byte(r.Stdout), &report); err != nil {
					t.Fatalf("%v: %s", err, r.Stdout)
				}
				i := slices.IndexFunc(report.Checks, func(c check.Result) bool { return c.Name == "permission to "+verb })
				return i >= 0 && report.Checks[i].State == check.Passed
			})
			done := make(chan struct{})
			go func() {
				defer close(done)
				for _, command := range test.commands {
					args := append([]string{"imoocpod"}, strings.Fields(strings.ReplaceAll(command, "NAME", name))...)
					r := cluster.Kubectl(t, ns, append(args, "--as", user)...)
					if r.Code != test.code && (r.Code != 0 || command != "status NAME") {
						t.Errorf("%s: exit code %d, want %d: %s", command, r.Code, test.code, r.Stderr)
					}
				}
			}()
			if verb == "delete" {
				harness.Eventually(t, "it waits", func() bool { used, _ := asked(t, ns, user); return used[list] }) // a watch is logged when it ends
				harness.Must(t, cluster.Kubectl(t, ns, "patch", "imoocpod", name, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`))
			}
			<-done
			used, refused := asked(t, ns, user)
			for _, right := range test.rights {
				if !used[right] {
					t.Errorf("it does not use %q", right)
				}
			}
			for right := range refused {
				if !optional[right] && !slices.Contains(test.more, right) {
					t.Errorf("it also asks for %q", right)
				}
			}
		})
	}
}

// grantTo grants permissions in a namespace, such as "list /pods", to a user, and to another user
// whose name has the additional prefix of-check-. Permissions on imoocpods include those on the
// other installed kinds, because "check" requires these, too.
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
		fmt.Sprintf("roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %s}\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: of-check-%s}]", user, user, user)))
}
