package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/cmd"
)

// try describes how to run an example of a verb, and its expected result.
type try struct {
	// before is a script that prepares the example.
	before string
	// after is a script that checks the effect of the example, run in the same shell.
	after string
	// says is a part of the expected output. If goesOn is set, the example runs until it
	// has printed says, and is then stopped with Ctrl-C.
	says   string
	code   int
	goesOn bool
}

// exampleObjects holds the manifests of the objects that the examples name.
const exampleObjects = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}
---
apiVersion: batch.tutorial.kubebuilder.io/v1alpha1
kind: ImoocPod
metadata: {name: foo}
spec: {replicas: 2}
---
apiVersion: appcontroller.k8s.io/v1alpha1
kind: AppService
metadata: {name: shop, labels: {tier: front}}
spec: {deploymentName: shop, image: nginx, replicas: 1}
---
apiVersion: elasticsearch.k8s.elastic.co/v1
kind: Elasticsearch
metadata: {name: es}
spec: {nodeSets: [{name: master, count: 3}, {name: hot, count: 2}]}
`

// exampleKinds holds the CRDs of the foreign kinds that the examples name.
const exampleKinds = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: elasticsearches.elasticsearch.k8s.elastic.co}
spec:
  group: elasticsearch.k8s.elastic.co
  names: {kind: Elasticsearch, plural: elasticsearches, singular: elasticsearch}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
    nodeSets: {type: array, items: {type: object, properties: {name: {type: string}, count: {type: integer}}}}}}}}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: foos.samplecontroller.k8s.io
  annotations: {api-approved.kubernetes.io: "unapproved, for a test"}
spec:
  group: samplecontroller.k8s.io
  names: {kind: Foo, plural: foos, singular: foo}
  scope: Namespaced
  versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
    replicas: {type: integer}, deploymentName: {type: string}}}}}}}]
`

// examplesInNamespaces returns how to run the examples of each verb that affects one
// namespace, in the order of its help. They run with a controller, and after the
// objects were created, except the examples of create.
func examplesInNamespaces() map[string][]try {
	const none, foo = "kubectl delete imoocpods --all", "kubectl imoocpod create foo --replicas 2"
	const three = "kubectl imoocpod create foo --replicas 3"
	const stuck = "kubectl imoocpod create stuck --image no-such-image && kubectl create deployment stuck --image no-such-image"
	const labeled = "kubectl imoocpod unpark deployment/web && kubectl label deployment web env=dev"
	const replaced = "kubectl delete imoocpod foo && " + three
	return map[string][]try{
		"": {{says: "✔ controller"}, {before: none, says: "foo created"}, {says: "deployment.apps/web scaled"}},
		"create": {
			{says: "imoocpod.batch.tutorial.kubebuilder.io/foo created"}, {says: "web created"}, {says: "nap created"},
			{says: "foo.samplecontroller.k8s.io/bar created"}, {says: "c created"}, {says: "kind: ImoocPod"},
		},
		"scale": {
			{says: "foo scaled"}, {says: "deployment.apps/web scaled"}, {says: "foo-f4e4e66e-1", code: harness.ExitNotFound}, {says: "deployment.apps/web scaled"},
		},
		"restart":       {{says: "foo restarted"}, {says: "deployment.apps/web restarted"}, {says: "shop restarted"}},
		"pause":         {{says: "foo paused"}, {says: "deployment.apps/web paused"}},
		"resume":        {{says: "foo resumed"}, {says: "deployment.apps/web resumed"}},
		"set":           {{says: "foo image updated"}, {says: "deployment.apps/web env updated"}, {says: "foo resource requirements updated"}},
		"set image":     {{before: "kubectl imoocpod set image foo nginx", says: "foo image updated"}, {says: "deployment.apps/web image updated"}},
		"set env":       {{says: "foo env updated"}, {says: "deployment.apps/web env updated"}, {says: "MODE=fast"}},
		"set resources": {{before: "kubectl imoocpod set resources foo --limits memory=1Gi", says: "foo resource requirements updated"}, {says: "deployment.apps/web resource requirements updated"}},
		"history":       {{says: "REVISION"}, {says: "+++ deployment/web revision 2"}},
		"undo":          {{says: "deployment.apps/web undone"}, {says: "deployment.apps/web undone"}},
		"park":          {{says: "deployment.apps/web parked"}, {before: labeled, says: "deployment.apps/web parked"}, {says: "No resources found in dev namespace."}},
		"unpark":        {{says: "foo unparked"}, {says: "deployment.apps/web unparked"}},
		"delete":        {{says: `"foo" deleted`}, {before: foo, says: `"foo" deleted`}},
		"status": {
			{says: "foo: ready: 2 of 2 pods ready"}, {says: "deployment/web: ready"}, {before: stuck, says: "stuck"}, {says: "deployment/web: ready: "}, {says: "Ready"},
		},
		"describe": {{says: "2 of 2 pods ready"}, {says: "web"}},
		// The kubelets are simulated and have no logs. test/node tests real logs.
		"logs": {
			{says: "read the log of container busybox", code: harness.ExitError}, {says: "all pods of deployment/web are ready", goesOn: true, code: harness.ExitInterrupted},
			{says: "imoocpod/foo has no pod whose name ends in -2", code: harness.ExitError},
		},
		"wait": {
			{says: "condition met"}, {says: "deployment.apps/web condition met"}, {says: "condition met"}, {says: "condition met"},
		},
		"kinds": {{says: "ImoocPod"}, {says: "Elasticsearch"}, {says: "generation: .status.observedGeneration"}},
		"kinds new": {
			{says: "customresourcedefinition.apiextensions.k8s.io/foos.example.com created"},
			{after: "grep 'kind: Site' site.yaml"},
			{says: `"plural": "agents"`},
		},
		"kinds rbac": {
			{says: "imoocpods/status"},
			{before: "kubectl imoocpod kinds new Foo --group example.com > foo.yaml", says: "clusterrole.rbac.authorization.k8s.io/imoocpod-foos.example.com created"},
		},
		"check":      {{says: "✔ controller"}, {says: "alice has no permission to create", code: 1}, {says: `"passed": true`}},
		"completion": {{says: "kubectl_complete-imoocpod created"}, {says: "kubectl_complete-imoocpod deleted"}, {after: "complete -p kubectl-imoocpod"}},
		"options":    {{says: "--kubeconfig"}},
		"help":       {{says: "Set the number of replicas"}},
		"version":    {{says: "Server Version"}, {says: "v"}},
		"run-controller": {
			{before: replaced, says: "3 of 3 pods ready", goesOn: true},
			{says: "namespaces team-a, team-b", goesOn: true},
			{}, // see TestExamplesForAll
			{says: "widgets.example.com is not reconciled: no CRD of that name has the annotation imoocpod.dev/plan; waiting for it", goesOn: true},
			{before: replaced}, {before: replaced, says: "3"},
		},
	}
}

