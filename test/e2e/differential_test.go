package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/cmd"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// The intended differences between "kubectl imoocpod scale" and "kubectl scale".
// docs/differences.md documents each with the same text.
const (
	showsResult   = "The object is shown as it is after the change"
	dryRunChecks  = "A client dry run checks the conditions"
	doesTheOthers = "An object that does not meet its condition does not stop the others"
	bareName      = "A bare name is an ImoocPod"
	anyField      = "A count without /scale can be set"
)

// difference is an intended difference and its visible effects.
type difference struct {
	reason                   string
	success, objects, output bool
}

// comparison holds the arguments of "scale", and the intended difference, if any. In the arguments,
// VERSION stands for the resource version of widget/one, and DIR/m for a directory with the manifests
// of deployment/one and widget/one.
type comparison struct {
	args  string
	stdin string
	// fails means that both programs must fail. Otherwise, a comparison would pass even if both
	// programs wrongly failed or succeeded.
	fails  bool
	differ difference
}

func comparisons() []comparison {
	fails := func(args string, differ ...difference) comparison {
		return comparison{args: args, fails: true, differ: first(differ)}
	}
	works := func(args string, differ ...difference) comparison {
		return comparison{args: args, differ: first(differ)}
	}
	shows := difference{reason: showsResult, output: true}
	return []comparison{
		// a single target, or several named targets
		works("deployment/one --replicas 3"),
		works("deployment one --replicas 3"),
		works("deployment one two --replicas 3"),
		works("deployment/one deployment/two --replicas 3"),
		works("deploy/one --replicas 3"),
		works("deployments.apps/one --replicas 3"),
		works("deployments.v1.apps one --replicas 3"),
		works("deployment.v1.apps/one --replicas 3"),
		works("Deployment/one --replicas 3"),
		works("statefulset/one --replicas 3"),
		works("sts one --replicas 3"), // a custom kind of this test has the same short name
		works("replicaset/one --replicas 0"),
		works("rs/one deployment/one widget/one --replicas 1"),
		works("widget/one --replicas 3"),
		works("wdg one two --replicas 3"),
		works("widgets.plain.example.com/one --replicas 3"),
		works("ring/one --replicas 3"),
		works("statefulsets.name-clash.example.com/one --replicas 3"),
		works("deployment,widget one --replicas 3"),
		works("imoocpod/one --replicas 3"),
		works("imoocpods one two --replicas 3"),
		works("imp/one --replicas 3"),
		fails("deployment/one widget two --replicas 3"),
		fails("deployment/one widget --replicas 3"),
		fails("deployment --replicas 3"),
		fails("--replicas 3"),
		fails("nonsense/one --replicas 3"),
		fails("nonsense one --replicas 3"),
		fails("deployment/none --replicas 3"),
		fails("deployment none one --replicas 3"), // the other target succeeds
		fails("widget/none --replicas 3"),
		fails("imoocpod/none imoocpod/one --replicas 3"),
		fails("deployment/ --replicas 3"),
		fails("/one --replicas 3"),
		fails("deployment/one/two --replicas 3"),
		fails("configmap/kube-root-ca.crt --replicas 3"),
		fails("daemonset/one --replicas 3"),

		// targets that a selector or --all selects
		works("deployment -l app=a --replicas 3"),
		works("deployment,widget -l app=a --replicas 3"),
		works("deployment --all --replicas 3"),
		works("widget --all --replicas 3"),
		works("imoocpod --all --replicas 3"),
		works("deployment one --all --replicas 3"),
		works("deployment -l app=a --all --replicas 3"),
		fails("deployment one -l app=a --replicas 3"),
		fails("deployment/one -l app=a --replicas 3"),
		fails("--all --replicas 3"),
		fails("-l app=a --replicas 3"),
		fails("deployment -l a=( --replicas 3"),
		fails("deployment -l app=none --replicas 3"),
		fails("nonsense --all --replicas 3"),

		// files
		works("-f DIR/m/deployment.yaml --replicas 3"),
		works("-f DIR/m --replicas 3"),
		works("-f DIR/m -R --replicas 3"),
		works("-k DIR/k --replicas 3"),
		works("-f DIR/m/deployment.yaml -f DIR/m/widget.yaml --replicas 3"),
		{args: "-f - --replicas 3", stdin: widgetOne},
		fails("-f DIR/m/none.yaml --replicas 3"),
		fails("-f DIR/m/deployment.yaml -f DIR/m/none.yaml --replicas 3"),
		fails("-f DIR/m/deployment.yaml deployment/one --replicas 3"),
		{args: "-f - --replicas 3", stdin: "kind: [", fails: true},
		{args: "-f - --replicas 3", fails: true},

		// replica counts
		fails("deployment/one"),
		fails("deployment/one --replicas"),
		fails("deployment/one --replicas -1"),
		fails("deployment/one --replicas x"),
		fails("deployment/one --replicas 2147483648"),
		works("deployment/one --replicas 2"), // unchanged
		works("widget/one --replicas 0"),

		// conditions
		works("deployment/one --current-replicas 2 --replicas 3"),
		works("widget/one --current-replicas 2 --replicas 3"),
		works("widget/one --resource-version VERSION --replicas 3"),
		works("widget/one --resource-version VERSION --current-replicas 2 --replicas 3"),
		works("deployment one two --current-replicas -1 --replicas 3"),
		fails("deployment/one --current-replicas 7 --replicas 3"),
		fails("widget/one --current-replicas 7 --replicas 3"),
		fails("deployment one two --current-replicas 1 --replicas 3", difference{reason: doesTheOthers, objects: true}), // deployment/two has one replica
		fails("widget/one --resource-version 1 --replicas 3"),
		fails("widget/one --resource-version VERSION --current-replicas 7 --replicas 3"),
		fails("widget one two --resource-version VERSION --replicas 3"),
		fails("widget --all --resource-version VERSION --replicas 3"),
		fails("widget/one --current-replicas -2 --replicas 3"),
		fails("widget/one --resource-version now --replicas 3"),

		// dry runs and output
		works("widget/one --replicas 3 --dry-run=client"),
		works("widget/one --replicas 3 --dry-run=server"),
		works("widget/one --replicas 3 --dry-run=none"),
		works("widget/one --replicas 3 --dry-run"),
		fails("widget/one --replicas 3 --dry-run=maybe"),
		fails("widget/none --replicas 3 --dry-run=client"),
		works("widget/one --replicas 3 --dry-run=client -o name"),
		works("widget/one --replicas 3 --dry-run=server -o name"),
		works("widget/one deployment/one --replicas 3 -o name"),
		works("widget/one --replicas 3 -o yaml", shows),
		works("widget/one --replicas 3 -o json", shows),
		works("widget/one --replicas 3 -o jsonpath={.metadata.name}"),
		works("widget/one --replicas 3 -o jsonpath={.spec.replicas}", shows),
		works("widget/one --replicas 3 -o go-template={{.metadata.name}}"),
		works("widget/one --replicas 3 --dry-run=server -o yaml", shows),
		works("widget/one --replicas 3 --dry-run=client -o yaml", shows),
		fails("widget/one --replicas 3 --dry-run=client --current-replicas 7", difference{reason: dryRunChecks, success: true}),
		fails("widget/one --replicas 3 --dry-run=client --resource-version 1", difference{reason: dryRunChecks, success: true}),
		fails("widget/one --replicas 3 -o bad"),
		fails("widget/one --replicas 3 -o jsonpath={.a"),
		fails("widget/one --replicas 3 -o wide"),

		// waiting
		works("replicaset/one --replicas 1 --timeout 1m"),
		works("deployment/one --replicas 3 --timeout 0"),
		fails("deployment/one --replicas 3 --timeout 3"),
		works("widget/one --replicas 3 --dry-run=server --timeout 1h"),
		fails("widget/one --replicas 3 --timeout 1s"), // no controller reconciles widgets

		// flags
		fails("deployment/one --replicas 3 --nonsense"),
		fails("deployment/one --replicas 3 -x"),

		// targets that kubectl cannot scale
		works("one --replicas 3", difference{reason: bareName, success: true, objects: true}),
		works("crew/one --replicas 3", difference{reason: anyField, success: true, objects: true}),
		works("lamp/one --replicas 3 --replicas-path .spec.replicas", difference{reason: anyField, success: true, objects: true}),
		fails("lamp/one --replicas 3"),
		fails("run/one --replicas 3"),
	}
}

