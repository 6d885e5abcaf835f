package printer

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/apis/batch/v1alpha1"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/budget"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/competing"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

var update = flag.Bool("update", false, "write the files in testdata anew")

// golden compares output with the golden file of this name. It also rejects trailing spaces.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s shows\n%s\nwant\n%s", name, got, want)
	}
	for line := range strings.Lines(got) {
		if strings.TrimRight(line, "\n") != strings.TrimRight(line, " \n") {
			t.Errorf("trailing spaces in line %q", line)
		}
	}
}

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

func ready() status.Report {
	return status.Report{
		Metadata: status.Metadata{
			Type: "imoocpod.batch.tutorial.kubebuilder.io", Namespace: "default", Name: "foo",
			Generation: 2, ObservedGeneration: 2, CreationTimestamp: metav1.NewTime(ago(3 * time.Hour)),
		},
		Verdict: status.Ready, Reason: "1 of 1 pods ready",
		Replicas: status.Replicas{Desired: 1, Current: 1, Ready: 1},
		Conditions: []metav1.Condition{
			{Type: "Ready", Status: metav1.ConditionTrue, Reason: "PodsReady", Message: "1 of 1 pods ready", LastTransitionTime: metav1.NewTime(ago(time.Hour))},
		},
		Pods: []problem.Pod{
			{Name: "foo-01234567-0", Phase: corev1.PodRunning, Status: "Running", Ready: true, ReadyContainers: 1, Containers: 1, Node: "node-1", Created: ago(2 * time.Hour)},
		},
	}
}

// failed returns a report on an object whose pods fail for different reasons.
func failed() status.Report {
	r := ready()
	r.Metadata.Name, r.Metadata.ObservedGeneration = "a-longer-name", 2
	r.Verdict, r.ReasonCode, r.Reason = status.Failed, problem.CodeQuotaExceeded, "cannot create more pods: exceeded quota: few"
	r.Problems = []problem.Problem{
		{Code: problem.CodeQuotaExceeded, Fatal: true, Message: r.Reason, Since: metav1.NewTime(ago(time.Minute))},
		{Code: problem.CodeImagePullFailed, Fatal: true, Message: "container web cannot pull its image web:v2: no such\nimage", Since: metav1.NewTime(ago(2 * time.Minute)), Pods: []string{"foo-01234567-1", "foo-01234567-2"}, Of: 4},
	}
	r.Replicas = status.Replicas{Desired: 10, Current: 2, Ready: 1, Updated: new(int32(10))}
	r.Conditions = append(r.Conditions, metav1.Condition{
		Type: "ReplicaFailure", Status: metav1.ConditionTrue, Reason: "QuotaExceeded", Message: "exceeded quota: few", LastTransitionTime: metav1.NewTime(ago(time.Minute)),
	})
	r.Pods = append(r.Pods,
		problem.Pod{Name: "foo-01234567-1", Phase: corev1.PodPending, Status: "ImagePullBackOff", Containers: 2, Restarts: 7, Node: "node-2", Created: ago(time.Minute), Reason: "no such image"},
		problem.Pod{Name: "foo-01234567-2", Phase: corev1.PodPending, Status: "Pending", Containers: 1, Created: ago(time.Second), Reason: "0/1 nodes are available"},
		problem.Pod{Name: "foo-01234567-3", Phase: corev1.PodFailed, Status: "Error", Containers: 1, Node: "node-2", Created: ago(time.Second), Reason: "exit code 1"},
		problem.Pod{Name: "foo-01234567-4", Phase: corev1.PodSucceeded, Status: "Completed", Containers: 1, Node: "node-2", Created: ago(time.Second)})
	return r
}

func unseen() status.Report {
	r := ready()
	r.Metadata.Namespace, r.Metadata.Name, r.Metadata.ObservedGeneration = "other", "bar", 0
	r.Verdict, r.Reason, r.Hint = status.NotReconciled, "no controller has seen it yet", "kubectl imoocpod run-controller -n other"
	r.Replicas = status.Replicas{Desired: 3}
	r.Conditions, r.Pods = nil, nil
	return r
}

// guarded returns a report on an object with an autoscaler and a budget, and with one problem.
func guarded() status.Report {
	r := ready()
	r.Verdict, r.ReasonCode, r.Reason = status.Progressing, problem.CodeProbeFailed, "1 of 2 pods ready; pod foo-01234567-1: container web is not ready: Readiness probe failed"
	r.Replicas = status.Replicas{Desired: 2, Current: 2, Ready: 1, Updated: new(int32(1))}
	r.Problems = []problem.Problem{{Code: problem.CodeProbeFailed, Message: "container web is not ready: Readiness probe failed", Pods: []string{"foo-01234567-1"}, Of: 2}}
	r.Reverts = []competing.Writer{{By: "HorizontalPodAutoscaler/foo", Message: "HorizontalPodAutoscaler/foo keeps its replica count between 1 and 10"}}
	r.Budgets = []budget.Budget{{Name: "most", MinAvailable: "2"}}
	r.Unread = []string{"events", "nodes"}
	return r
}

