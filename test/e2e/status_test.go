package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// matches fails the test unless a whole output matches.
func matches(t *testing.T, what, got, pattern string) {
	t.Helper()
	if !regexp.MustCompile("^" + pattern + "$").MatchString(got) {
		t.Errorf("%s printed\n%s\nwant a match for\n%s", what, got, pattern)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)

	for _, args := range [][]string{{"status"}, {"status", "-l", "a=b"}, {"status", "-o", "json"}} {
		r := kubectl(t, ns, append([]string{"imoocpod"}, args...)...)
		if want := fmt.Sprintf("No resources found in %s namespace.\n", ns); r.code != 0 || r.stdout != "" || r.stderr != want {
			t.Errorf("%v: exit code %d, printed %q, said %q, want %q", args, r.code, r.stdout, r.stderr, want)
		}
	}

	startLoop(t, ns)
	imoocpod(t, ns, "create", "foo", "--replicas", "2")
	imoocpod(t, ns, "create", "web", "--replicas", "0")
	must(t, kubectl(t, ns, "label", "imoocpod", "web", "tier=front"))
	converged(t, ns, "foo", 2)
	converged(t, ns, "web", 0)
	foo := getImoocPod(t, ns, "foo")
	pod := func(slot int32) string { return regexp.QuoteMeta(podName(foo, slot)) }

	const age = `\d+\w*`
	matches(t, "status foo", imoocpod(t, ns, "status", "foo"), `imoocpod.batch.tutorial.kubebuilder.io/foo: ready: 2 of 2 pods are ready
desired 2, current 2, ready 2

POD +READY +STATUS +RESTARTS +AGE +NODE +REASON
`+pod(0)+` +1/1 +Running +0 +`+age+` +node-\d+
`+pod(1)+` +1/1 +Running +0 +`+age+` +node-\d+

CONDITION +STATUS +SINCE +REASON +MESSAGE
Ready +True +`+age+` +\w+ +2 of 2 pods are ready
Progressing +False (?s:.*)
ReplicaFailure +False [^\n]*
`)
	table := `NAME +DESIRED +CURRENT +READY +VERDICT +AGE
foo +2 +2 +2 +ready +` + age + `
web +0 +0 +0 +ready +` + age + `
`
	matches(t, "status", imoocpod(t, ns, "status"), table)
	matches(t, "status --no-headers", imoocpod(t, ns, "status", "--no-headers"), table[strings.Index(table, "\n")+1:])
	matches(t, "status -l", imoocpod(t, ns, "status", "-l", "tier in (front, back)"), `NAME [^\n]*\nweb [^\n]*\n`)
	matches(t, "status -o wide", imoocpod(t, ns, "status", "-o", "wide"), `NAME +DESIRED +CURRENT +READY +VERDICT +AGE +REASON
foo +2 +2 +2 +ready +`+age+` +2 of 2 pods are ready
web +0 +0 +0 +ready +`+age+` +0 of 0 pods are ready
`)
	matches(t, "status -A", imoocpod(t, "", "status", "-A"), `(?s)NAMESPACE +NAME +DESIRED +CURRENT +READY +VERDICT +AGE\n.*`)
	// With a type where objects of other tests are of other kinds.
	if all := imoocpod(t, "", "status", "-A"); !regexp.MustCompile(`(?m)^` + ns + ` +(imoocpod\.\S+/)?foo +2 +2 +2 +ready +` + age + `$`).MatchString(all) {
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
		if out := imoocpod(t, ns, words(test.args)...); out != test.want {
			t.Errorf("%s printed %q, want %q", test.args, out, test.want)
		}
	}

	var asJSON, asYAML status.Report
	if err := json.Unmarshal([]byte(imoocpod(t, ns, "status", "foo", "-o", "json")), &asJSON); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict([]byte(imoocpod(t, ns, "status", "foo", "-o", "yaml")), &asYAML); err != nil {
		t.Fatal(err)
	}
	for _, r := range []status.Report{asJSON, asYAML} {
		if r.Kind != "StatusReport" || r.Verdict != status.Ready || r.Metadata.UID != foo.UID || r.Replicas.Desired != 2 || r.Replicas.Current != 2 || r.Replicas.Ready != 2 || r.Replicas.Updated == nil || *r.Replicas.Updated != 2 ||
			len(r.Pods) != 2 || r.Pods[1].Name != podName(foo, 1) || len(r.Conditions) != 3 {
			t.Errorf("the report is %+v", r)
		}
	}

	// What keeps a pod from being ready is said.
	patchPodStatus(t, ns, podName(foo, 1), map[string]any{
		"conditions": []any{map[string]any{"type": "Ready", "status": "False"}},
		"containerStatuses": []any{map[string]any{
			"name": "busybox", "image": "busybox", "imageID": "", "ready": false, "restartCount": 4,
			"state": map[string]any{"waiting": map[string]any{"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
		}},
	})
	eventually(t, "the pod that is not ready is counted", func() bool { return getImoocPod(t, ns, "foo").Status.ReadyReplicas == 1 })
	matches(t, "status foo", imoocpod(t, ns, "status", "foo"),
		`imoocpod.batch.tutorial.kubebuilder.io/foo: failed: pod `+pod(1)+`: container busybox crashes: 4 restarts\nhint: kubectl logs `+pod(1)+` -n `+ns+` -c busybox --previous\n(?s:.*)\n`+pod(1)+` +0/1 +CrashLoopBackOff +4 +`+age+` +node-\d+ +container busybox crashes: 4 restarts\n(?s:.*)`)
}

// An object that no controller has seen says so, and what to do.
func TestStatusNotReconciled(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	imoocpod(t, ns, "create", "foo", "--replicas", "2")
	want := "imoocpod.batch.tutorial.kubebuilder.io/foo: not reconciled: no controller has seen it yet\n" +
		"hint: kubectl imoocpod run-controller -n " + ns + "\ndesired 2, current 0, ready 0\n"
	if out := imoocpod(t, ns, "status", "foo"); out != want {
		t.Errorf("status printed\n%s\nwant\n%s", out, want)
	}
	startLoop(t, ns)
	converged(t, ns, "foo", 2)
	eventually(t, "it is ready", func() bool { return imoocpod(t, ns, "status", "foo", "-o", "jsonpath={.verdict}") == "ready" })
}

// A watch shows what there is, then a line for each change. No loop runs, so
// every change is one of the test's own.
func TestStatusWatch(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	empty := fmt.Sprintf("No resources found in %s namespace.", ns)
	all := startPlugin(t, "status", "-n", ns, "-w")
	all.says(empty)
	imoocpod(t, ns, "create", "foo", "--replicas", "2")
	all.says("foo    2")
	one := startPlugin(t, "status", "foo", "-n", ns, "-w", "-o", "wide")
	one.says("no controller has seen it yet")
	front := startPlugin(t, "status", "-n", ns, "-w", "-l", "tier=front", "--no-headers")
	front.says(empty)
	verdicts := startPlugin(t, "status", "-n", ns, "-w", "-o", `jsonpath={.metadata.name}:{.replicas.desired}:{.verdict}{"\n"}`)
	verdicts.says("foo:2:not reconciled")
	imoocpod(t, ns, "scale", "foo", "--replicas", "30")
	imoocpod(t, ns, "create", "a-longer-name", "--replicas", "1")
	must(t, kubectl(t, ns, "label", "imoocpod", "a-longer-name", "tier=front"))
	front.says("a-longer-name")
	must(t, kubectl(t, ns, "label", "imoocpod", "a-longer-name", "tier-"))
	front.says("deleted") // it is gone from what was asked for
	// The last change: who has shown it has shown all.
	imoocpod(t, ns, "delete", "foo")
	if code := one.ends(); code != exitNotFound {
		t.Errorf("the watch of what is gone ended with exit code %d, want %d", code, exitNotFound)
	}
	one.says("error: imoocpod.batch.tutorial.kubebuilder.io/foo was deleted")
	verdicts.says("foo:30:deleted")
	all.says("deleted")
	for _, l := range []*loop{all, front, verdicts} {
		if code := l.stop(); code != exitInterrupted {
			t.Errorf("Ctrl-C ended the watch with exit code %d, want %d", code, exitInterrupted)
		}
	}

	const age = `\d+\w*`
	shown := func(l *loop) string { return l.output() + "\n" }
	long := `a-longer-name +1 +0 +0 +not reconciled +` + age + "\n"
	matches(t, "status -w", shown(all), empty+`
NAME   DESIRED   CURRENT   READY   VERDICT          AGE
foo    2         0         0       not reconciled   `+age+`
foo    30        0         0       not reconciled   `+age+`
`+long+long+long+`foo             30        0         0       deleted          `+age+`
`)
	matches(t, "status foo -w -o wide", shown(one), `NAME +DESIRED +CURRENT +READY +VERDICT +AGE +REASON
foo +2 +0 +0 +not reconciled +`+age+` +no controller has seen it yet
foo +30 +0 +0 +not reconciled +`+age+` +no controller has seen it yet
foo +30 +0 +0 +deleted +`+age+` +it was deleted
error: imoocpod.batch.tutorial.kubebuilder.io/foo was deleted
`)
	matches(t, "status -w -l --no-headers", shown(front), empty+"\n"+long+strings.Replace(long, "not reconciled", "deleted", 1))
	if want := []string{"foo:2:not reconciled", "foo:30:not reconciled", "a-longer-name:1:not reconciled", "a-longer-name:1:not reconciled", "a-longer-name:1:not reconciled", "foo:30:deleted"}; !slices.Equal(verdicts.lines, want) {
		t.Errorf("status -w -o jsonpath printed %q, want %q", verdicts.lines, want)
	}
}

// For the person on call and for scripts: what is not ready alone, with the
// reasons, and an exit code.
func TestStatusNotReady(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	l := startLoop(t, ns)
	imoocpod(t, ns, "create", "good", "--replicas", "1")
	converged(t, ns, "good", 1)
	r := kubectl(t, ns, "imoocpod", "status", "--not-ready")
	if r.code != 0 || r.stdout != "" || r.stderr != "All 1 objects are ready.\n" {
		t.Errorf("with all ready: exit code %d, printed %q, said %q", r.code, r.stdout, r.stderr)
	}
	exitCode := func(want int, args ...string) {
		t.Helper()
		r := kubectl(t, ns, append([]string{"imoocpod", "status", "-o", "name", "--exit-code"}, args...)...)
		if r.code != want || r.stdout == "" {
			t.Errorf("%s: exit code %d, want %d; printed %q, said %q", r.line, r.code, want, r.stdout, r.stderr)
		}
	}
	exitCode(0)
	exitCode(0, "good")

	imoocpod(t, ns, "create", "bad", "--replicas", "1")
	converged(t, ns, "bad", 1)
	bad := podsOf(t, ns, getImoocPod(t, ns, "bad").UID)[0]
	pulling(t, ns, bad.Name, "no such image")
	eventually(t, "the pod that is not ready is counted", func() bool { return getImoocPod(t, ns, "bad").Status.ReadyReplicas == 0 })
	reason := `pod ` + bad.Name + `: container busybox cannot pull its image busybox: no such image`
	matches(t, "status --not-ready", imoocpod(t, ns, "status", "--not-ready"), `NAME +DESIRED +CURRENT +READY +VERDICT +AGE +REASON
bad +1 +1 +0 +failed +\d+\w* +`+regexp.QuoteMeta(reason)+`
`)
	matches(t, "status -A --not-ready", imoocpod(t, "", "status", "-A", "--not-ready"), `(?s)NAMESPACE +NAME .*\n`+ns+` +(imoocpod\S+/)?bad +1 +1 +0 +failed .*`)
	if out := imoocpod(t, ns, "status", "-o", `jsonpath={range .items[*]}{.metadata.name}={.reasonCode} {end}`); out != "bad=ImagePullFailed good=Ready " {
		t.Errorf("the reasons are %q", out)
	}
	exitCode(exitFailed)
	exitCode(exitFailed, "imoocpod/good", "imoocpod/bad")
	exitCode(0, "good")
	if r := kubectl(t, ns, "imoocpod", "status", "bad"); r.code != 0 {
		t.Errorf("without --exit-code, it is %d", r.code)
	}
	l.stop()
	imoocpod(t, ns, "create", "unseen", "--replicas", "1")
	exitCode(exitTimeout, "unseen")
	if r := kubectl(t, ns, "imoocpod", "status", "-w", "--exit-code"); r.code != exitUsage {
		t.Errorf("--watch with --exit-code ended with exit code %d", r.code)
	}
}

// pulling makes a pod one that cannot pull its image, as a kubelet would.
func pulling(t *testing.T, namespace, pod, words string) {
	t.Helper()
	patchPodStatus(t, namespace, pod, map[string]any{
		"phase":      "Pending",
		"conditions": []any{map[string]any{"type": "Ready", "status": "False"}},
		"containerStatuses": []any{map[string]any{
			"name": "busybox", "image": "busybox", "imageID": "", "ready": false, "restartCount": 0,
			"state": map[string]any{"waiting": map[string]any{"reason": "ImagePullBackOff", "message": `Back-off pulling image "busybox": ErrImagePull: ` + words}},
		}},
	})
}

// Several objects of several kinds are followed together, a line for each
// change, until all that were named are gone.
func TestStatusWatchSeveral(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	imoocpod(t, ns, "create", "foo", "--replicas", "1")
	apply(t, ns, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: web, image: web}]}}}}`)
	w := startPlugin(t, "status", "imoocpod/foo", "deployment/web", "-n", ns, "-w", "-o", `jsonpath={.metadata.type}/{.metadata.name} {.replicas.desired} {.verdict}{"\n"}`)
	w.says("imoocpod.batch.tutorial.kubebuilder.io/foo 1 not reconciled")
	w.says("deployment.apps/web 1 ready")
	sets := startPlugin(t, "status", "deployments,statefulsets", "--all", "-n", ns, "-w", "--not-ready", "-o", `jsonpath={.metadata.name} {.verdict}{"\n"}`)
	must(t, kubectl(t, ns, "scale", "deployment", "web", "--replicas", "2"))
	w.says("deployment.apps/web 2 ready")
	imoocpod(t, ns, "delete", "foo")
	w.says("imoocpod.batch.tutorial.kubebuilder.io/foo 1 deleted")
	must(t, kubectl(t, ns, "delete", "deployment", "web"))
	sets.says("web deleted")
	if code := w.ends(); code != exitNotFound {
		t.Errorf("when all were gone, it ended with exit code %d, want %d", code, exitNotFound)
	}
	if sets.stop(); strings.Contains(sets.output(), "web ready") {
		t.Errorf("--not-ready showed what is ready:\n%s", sets.output())
	}
}
