package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

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
	sets := cluster.StartPlugin(t, "status", "deployments,statefulsets", "--all", "-n", ns, "-w", "--not-ready", "-o", `jsonpath={.metadata.name} {.verdict}{"\n"}`)
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
		t.Errorf("--not-ready showed what is ready:\n%s", sets.Output())
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
