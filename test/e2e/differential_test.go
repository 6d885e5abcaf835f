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
// VERSION stands for the resource version of widget/one, and DIR for the directory of the manifests
// that TestScaleAsKubectlDoes writes.
type comparison struct {
	args  string
	stdin string
	// fails means that the plugin must fail. Without this field, a comparison would pass even if
	// both programs wrongly failed or succeeded.
	fails  bool
	differ difference
}

// comparisons returns the command lines in testdata/scale.txt, and command lines that read standard input or have an
// intended difference.
func comparisons(t *testing.T) []comparison {
	t.Helper()
	shows := difference{reason: showsResult, output: true}
	checks := difference{reason: dryRunChecks, success: true}
	all := []comparison{
		{args: "-f - --replicas 3", stdin: widgetOne},
		{args: "-f - --replicas 3", stdin: "kind: [", fails: true},
		{args: "-f - --replicas 3", fails: true},

		{args: "widget/one --replicas 3 -o yaml", differ: shows},
		{args: "widget/one --replicas 3 -o json", differ: shows},
		{args: "widget/one --replicas 3 -o jsonpath={.spec.replicas}", differ: shows},
		{args: "widget/one --replicas 3 --dry-run=server -o yaml", differ: shows},
		{args: "widget/one --replicas 3 --dry-run=client -o yaml", differ: shows},
		{args: "widget/one --replicas 3 --dry-run=client --current-replicas 7", fails: true, differ: checks},
		{args: "widget/one --replicas 3 --dry-run=client --resource-version 1", fails: true, differ: checks},
		// deployment/two has one replica.
		{args: "deployment one two --current-replicas 1 --replicas 3", fails: true, differ: difference{reason: doesTheOthers, objects: true}},

		// kubectl cannot scale these targets.
		{args: "one --replicas 3", differ: difference{reason: bareName, success: true, objects: true}},
		{args: "crew/one --replicas 3", differ: difference{reason: anyField, success: true, objects: true}},
		{args: "lamp/one --replicas 3 --replicas-path .spec.replicas", differ: difference{reason: anyField, success: true, objects: true}},
	}
	for line := range strings.Lines(harness.ReadFile(t, "testdata/scale.txt")) {
		line, _, _ = strings.Cut(line, "#")
		if args, fails := strings.CutPrefix(strings.TrimSpace(line), "! "); args != "" {
			all = append(all, comparison{args: args, fails: fails})
		}
	}
	return all
}

// widgetOne begins with a separator, because older versions of kubectl parse YAML that begins with a brace as JSON.
const widgetOne = "---\n{apiVersion: plain.example.com/v1, kind: Widget, metadata: {name: one}}"

// stageObjects maps each resource to the manifests of the objects that exist before each command line runs.
func stageObjects() map[string][]string {
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

// kubectl scale and the plugin run the same command lines on equal objects. Both must succeed or both must fail. They
// must leave equal objects and, on success, print the same output. Only documented differences are allowed.
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
		for _, c := range comparisons(t) {
			t.Run(c.args, func(t *testing.T) {
				t.Parallel()
				if !strings.Contains(differences, "**"+c.differ.reason+".**") && c.differ.reason != "" {
					t.Errorf("docs/differences.md does not document the difference %q", c.differ.reason)
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

// runPlugin runs the plugin, if possible in this process, because this is much faster than kubectl with the plugin.
func runPlugin(t *testing.T, ns, stdin string, args []string) harness.Result {
	t.Helper()
	if slices.Contains(args, "-") { // for -, kubectl's libraries read os.Stdin, not the streams
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
	outputs := fmt.Sprintf("\n%s\n  exit code %d\n  stdout: %s\n  stderr: %s\n%s\n  exit code %d\n  stdout: %s\n  stderr: %s",
		kubectl.result.Line, kubectl.result.Code, kubectl.result.Stdout, kubectl.result.Stderr, plugin.result.Line, plugin.result.Code, plugin.result.Stdout, plugin.result.Stderr)
	if plugin.success == c.fails {
		t.Errorf("the plugin succeeded: %t, want %t%s", plugin.success, !c.fails, outputs)
	}
	if got := kubectl.success != plugin.success; got != c.differ.success {
		t.Errorf("success differs: %t, want %t%s", got, c.differ.success, outputs)
	}
	if got := kubectl.success && plugin.success && kubectl.stdout != plugin.stdout; got != c.differ.output {
		t.Errorf("output differs: %t, want %t%s", got, c.differ.output, outputs)
	}
	if got := !reflect.DeepEqual(kubectl.objects, plugin.objects); got != c.differ.objects {
		t.Errorf("objects differ: %t, want %t\n%s\n%s%s", got, c.differ.objects, toJSON(t, kubectl.objects), toJSON(t, plugin.objects), outputs)
	}
	if !plugin.success && plugin.result.Stderr == "" {
		t.Errorf("the plugin failed without an error message%s", outputs)
	}
}

// stable removes the values that differ between objects with the same manifest.
func stable(out string) string {
	return regexp.MustCompile(`"?(uid|resourceVersion|creationTimestamp|namespace)"?: "?[^",\n]+"?`).ReplaceAllString(out, "$1")
}

// stage is a namespace in which comparisons run one after the other.
type stage struct {
	namespace string
	// wanted is the prepared state of the objects by resource. left is the state after the last run.
	wanted, left map[string]any
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return &stage{namespace: cluster.NewNamespace(t), wanted: map[string]any{}}
}

// set recreates all objects of a resource if the last run changed any of them. The first call creates the objects.
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
		t.Errorf("flags in kubectl scale --help = %v, want at least 10", flags)
	}
	help := cluster.Imoocpod(t, "", "scale", "--help")
	for _, flag := range flags {
		contains(t, help, `(?m)^ +(-., )?`+flag[1]+`\b`)
	}
}