// examplesForAll returns how to run the examples of each verb that affects the whole
// cluster.
func examplesForAll() map[string][]try {
	return map[string][]try{
		"install": {{says: "imoocpods.batch.tutorial.kubebuilder.io unchanged"}, {says: "deployment.apps/imoocpod-controller created"}, {says: "kind: Deployment"}},
		"uninstall": {
			{says: "deployment.apps/imoocpod-controller deleted"},
			{before: "kubectl imoocpod create foo", says: "refused: removing imoocpods.batch.tutorial.kubebuilder.io", code: harness.ExitPrecondition},
			// Run it without objects, because the garbage collector may not have discovered the
			// kinds yet. TestUninstall tests it with objects.
			{before: "kubectl delete imoocpod foo", says: "imoocpods.batch.tutorial.kubebuilder.io deleted"},
		},
	}
}

// The help of every verb has examples, and each example has the promised effect.
func TestExamples(t *testing.T) {
	t.Parallel()
	cluster.Apply(t, "", exampleKinds)
	cluster.AwaitEstablished(t, "crd/elasticsearches.elasticsearch.k8s.elastic.co", "crd/foos.samplecontroller.k8s.io")
	for _, team := range []string{"team-a", "team-b"} {
		harness.Must(t, cluster.Kubectl(t, "", "create", "namespace", team))
		t.Cleanup(func() { _ = cluster.Core.Namespaces().Delete(context.Background(), team, metav1.DeleteOptions{}) })
	}
	tries := examplesInNamespaces()
	// Run the examples of each group in one namespace, one after the other.
	groups := [][]string{
		{"create"},
		{""},
		{"status", "describe", "logs", "check", "kinds", "kinds new", "kinds rbac", "version", "options", "completion", "help"},
		{"scale", "restart", "pause", "resume", "set", "set image", "set env", "set resources", "history", "undo", "park", "unpark", "wait", "delete"},
		{"run-controller"},
	}
	for verb := range tries {
		if !slices.ContainsFunc(groups, func(group []string) bool { return slices.Contains(group, verb) }) {
			t.Errorf("no group has the examples of %q", verb)
		}
	}
	for _, group := range groups {
		t.Run(cmp.Or(group[0], "itself"), func(t *testing.T) {
			t.Parallel()
			ns := cluster.NewNamespace(t)
			l := cluster.StartRunController(t, ns)
			if group[0] != "create" {
				cluster.Apply(t, ns, exampleObjects)
				cluster.Imoocpod(t, ns, "wait", "imoocpod/foo", "deployment/web", "appservice/shop", "--timeout", "2m")
			}
			if group[0] == "run-controller" {
				l.Stop()
			}
			env := inContext(t, ns)
			for _, verb := range group {
				for i, line := range examplesOf(t, verb, len(tries[verb])) {
					if strings.HasSuffix(line, "run-controller -A") {
						continue
					}
					tries[verb][i].run(t, env, line)
				}
			}
		})
	}
}