func first(differ []difference) difference {
	if len(differ) == 0 {
		return difference{}
	}
	return differ[0]
}

// widgetOne begins with a separator, because older versions of kubectl parse YAML that begins with
// a brace as JSON.
const widgetOne = "---\n{apiVersion: plain.example.com/v1, kind: Widget, metadata: {name: one}}"

// stageObjects returns the manifests of the objects for each command line, by resource.
func stageObjects() map[string][]string {
	workload := func(kind, name string, n int, more string) string {
		return fmt.Sprintf(`{apiVersion: apps/v1, kind: %s, metadata: {name: %s, labels: {app: a}}, spec: {replicas: %d, %s selector: {matchLabels: {app: %[2]s}},
  template: {metadata: {labels: {app: %[2]s}}, spec: {containers: [{name: main, image: web}]}}}}`, kind, name, n, more)
	}
	custom := func(resource, kind, name, spec string) string {
		return fmt.Sprintf("{apiVersion: %s/v1, kind: %s, metadata: {name: %s, labels: {app: a}}, spec: %s}", strings.SplitN(resource, ".", 2)[1], kind, name, spec)
	}
	return map[string][]string{
		// The Deployments are paused, so that the test does not wait for pods.
		"deployments.apps":                    {workload("Deployment", "one", 2, "paused: true,"), workload("Deployment", "two", 1, "paused: true,")},
		"statefulsets.apps":                   {workload("StatefulSet", "one", 0, "")},
		"replicasets.apps":                    {workload("ReplicaSet", "one", 0, "")},
		kinds.ImoocPod().CRD():                {harness.ImoocPodManifest("one", "spec: {replicas: 2}"), harness.ImoocPodManifest("two", "spec: {replicas: 1}")},
		"widgets.plain.example.com":           {custom("widgets.plain.example.com", "Widget", "one", "{replicas: 2}"), custom("widgets.plain.example.com", "Widget", "two", "{replicas: 1}")},
		"rings.odd-name.example.com":          {custom("rings.odd-name.example.com", "Ring", "one", "{clusterSize: 2}")},
		"statefulsets.name-clash.example.com": {custom("statefulsets.name-clash.example.com", "StatefulSet", "one", "{replicas: 2}")},
		"lamps.no-scale.example.com":          {custom("lamps.no-scale.example.com", "Lamp", "one", "{shade: red, replicas: 2}")},
		"crews.annotated.example.com":         {custom("crews.annotated.example.com", "Crew", "one", "{teams: [{name: deck, members: 2}]}")},
		"runs.negative.example.com":           {custom("runs.negative.example.com", "Run", "one", "{parallelism: 2}")},
	}
}

