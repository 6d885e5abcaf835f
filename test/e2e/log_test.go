package e2e

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// A starting controller logs nothing alarming, even if the server lacks optional
// features.
func TestStartIsQuiet(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	l := cluster.StartRunController(t, ns, "--declared-kinds")
	for _, object := range []string{"imoocpod/pods", "appservice/deployment", "mydaemonset/nodes"} {
		cluster.Imoocpod(t, ns, "create", object, "--image", "nginx", "--timeout", "2m")
	}
	l.Stop()
	alarm := regexp.MustCompile(`(?i)cannot|error|fail|warn|forbidden|refused|trying again|^[EW]\d{4} `)
	for _, line := range l.Lines() {
		if alarm.MatchString(line) {
			t.Errorf("it said %q", line)
		}
	}
}

// The JSON log identifies the object and the reconcile. From -v=2 on, it includes the
// trigger. The log never contains the token.
func TestLogFormat(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	const token = "the-secret-of-a-person" // sent in addition to the certificate, which takes precedence
	l := cluster.StartRunController(t, ns, "--log-format", "json", "-v=8", "--kube-api-qps", "50", "--workers", "1", "--token", token)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "1")
	cluster.AwaitConverged(t, ns, "foo", 1)
	l.AwaitOutput(`"msg":"1 of 1 pods ready"`)
	l.AwaitOutput(" was updated")
	l.Stop()
	type record struct {
		Time, Level, Msg, Kind, Namespace, Name string
		Reconcile                               int
		Because                                 []string
	}
	var records []record
	for line := range strings.Lines(l.Output()) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q is no JSON: %v", line, err)
		}
		records = append(records, r)
	}
	why := map[int][]string{}
	told := false
	for _, r := range records {
		if r.Time == "" || r.Level == "" || r.Msg == "" {
			t.Errorf("a record without time, level or message: %+v", r)
		}
		if r.Msg == "Reconcile" {
			why[r.Reconcile] = r.Because
		}
		if r.Msg == "0 → 1 pod: creating 1" {
			told = true
			reasons := strings.Join(why[r.Reconcile], "; ")
			if r.Kind != "imoocpods.batch.tutorial.kubebuilder.io" || r.Namespace != ns || r.Name != "foo" || !strings.Contains(reasons, "it was added") && !strings.Contains(reasons, "it existed at the start") {
				t.Errorf("%+v, because %q", r, reasons)
			}
		}
	}
	if !told {
		t.Error("no log record contains the create")
	}
	reasons := ""
	for _, list := range why {
		reasons += strings.Join(list, "; ") + "\n"
	}
	if !strings.Contains(reasons, "pod foo-") || !strings.Contains(reasons, "was updated") {
		t.Errorf("no reconcile was triggered by an event of a pod:\n%s", reasons)
	}
	if strings.Contains(l.Output(), token) || !strings.Contains(l.Output(), "Authorization") {
		t.Error("the log contains the token, or no headers at all")
	}
}