// The examples that would disturb other tests run sequentially, in the order of
// installing and removing.
func TestExamplesForAll(t *testing.T) {
	ns := cluster.NewNamespace(t)
	env := inContext(t, ns)
	harness.Eventually(t, "no object of an earlier test is left", func() bool { return len(cluster.ImoocPodVersions(t, "")) == 0 })
	try{says: "in all namespaces", goesOn: true}.run(t, env, "kubectl imoocpod run-controller -A")
	all := examplesForAll()
	for _, verb := range []string{"install", "uninstall"} {
		for i, line := range examplesOf(t, verb, len(all[verb])) {
			all[verb][i].run(t, env, line)
		}
	}
	cluster.Imoocpod(t, "", "install")
	others := examplesInNamespaces()
	for verb := range verbs() {
		if others[verb] == nil && all[verb] == nil {
			t.Errorf("no test runs the examples of %q", verb)
		}
	}
}

// verbs returns all commands by their name; "" is the root command.
func verbs() map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	var add func(name string, c *cobra.Command)
	add = func(name string, c *cobra.Command) {
		all[name] = c
		for _, below := range c.Commands() {
			add(strings.TrimSpace(name+" "+below.Name()), below)
		}
	}
	add("", cmd.NewRootCommand("", genericiooptions.NewTestIOStreamsDiscard()))
	return all
}

// examplesOf returns the command lines in the help of a verb, and checks their number.
func examplesOf(t *testing.T, verb string, many int) []string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(verbs()[verb].Example) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if len(lines) != many {
		t.Fatalf("the help of %s has %d examples, and %d are tried: %q", verb, len(lines), many, lines)
	}
	return lines
}

// inContext returns an environment with a kubeconfig that has a current namespace, and
// in which the plugin is installed as by krew.
func inContext(t *testing.T, namespace string) []string {
	t.Helper()
	_, env := asKrew(t)
	kubeconfig := harness.WriteFile(t, harness.ReadFile(t, cluster.Kubeconfig))
	harness.Must(t, cluster.Kubectl(t, "", "config", "set-context", "--current", "--namespace", namespace, "--kubeconfig", kubeconfig))
	return append(append(cluster.Environment(), env...), "KUBECONFIG="+kubeconfig)
}

// run runs the example in a shell, and checks its exit code and output.
func (want try) run(t *testing.T, env []string, line string) {
	t.Helper()
	dir := t.TempDir()
	if want.before != "" {
		before := exec.CommandContext(t.Context(), "bash", "-c", want.before)
		before.Env, before.Dir = env, dir
		if out, err := before.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", want.before, err, out)
		}
	}
	c := exec.CommandContext(t.Context(), "bash", "-c", line+"\n"+want.after)
	c.Env, c.Dir = env, dir
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = in, in
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	// Signal the whole process group, as a terminal does.
	stop := sync.OnceFunc(func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGINT) })
	late := time.AfterFunc(harness.Timeout, stop)
	defer late.Stop()
	var said bytes.Buffer
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if want.goesOn && strings.Contains(said.String(), want.says) {
			stop()
		}
	}
	code := 0
	var exit *exec.ExitError
	if err := c.Wait(); errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	if code != want.code || !strings.Contains(said.String(), want.says) {
		t.Errorf("%s: exit code %d, want %d; it said\n%s\nwant %q in it", line, code, want.code, said.String(), want.says)
	}
}
