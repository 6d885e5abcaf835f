package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// matches fails the test unless the pattern matches the whole output.
func matches(t *testing.T, what, got, pattern string) {
	t.Helper()
	if !regexp.MustCompile("^" + pattern + "$").MatchString(got) {
		t.Errorf("%s printed\n%s\nwant a match for\n%s", what, got, pattern)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)

	for _, args := range [][]string{{"status"}, {"status", "-l", "a=b"}, {"status", "-o", "json"}} {
		r := cluster.Kubectl(t, ns, append([]string{"imoocpod"}, args...)...)
		want := "No resources found in " + ns + " namespace.\n"
		if r.Code != 0 || r.Stdout != "" || r.Stderr != want {
			t.Errorf("%v: exit code %d, printed %q, said %q, want %q", args, r.Code, r.Stdout, r.Stderr, want)
		}
	}

	cluster.StartRunController(t, ns)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2")
	cluster.Imoocpod(t, ns, "create", "web", "--replicas", "0")
	harness.Must(t, cluster.Kubectl(t, ns, "label", "imoocpod", "web", "tier=front"))
	cluster.AwaitConverged(t, ns, "foo", 2)
	cluster.AwaitConverged(t, ns, "web", 0)
	foo := cluster.ImoocPod(t, ns, "foo")
	pod := func(slot int32) string { return regexp.QuoteMeta(podName(foo, slot)) }

	const age = `\d+\w*`
	matches(t, "status foo", cluster.Imoocpod(t, ns, "status", "foo"), `imoocpod/foo: ready: 2 of 2 pods ready
desired 2, current 2, ready 2

POD +READY +STATUS +RESTARTS +AGE +NODE +REASON
`+pod(0)+` +1/1 +Running +0 +`+age+` +node-\d+
`+pod(1)+` +1/1 +Running +0 +`+age+` +node-\d+

CONDITION +STATUS +SINCE +REASON +MESSAGE
Ready +True +`+age+` +\w+ +2 of 2 pods ready
Progressing +False (?s:.*)
ReplicaFailure +False [^\n]*
`)
	table := `NAME +DESIRED +CURRENT +READY +VERDICT +AGE
foo +2 +2 +2 +ready +` + age + `
web +0 +0 +0 +ready +` + age + `
`
	matches(t, "status", cluster.Imoocpod(t, ns, "status"), table)
	matches(t, "status --no-headers", cluster.Imoocpod(t, ns, "status", "--no-headers"), table[strings.Index(table, "\n")+1:])
	matches(t, "status -l", cluster.Imoocpod(t, ns, "status", "-l", "tier in (front, back)"), `NAME [^\n]*\nweb [^\n]*\n`)
	matches(t, "status -o wide", cluster.Imoocpod(t, ns, "status", "-o", "wide"), `NAME +DESIRED +CURRENT +READY +VERDICT +AGE +REASON
foo +2 +2 +2 +ready +`+age+` +2 of 2 pods ready
web +0 +0 +0 +ready +`+age+` +scaled to zero
`)
	matches(t, "status -A", cluster.Imoocpod(t, "", "status", "-A"), `(?s)NAMESPACE +NAME +DESIRED +CURRENT +READY +VERDICT +AGE\n.*`)
	// With a type, because other tests have objects of other kinds.
	if all := cluster.Imoocpod(t, "", "status", "-A"); !regexp.MustCompile(`(?m)^` + ns + ` +(imoocpod/)?foo +2 +2 +2 +ready +` + age + `$`).MatchString(all) {
		t.Errorf("status -A printed\n%s\nwant foo of %s in it", all, ns)
	}
	const prefix = "imoocpod.batch.tutorial.kubebuilder.io/"
	for _, test := range []struct{ args, want string }{
		{"status -o name", prefix + "foo\n" + prefix + "web\n"},
		{"status foo -o name", prefix + "foo\n"},
		{"status foo -o jsonpath={.verdict}", "ready"},
		{"status -o jsonpath={.items[*].verdict}", "ready ready"},
		{"status -o custom-columns=NAME:.metadata.name,READY:.replicas.ready", "NAME   READY\nfoo    2\nweb    0\n"},
		{"status foo -o custom-columns=:.verdict --no-headers", "ready\n"},
		{"status foo -o jsonpath={.pods[*].name}", podName(foo, 0) + " " + podName(foo, 1)},
		{"status -o go-template={{.kind}}", "List"},
	} {
		if out := cluster.Imoocpod(t, ns, harness.Words(test.args)...); out != test.want {
			t.Errorf("%s printed %q, want %q", test.args, out, test.want)
		}
	}

	var asJSON, asYAML status.Report
	if err := json.Unmarshal([]byte(cluster.Imoocpod(t, ns, "status", "foo", "-o", "json")), &asJSON); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict([]byte(cluster.Imoocpod(t, ns, "status", "foo", "-o", "yaml")), &asYAML); err != nil {
		t.Fatal(err)
	}
	for _, r := range []status.Report{asJSON, asYAML} {
		if r.Kind != "StatusReport" || r.Verdict != status.Ready || r.Metadata.UID != foo.UID || r.Replicas.Desired != 2 || r.Replicas.Current != 2 || r.Replicas.Ready != 2 || r.Replicas.Updated == nil || *r.Replicas.Updated != 2 ||
			len(r.Pods) != 2 || r.Pods[1].Name != podName(foo, 1) || len(r.Conditions) != 3 {
			t.Errorf("the report is %+v", r)
		}
	}

	// The reason why a pod is not ready is shown.
	cluster.PatchPodStatus(t, ns, podName(foo, 1), map[string]any{
		"conditions": []any{map[string]any{"type": "Ready", "status": "False"}},
		"containerStatuses": []any{map[string]any{
			"name": "busybox", "image": "busybox", "imageID": "", "ready": false, "restartCount": 4,
			"state": map[string]any{"waiting": map[string]any{"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
		}},
	})
	harness.Eventually(t, "the pod that is not ready is counted", func() bool { return cluster.ImoocPod(t, ns, "foo").Status.ReadyReplicas == 1 })
	matches(t, "status foo", cluster.Imoocpod(t, ns, "status", "foo"),
		`imoocpod/foo: failed: pod `+pod(1)+`: container busybox crashes: 4 restarts\nhint: kubectl imoocpod logs imoocpod/foo -n `+ns+` --failing\n(?s:.*)\n`+pod(1)+` +0/1 +CrashLoopBackOff +4 +`+age+` +node-\d+ +container busybox crashes: 4 restarts\n(?s:.*)`)
}

// An object that no controller has seen reports that with a hint.
func TestStatusNotReconciled(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2")
	want := "imoocpod/foo: not reconciled: no controller has seen it yet\n" +
		"hint: kubectl imoocpod run-controller -n " + ns + "\ndesired 2, current 0, ready 0\n"
	if out := cluster.Imoocpod(t, ns, "status", "foo"); out != want {
		t.Errorf("status printed\n%s\nwant\n%s", out, want)
	}
	cluster.StartRunController(t, ns)
	cluster.AwaitConverged(t, ns, "foo", 2)
	harness.Eventually(t, "it is ready", func() bool { return cluster.Imoocpod(t, ns, "status", "foo", "-o", "jsonpath={.verdict}") == "ready" })
}

// A watch prints the current state, then a line for each change. No controller runs, so
// the test makes all changes.
func TestStatusWatch(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	empty := fmt.Sprintf("No resources found in %s namespace.", ns)
	all := cluster.StartPlugin(t, "status", "-n", ns, "-w")
	all.AwaitOutput(empty)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2")
	all.AwaitOutput("foo    2")
	one := cluster.StartPlugin(t, "status", "foo", "-n", ns, "-w", "-o", "wide")
	one.AwaitOutput("no controller has seen it yet")
	front := cluster.StartPlugin(t, "status", "-n", ns, "-w", "-l", "tier=front", "--no-headers")
	front.AwaitOutput(empty)
	verdicts := cluster.StartPlugin(t, "status", "-n", ns, "-w", "-o", `jsonpath={.metadata.name}:{.replicas.desired}:{.verdict}{"\n"}`)
	verdicts.AwaitOutput("foo:2:not reconciled")
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "30")
	cluster.Imoocpod(t, ns, "create", "a-longer-name", "--replicas", "1")
	harness.Must(t, cluster.Kubectl(t, ns, "label", "imoocpod", "a-longer-name", "tier=front"))
	front.AwaitOutput("a-longer-name")
	harness.Must(t, cluster.Kubectl(t, ns, "label", "imoocpod", "a-longer-name", "tier-"))
	front.AwaitOutput("deleted") // it has left the selection
	// The last change: once it has been printed, all have been.
	cluster.Imoocpod(t, ns, "delete", "foo")
	if code := one.Wait(); code != harness.ExitNotFound {
		t.Errorf("the watch of a deleted object ended with exit code %d, want %d", code, harness.ExitNotFound)
	}
	one.AwaitOutput("error: imoocpod/foo was deleted")
	verdicts.AwaitOutput("foo:30:deleted")
	all.AwaitOutput("deleted")
	for _, l := range []*harness.Process{all, front, verdicts} {
		if code := l.Stop(); code != harness.ExitInterrupted {
			t.Errorf("Ctrl-C ended the watch with exit code %d, want %d", code, harness.ExitInterrupted)
		}
	}

	const age = `\d+\w*`
	shown := func(l *harness.Process) string { return l.Output() + "\n" }
	long := `a-longer-name +1 +0 +0 +not reconciled +` + age + "\n"
	matches(t, "status -w", shown(all), empty+`
NAME   DESIRED   CURRENT   READY   VERDICT          AGE
foo    2         0         0       not reconciled   `+age+`
foo    30        0         0       not reconciled   `+age+`
`+"("+long+"){1,3}"+`foo             30        0         0       deleted          `+age+`
`)
	matches(t, "status foo -w -o wide", shown(one), `NAME +DESIRED +CURRENT +READY +VERDICT +AGE +REASON
foo +2 +0 +0 +not reconciled +`+age+` +no controller has seen it yet
foo +30 +0 +0 +not reconciled +`+age+` +no controller has seen it yet
foo +30 +0 +0 +deleted +`+age+` +it was deleted
error: imoocpod/foo was deleted
`)
	matches(t, "status -w -l --no-headers", shown(front), empty+"\n"+long+strings.Replace(long, "not reconciled", "deleted", 1))
	// Changes in quick succession, such as two of a label, may be printed as one.
	for name, want := range map[string][]string{
		"foo:": {"foo:2:not reconciled", "foo:30:not reconciled", "foo:30:deleted"}, "a-longer-name:": {"a-longer-name:1:not reconciled"},
	} {
		lines := slices.DeleteFunc(verdicts.Lines(), func(line string) bool { return !strings.HasPrefix(line, name) })
		if !slices.Equal(slices.Compact(lines), want) {
			t.Errorf("status -w -o jsonpath printed %q, want %q", verdicts.Lines(), want)
		}
	}
}

// --only not-ready shows only the objects that are not ready, with reasons, and sets the exit
// code.
func TestStatusNotReady(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	l := cluster.StartRunController(t, ns)
	cluster.Imoocpod(t, ns, "create", "good", "--replicas", "1")
	cluster.AwaitConverged(t, ns, "good", 1)
	r := cluster.Kubectl(t, ns, "imoocpod", "status", "--only=not-ready")
	if r.Code != 0 || r.Stdout != "" || r.Stderr != "the object is ready\n" {
		t.Errorf("with all ready: exit code %d, printed %q, said %q", r.Code, r.Stdout, r.Stderr)
	}
	exitCode := func(want int, args ...string) {
		t.Helper()
		r := cluster.Kubectl(t, ns, append([]string{"imoocpod", "status", "-o", "name", "--exit-code"}, args...)...)
		if r.Code != want || r.Stdout == "" {
			t.Errorf("%s: exit code %d, want %d; printed %q, said %q", r.Line, r.Code, want, r.Stdout, r.Stderr)
		}
	}
	exitCode(0)
	exitCode(0, "good")

	cluster.Imoocpod(t, ns, "create", "bad", "--replicas", "1")
	cluster.AwaitConverged(t, ns, "bad", 1)
	bad := cluster.PodsOf(t, ns, cluster.ImoocPod(t, ns, "bad").UID)[0]
	pulling(t, ns, bad.Name, "no such image")
	harness.Eventually(t, "the pod that is not ready is counted", func() bool { return cluster.ImoocPod(t, ns, "bad").Status.ReadyReplicas == 0 })
	reason := `pod ` + bad.Name + `: container busybox cannot pull its image busybox: no such image`
	matches(t, "status --only not-ready", cluster.Imoocpod(t, ns, "status", "--only=not-ready"), `NAME +DESIRED +CURRENT +READY +VERDICT +AGE +REASON
bad +1 +1 +0 +failed +\d+\w* +`+regexp.QuoteMeta(reason)+`
`)
	matches(t, "status -A --only not-ready", cluster.Imoocpod(t, "", "status", "-A", "--only=not-ready"), `(?s)NAMESPACE +NAME .*\n`+ns+` +(imoocpod/)?bad +1 +1 +0 +failed .*`)
	if out := cluster.Imoocpod(t, ns, "status", "-o", `jsonpath={range .items[*]}{.metadata.name}={.reasonCode} {end}`); out != "bad=ImagePullFailed good=Ready " {
		t.Errorf("the reasons are %q", out)
	}
	exitCode(harness.ExitFailed)
	exitCode(harness.ExitFailed, "imoocpod/good", "imoocpod/bad")
	exitCode(0, "good")
	if r := cluster.Kubectl(t, ns, "imoocpod", "status", "bad"); r.Code != 0 {
		t.Errorf("without --exit-code, it is %d", r.Code)
	}
	l.Stop()
	cluster.Imoocpod(t, ns, "create", "unseen", "--replicas", "1")
	exitCode(harness.ExitTimeout, "unseen")
	if r := cluster.Kubectl(t, ns, "imoocpod", "status", "-w", "--exit-code"); r.Code != harness.ExitUsage {
		t.Errorf("--watch with --exit-code ended with exit code %d", r.Code)
	}
}

// pulling gives a pod the status of one that cannot pull its image, as a kubelet would.
func pulling(t *testing.T, namespace, pod, words string) {
	t.Helper()
	cluster.PatchPodStatus(t, namespace, pod, map[string]any{
		"phase":      "Pending",
		"conditions": []any{map[string]any{"type": "Ready", "status": "False"}},
		"containerStatuses": []any{map[string]any{
			"name": "busybox", "image": "busybox", "imageID": "", "ready": false, "restartCount": 0,
			"state": map[string]any{"waiting": map[string]any{"reason": "ImagePullBackOff", "message": `Back-off pulling image "busybox": ErrImagePull: ` + words}},
		}},
	})
}

// Several objects of several kinds are followed together, with a line for each change,
// until all named objects are gone.
func TestStatusWatchSeveral(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "1")
	cluster.Apply(t, ns, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: web, image: web}]}}}}`)
	w := cluster.StartPlugin(t, "status", "imoocpod/foo", "deployment/web", "-n", ns, "-w", "-o", `jsonpath={.metadata.type}/{.metadata.name} {.replicas.desired} {.verdict}{"\n"}`)
	w.AwaitOutput("imoocpod.batch.tutorial.kubebuilder.io/foo 1 not reconciled")
	w.AwaitOutput("deployment.apps/web 1 ready")
	sets := cluster.StartPlugin(t, "status", "deployments,statefulsets", "--all", "-n", ns, "-w", "--only=not-ready", "-o", `jsonpath={.metadata.name} {.verdict}{"\n"}`)
	harness.Must(t, cluster.Kubectl(t, ns, "scale", "deployment", "web", "--replicas", "2"))
	w.AwaitOutput("deployment.apps/web 2 ready")
	cluster.Imoocpod(t, ns, "delete", "foo")
	w.AwaitOutput("imoocpod.batch.tutorial.kubebuilder.io/foo 1 deleted")
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "deployment", "web"))
	sets.AwaitOutput("web deleted")
	if code := w.Wait(); code != harness.ExitNotFound {
		t.Errorf("when all were gone, it ended with exit code %d, want %d", code, harness.ExitNotFound)
	}
	if sets.Stop(); strings.Contains(sets.Output(), "web ready") {
		t.Errorf("--only not-ready showed what is ready:\n%s", sets.Output())
	}
}

// A single word that is a type and not the name of an ImoocPod lists that type, as in
// kubectl get. A list is always a table.
func TestStatusOfType(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "web", 1))
	harness.Must(t, cluster.Kubectl(t, ns, "label", "deployment/web", "app=web", "--overwrite"))
	const header = "NAME +DESIRED +CURRENT +READY +VERDICT +AGE\n"
	for _, args := range []string{"deployment", "deploy", "deployments.apps", "deployment --all", "deployment -l app=web"} {
		matches(t, args, cluster.Imoocpod(t, ns, append([]string{"status"}, harness.Words(args)...)...), header+"web +1 [^\n]+\n")
	}
	if out := cluster.Imoocpod(t, ns, "status", "deployment", "-o", "jsonpath={.kind} {.items[*].metadata.name}"); out != "List web" {
		t.Errorf("-o jsonpath printed %q", out)
	}
	matches(t, "several types", cluster.Imoocpod(t, ns, "status", "deploy,sts"), header+"[^\n]*web +1 [^\n]+\n")
	matches(t, "no headers", cluster.Imoocpod(t, ns, "status", "deployment/web", "--no-headers"), "web +1 [^\n]+\n")
	matches(t, "all namespaces", cluster.Imoocpod(t, ns, "status", "deployments", "-A"), "NAMESPACE +"+header+"(?s:.*)"+ns+" +web +1 [^\n]+\n(?s:.*)")
	if r := cluster.Kubectl(t, ns, "imoocpod", "status", "statefulsets"); r.Code != 0 || r.Stdout != "" || r.Stderr != "No resources found in "+ns+" namespace.\n" {
		t.Errorf("%s: exit code %d, printed %q, said %q", r.Line, r.Code, r.Stdout, r.Stderr)
	}
	// The name of an ImoocPod takes precedence.
	cluster.Imoocpod(t, ns, "create", "deployment", "--replicas", "0")
	if out := cluster.Imoocpod(t, ns, "status", "deployment"); !strings.HasPrefix(out, "imoocpod/deployment: ") {
		t.Errorf("the status of an ImoocPod of that name is\n%s", out)
	}
}

// A pod is resolved to its owner, and other objects without replicas are refused.
func TestStatusWithoutReplicas(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "web", 1))
	pod := ""
	harness.Eventually(t, "there is a pod", func() bool {
		pod = strings.TrimSpace(harness.Must(t, cluster.Kubectl(t, ns, "get", "pods", "-o", "jsonpath={.items[*].metadata.name}")))
		return pod != ""
	})
	r := cluster.Kubectl(t, ns, "imoocpod", "status", "pod/"+pod)
	if r.Code != 0 || !strings.HasPrefix(r.Stdout, "deployment/web: ") || r.Stderr != "pod/"+pod+" belongs to deployment/web; showing deployment/web\n" {
		t.Errorf("%s: exit code %d, printed %q, said %q", r.Line, r.Code, r.Stdout, r.Stderr)
	}
	r = cluster.Kubectl(t, ns, "imoocpod", "describe", "pod/"+pod)
	if r.Code != 0 || !strings.HasPrefix(r.Stdout, "Name:          web\n") || r.Stderr != "pod/"+pod+" belongs to deployment/web; showing deployment/web\n" {
		t.Errorf("%s: exit code %d, printed %q, said %q", r.Line, r.Code, r.Stdout, r.Stderr)
	}
	r = cluster.Kubectl(t, ns, "imoocpod", "wait", "pod/"+pod)
	if r.Code != 0 || r.Stdout != "deployment.apps/web condition met\n" || !strings.HasPrefix(r.Stderr, "pod/"+pod+" belongs to deployment/web; waiting for deployment/web\n") {
		t.Errorf("%s: exit code %d, printed %q, said %q", r.Line, r.Code, r.Stdout, r.Stderr)
	}
	if out := cluster.Imoocpod(t, ns, "wait", "pod/"+pod, "--for=condition=Ready"); out != "pod/"+pod+" condition met\n" {
		t.Errorf("for a condition of a pod it printed %q", out)
	}
	harness.Must(t, cluster.Kubectl(t, ns, "run", "alone", "--image", "busybox"))
	for verb, instead := range map[string]string{"describe": "kubectl describe pod", "wait": "kubectl wait --for=condition=Ready pod"} {
		says := "error: pod/alone has no owner with replicas: " + instead + " alone -n " + ns + "\n"
		if r := cluster.Kubectl(t, ns, "imoocpod", verb, "pod/alone"); r.Code != harness.ExitError || r.Stdout != "" || r.Stderr != says {
			t.Errorf("%s: exit code %d, printed %q, said %q, want %q", r.Line, r.Code, r.Stdout, r.Stderr, says)
		}
	}
	for args, says := range map[string]string{
		"pod/alone":           "error: pod/alone has no owner with replicas: kubectl describe pod alone -n " + ns + "\n",
		"svc/kubernetes":      "error: service/kubernetes has no replicas and no pods of its own",
		"configmaps --all":    "error: configmap/kube-root-ca.crt has no replicas and no pods of its own",
		"configmaps -w --all": "error: the type configmaps has no replicas and no pods of its own",
	} {
		in := ns
		if strings.HasPrefix(args, "svc") {
			in = "default"
		}
		if r := cluster.Kubectl(t, in, append([]string{"imoocpod", "status"}, harness.Words(args)...)...); r.Code != harness.ExitError || r.Stdout != "" || !strings.Contains(r.Stderr, says) {
			t.Errorf("%s: exit code %d, printed %q, said %q, want %q", r.Line, r.Code, r.Stdout, r.Stderr, says)
		}
	}
}

// A controller that was killed on this machine is not listed as running, even if its
// lease has not expired.
func TestKilledControllerDoesNotRun(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	l := cluster.StartRunController(t, ns)
	cluster.Apply(t, ns, ailing("foo", oneContainer, waiting(0, "ImagePullBackOff", "", "")))
	l.AwaitOutput("foo: 0 of 2 pods ready: ")
	live := func() []bool {
		var r status.Report
		if err := json.Unmarshal([]byte(cluster.Imoocpod(t, ns, "status", "foo", "-o", "json")), &r); err != nil {
			t.Fatal(err)
		}
		var all []bool
		for _, loop := range r.Reconciler.Loops {
			if strings.HasSuffix(loop.Scope, " in namespace "+ns) { // ignore the loops of other tests
				all = append(all, loop.Live)
			}
		}
		return all
	}
	if got := live(); !slices.Equal(got, []bool{true}) {
		t.Fatalf("before it is killed, the controllers that live are %v", got)
	}
	l.Kill()
	if got := live(); !slices.Equal(got, []bool{false}) {
		t.Errorf("after it was killed, the controllers that live are %v", got)
	}
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "3")
	explains(t, ns, "foo", expected{status.NotReconciled, problem.CodeGenerationNotSeen, "no controller is running for it", "kubectl imoocpod run-controller -n " + ns})
}