// crashed returns a report on an object with a crashing pod and its last log line. The desired count is unknown.
func crashed() status.Report {
	r := ready()
	r.Verdict, r.ReasonCode, r.Reason, r.Hint = status.Failed, problem.CodeCrashLoop, "pod foo-01234567-1: container web crashes: 4 restarts", "kubectl imoocpod logs imoocpod/foo -n default --failing"
	r.Problems = []problem.Problem{{Code: problem.CodeCrashLoop, Fatal: true, Message: "container web crashes: 4 restarts", Pods: []string{"foo-01234567-1"}, Of: 2, LastLogLine: "\x1b[31mpanic\x1b[0m:\tno configuration\r"}}
	r.Replicas = status.Replicas{Unknown: true, Current: 2, Ready: 1}
	return r
}

func TestReport(t *testing.T) {
	t.Parallel()
	for name, report := range map[string]status.Report{"report-crashed": crashed(), "report-ready": ready(), "report-failed": failed(), "report-unseen": unseen(), "report-guarded": guarded()} {
		var w strings.Builder
		if err := Report(&w, report, now); err != nil {
			t.Fatal(err)
		}
		golden(t, name, w.String())
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	for name, table := range map[string]Table{
		"table":            {},
		"table-wide":       {Wide: true},
		"table-namespaces": {Namespaces: true},
		"table-no-headers": {columns: columns{NoHeaders: true}},
	} {
		var w strings.Builder
		if err := table.Print(&w, []status.Report{failed(), ready(), unseen()}, now); err != nil {
			t.Fatal(err)
		}
		golden(t, name, w.String())
	}
}

// In a watch, a table has headers only once, and its columns never become narrower.
func TestTableOfChanges(t *testing.T) {
	t.Parallel()
	var w strings.Builder
	var table Table
	for _, r := range []status.Report{unseen(), ready(), failed(), ready(), ready().Gone()} {
		if err := table.Print(&w, []status.Report{r}, now); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "table-changes", w.String())
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	event := func(object, kind, reason, message string, count int32, first, last time.Duration) problem.Event {
		return problem.Event{
			Object: object, Type: kind, Reason: reason, Message: message, Count: count, Source: "kubectl-imoocpod",
			First: metav1.NewTime(ago(first)), Last: metav1.NewTime(ago(last)),
		}
	}
	report := failed()
	report.Problems[1].LastLogLine = "panic: no configuration"
	report.Hint = "kubectl describe quota -n default"
	report.Events = []problem.Event{
		event("ImoocPod/foo", "Normal", "SuccessfulCreate", "Created 2 pods", 1, 2*time.Hour, 2*time.Hour),
		event("ImoocPod/foo", "Warning", "FailedCreate", "exceeded quota: few\n", 4, time.Hour, time.Minute),
		event("Pod/foo-2d5dfdbb-1", "Warning", "FailedMount", "secret \"key\" not found", 7, time.Hour, time.Minute),
		{Object: "ReplicaSet/foo-1", Type: "Normal", Reason: "New", Count: 1, Source: "another", Message: "of the newer kind,\n\tin \x1b[31mtwo lines", Last: metav1.NewTime(ago(time.Second))},
	}
	report.Reconciler = status.Reconciler{
		Status: &fieldpath.Write{Manager: "kubectl-imoocpod", Operation: "Update", Time: metav1.NewTime(ago(time.Minute))},
		Loops: []status.Loop{
			{Who: "alice on laptop (process 4711)", Scope: "the shipped kinds in all namespaces", Live: true},
			{Who: "bob on desk (process 12)", Scope: "the shipped kinds in namespace default", Renewed: metav1.NewTime(ago(time.Hour))},
		},
	}
	report.Reverts = []competing.Writer{{By: "HorizontalPodAutoscaler/foo", Message: "HorizontalPodAutoscaler/foo keeps its replica count between 1 and 10"}}
	report.Budgets = []budget.Budget{{Name: "most", MinAvailable: "90%"}, {Name: "one", MaxUnavailable: "1", Allowed: 1}, {Name: "neither"}}
	report.Unread = []string{"nodes"}
	report.Pause = &apis.Pause{Until: now.Add(90 * time.Minute), By: "alice", Reason: "INC-7\n\x1b[2J"}
	pod := func(name string) status.Node { return status.Node{Kind: "Pod", Name: name} }
	report.Tree.Children = []status.Node{
		{Kind: "ReplicaSet", Name: "web-a", Children: []status.Node{pod("web-a-1"), pod("web-a-2")}},
		{Kind: "ReplicaSet", Name: "web-b"},
		pod("own"),
	}
	template := v1alpha1.DefaultTemplate()
	template.Labels = map[string]string{"tier": "back", "a": "b"}
	template.Spec.Containers[0].Args = []string{"-c", "while true; do\n  date\ndone \x1b[2J"}
	object := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "batch.tutorial.kubebuilder.io/v1alpha1", "kind": "ImoocPod"}}
	}
	full := object()
	full.SetLabels(map[string]string{"team": "blue", "app": "shop"})
	full.SetAnnotations(map[string]string{"note": "a test", corev1.LastAppliedConfigAnnotation: "{}\n"})
	paused := unseen()
	paused.Pause = &apis.Pause{Forever: true}
	paused.Tree.Children = []status.Node{pod("own")} // a tree that has only pods is not shown
	for name, describe := range map[string]func(io.Writer) error{
		"describe-full": func(w io.Writer) error { return Describe(w, report, full, template, now) },
		"describe-bare": func(w io.Writer) error { return Describe(w, paused, object(), nil, now) },
	} {
		var w strings.Builder
		if err := describe(&w); err != nil {
			t.Fatal(err)
		}
		golden(t, name, w.String())
	}
}