type outcome struct {
	success bool
	stdout  string
	objects map[string]any
	result  harness.Result
}

// kubectl scale and the plugin run the same command lines on equal objects. The exit status, the
// objects afterwards and, on success, the output must be equal, or differ for a documented reason.
func TestScaleAsKubectlDoes(t *testing.T) {
	t.Parallel()
	installKinds(t)
	dir := t.TempDir()
	for _, name := range []string{"m", "k"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{
		"m/deployment.yaml":    "---\n" + stageObjects()["deployments.apps"][0],
		"m/widget.yaml":        widgetOne,
		"k/widget.yaml":        widgetOne,
		"k/kustomization.yaml": "resources: [widget.yaml]",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	differences := harness.ReadFile(t, "../../docs/differences.md")
	// Each comparison uses a free pair of stages, so at most four comparisons run at a time.
	type pair struct{ kubectl, plugin *stage }
	free := make(chan pair, 4)
	for range cap(free) {
		free <- pair{newStage(t), newStage(t)}
	}
	t.Run("compared", func(t *testing.T) {
		for _, c := range comparisons() {
			t.Run(c.args, func(t *testing.T) {
				t.Parallel()
				if !strings.Contains(differences, "**"+c.differ.reason+".**") && c.differ.reason != "" {
					t.Errorf("docs/differences.md does not say %q", c.differ.reason)
				}
				p := <-free
				defer func() { free <- p }()
				c.compare(t, c.run(t, p.kubectl, dir, runKubectl), c.run(t, p.plugin, dir, runPlugin))
			})
		}
	})
}

func runKubectl(t *testing.T, ns, stdin string, args []string) harness.Result {
	t.Helper()
	return cluster.KubectlFrom(t, stdin, nil, ns, args...)
}

// runPlugin runs the plugin in this process, which is much faster than a real kubectl with a real
// plugin.
func runPlugin(t *testing.T, ns, stdin string, args []string) harness.Result {
	t.Helper()
	if slices.Contains(args, "-") { // kubectl's libraries read the standard input of the process
		return runKubectl(t, ns, stdin, append([]string{"imoocpod"}, args...))
	}
	var stdout, stderr bytes.Buffer
	root := cmd.NewRootCommand("", genericiooptions.IOStreams{In: strings.NewReader(stdin), Out: &stdout, ErrOut: &stderr})
	root.SetArgs(append([]string{"--kubeconfig", cluster.Kubeconfig, "--cache-dir", filepath.Join(cluster.Dir, "cache"), "-n", ns}, args...))
	r := harness.Result{Line: "kubectl imoocpod " + strings.Join(args, " ")}
	if err := root.ExecuteContext(t.Context()); err != nil {
		fmt.Fprintln(&stderr, err)
		r.Code = harness.ExitError
	}
	r.Stdout, r.Stderr = stdout.String(), stderr.String()
	return r
}

// run prepares the stage, runs the command line with one of the programs, and returns its outcome.
func (c comparison) run(t *testing.T, s *stage, dir string, program func(t *testing.T, ns, stdin string, args []string) harness.Result) outcome {
	t.Helper()
	ns := s.namespace
	s.set(t)
	args := []string{"scale"}
	for _, word := range harness.Words(c.args) {
		switch {
		case word == "VERSION":
			word = cluster.Object(t, ns, "widgets.plain.example.com", "one").GetResourceVersion()
		case strings.HasPrefix(word, "DIR"):
			word = dir + strings.TrimPrefix(word, "DIR")
		}
		args = append(args, word)
	}
	r := program(t, ns, c.stdin, args)
	left := map[string]any{}
	for resource := range stageObjects() {
		left[resource] = lookAt(t, ns, resource)
	}
	s.left = left
	return outcome{success: r.Code == 0, stdout: stable(r.Stdout), objects: left, result: r}
}

func (c comparison) compare(t *testing.T, kubectl, plugin outcome) {
	t.Helper()
	told := fmt.Sprintf("\n%s\n  exit code %d\n  stdout: %s\n  stderr: %s\n%s\n  exit code %d\n  stdout: %s\n  stderr: %s",
		kubectl.result.Line, kubectl.result.Code, kubectl.result.Stdout, kubectl.result.Stderr, plugin.result.Line, plugin.result.Code, plugin.result.Stdout, plugin.result.Stderr)
	if plugin.success == c.fails {
		t.Errorf("success: %t%s", plugin.success, told)
	}
	if got := kubectl.success != plugin.success; got != c.differ.success {
		t.Errorf("success differs: %t, want %t%s", got, c.differ.success, told)
	}
	if got := kubectl.success && plugin.success && kubectl.stdout != plugin.stdout; got != c.differ.output {
		t.Errorf("output differs: %t, want %t%s", got, c.differ.output, told)
	}
	if got := !reflect.DeepEqual(kubectl.objects, plugin.objects); got != c.differ.objects {
		t.Errorf("objects differ: %t, want %t\n%s\n%s%s", got, c.differ.objects, toJSON(t, kubectl.objects), toJSON(t, plugin.objects), told)
	}
	if !plugin.success && plugin.result.Stderr == "" {
		t.Errorf("failed without a word%s", told)
	}
}

// stable removes the values that are unique to an object from the output.
func stable(out string) string {
	return regexp.MustCompile(`"?(uid|resourceVersion|creationTimestamp|namespace)"?: "?[^",\n]+"?`).ReplaceAllString(out, "$1")
}

// stage is a namespace in which comparisons run one after the other.
type stage struct {
	namespace string
	// wanted is the prepared state of the objects by resource. left is the state after the last
	// run.
	wanted, left map[string]any
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return &stage{namespace: cluster.NewNamespace(t), wanted: map[string]any{}}
}

// set recreates the objects that the last run changed.
func (s *stage) set(t *testing.T) {
	t.Helper()
	background := metav1.DeletePropagationBackground
	for resource, manifests := range stageObjects() {
		if wanted, known := s.wanted[resource]; known && reflect.DeepEqual(wanted, s.left[resource]) {
			continue
		}
		client := stageClient(resource, s.namespace)
		if err := client.DeleteCollection(t.Context(), metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, manifest := range manifests {
			if _, err := client.Create(t.Context(), harness.Parse(t, manifest), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		s.wanted[resource] = lookAt(t, s.namespace, resource)
	}
}

// lookAt returns the fields that a command could have changed, for the objects of a resource.
func lookAt(t *testing.T, ns, resource string) map[string]any {
	t.Helper()
	list, err := stageClient(resource, ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]any{}
	for _, obj := range list.Items {
		objects[obj.GetName()] = map[string]any{"labels": obj.GetLabels(), "spec": obj.Object["spec"]}
	}
	return objects
}

func stageClient(resource, ns string) dynamic.ResourceInterface {
	gvr := harness.Resource(resource)
	if resource == kinds.ImoocPod().CRD() {
		gvr = kinds.ImoocPod().Resource
	}
	return cluster.Dynamic.Resource(gvr).Namespace(ns)
}

func TestFlagsOfKubectlScale(t *testing.T) {
	t.Parallel()
	flags := regexp.MustCompile(`(?m)^ +(?:-., )?(--[a-z-]+)=`).FindAllStringSubmatch(harness.Must(t, cluster.Kubectl(t, "", "scale", "--help")), -1)
	if len(flags) < 10 {
		t.Errorf("kubectl says that it has the flags %v", flags)
	}
	help := cluster.Imoocpod(t, "", "scale", "--help")
	for _, flag := range flags {
		contains(t, help, `(?m)^ +(-., )?`+flag[1]+`\b`)
	}
}
