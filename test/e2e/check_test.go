package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// The verb check reports a missing controller, rejected pods, and missing permissions with the commands to grant them.
func TestCheck(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	run := func(args ...string) (map[string][]check.Result, harness.Result) {
		t.Helper()
		r := cluster.Kubectl(t, ns, append([]string{"imoocpod", "check", "-o", "json"}, args...)...)
		var report struct {
			Passed bool
			Checks []check.Result
		}
		if err := json.Unmarshal([]byte(r.Stdout), &report); err != nil {
			t.Fatalf("%s: cannot parse stdout %q (stderr %q): %v", r.Line, r.Stdout, r.Stderr, err)
		}
		if report.Passed != (r.Code == 0) || (r.Code != 0) != strings.Contains(r.Stderr, " checks failed\n") {
			t.Errorf("%s: passed = %t, but exit code %d, stderr %q", r.Line, report.Passed, r.Code, r.Stderr)
		}
		byName := map[string][]check.Result{}
		for _, result := range report.Checks {
			byName[result.Name] = append(byName[result.Name], result)
		}
		return byName, r
	}

	// Check as an unprivileged user, without a controller and with an exhausted quota.
	quota(t, ns, "0")
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "1")
	alice := "alice-" + ns
	defer cluster.Kubectl(t, "", "delete", "clusterroles", "imoocpod-viewer", "imoocpod-editor", "imoocpod-admin", "--ignore-not-found")
	checks, r := run("--as", alice)
	for _, verb := range []string{"scale", "delete", "install", "run-controller"} {
		name := "permission to " + verb
		if len(checks[name]) != 1 || checks[name][0].State != check.Failed || len(checks[name][0].Fix) < 2 {
			t.Errorf("check %q as an unprivileged user = %+v, want one failure with a fix", name, checks[name])
		}
	}

	// Run the printed commands that grant the permissions for scale and run-controller.
	for _, verb := range []string{"scale", "run-controller"} {
		for _, fix := range checks["permission to "+verb][0].Fix {
			harness.Must(t, cluster.Kubectl(t, "", strings.Fields(strings.TrimPrefix(fix, "kubectl "))...))
		}
	}
	harness.Eventually(t, "alice has the permissions that were granted", func() bool {
		checks, _ = run("--as", alice)
		return checks["permission to scale"][0].State == check.Passed && checks["permission to run-controller"][0].State == check.Passed
	})
	if checks["permission to delete"][0].State != check.Passed || checks["permission to install"][0].State != check.Failed {
		t.Errorf("after the fixes: delete %+v, want passed; install %+v, want failed", checks["permission to delete"], checks["permission to install"])
	}

	// Check as an administrator, first without a controller, and then with a controller that cannot create pods.
	checks, _ = run()
	for name, c := range checks {
		if passed := c[0].State == check.Passed; passed == (name == "controller") {
			t.Errorf("check %q without a controller = %+v, want a failure only of the check of the controller", name, c)
		}
	}
	cluster.StartRunController(t, ns)
	harness.Eventually(t, "check finds the controller and the exceeded quota", func() bool {
		checks, _ = run()
		return checks["controller"][0].State == check.Passed && checks["pods"][0].State == check.Failed && strings.Contains(checks["pods"][0].Message, "exceeded quota: few")
	})
	cluster.Imoocpod(t, ns, "delete", "foo")
	harness.Eventually(t, "all checks pass", func() bool { _, r = run(); return r.Code == 0 })
}
