package e2e

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

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
