package status

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/test/models"
)

// moment is a recorded change of an object on a real node, from "make test-node RECORD=1".
type moment struct {
	At     time.Time       `json:"at"`
	Gone   bool            `json:"gone"`
	Object json.RawMessage `json:"object"`
}

type history struct {
	object Object
	pods   map[types.UID]corev1.Pod
	events map[types.UID]corev1.Event
	nodes  map[string]*corev1.Node
}

func (h *history) add(t *testing.T, m moment) {
	t.Helper()
	var head struct{ Kind string }
	read := func(into any) {
		if err := json.Unmarshal(m.Object, into); err != nil {
			t.Fatal(err)
		}
	}
	switch read(&head); head.Kind {
	case "Pod":
		var pod corev1.Pod
		read(&pod)
		if h.pods[pod.UID] = pod; m.Gone {
			delete(h.pods, pod.UID)
		}
	case "Event":
		var event corev1.Event
		read(&event)
		h.events[event.UID] = event
	case "Node":
		var node corev1.Node
		read(&node)
		h.nodes[node.Name] = &node
	case "ImoocPod":
		var o struct {
			Metadata metav1.ObjectMeta
			Spec     struct{ Replicas int32 }
			Status   struct {
				ObservedGeneration                       int64
				Replicas, ReadyReplicas, UpdatedReplicas int32
				Conditions                               []metav1.Condition
			}
		}
		read(&o)
		h.object = Object{
			Identity: Identity{Type: "imoocpod.x", Kind: "ImoocPod", Name: o.Metadata.Name, Namespace: "truths", UID: o.Metadata.UID},
			Counts:   Counts{Desired: o.Spec.Replicas, Current: o.Status.Replicas, Ready: o.Status.ReadyReplicas, Updated: &o.Status.UpdatedReplicas},
			Evidence: Evidence{Generation: o.Metadata.Generation, ObservedGeneration: o.Status.ObservedGeneration, Conditions: o.Status.Conditions},
		}
	default:
		t.Fatalf("recording contains an object of unknown kind %q", head.Kind)
	}
}

func (h *history) report(now time.Time) Report {
	return NewReport(Snapshot{
		Object: h.object, Nodes: h.nodes, Now: now,
		Pods:   models.Of(append([]corev1.Pod{}, slices.Collect(maps.Values(h.pods))...)),
		Events: slices.Collect(maps.Values(h.events)),
	})
}

// replay returns the reports of a recording: one after each change, and one just before the next change.
func replay(t *testing.T, name string) []Report {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "real", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	h := history{pods: map[types.UID]corev1.Pod{}, events: map[types.UID]corev1.Event{}, nodes: map[string]*corev1.Node{}}
	var all []Report
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m moment
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		if len(all) > 0 {
			all = append(all, h.report(m.At.Add(-time.Millisecond)))
		}
		h.add(t, m)
		all = append(all, h.report(m.At))
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// A report on a recording from a real kubelet never contradicts itself. If a recording ends with a failure, the object
// stays failed from the first failure until its spec changes.
func TestRecordedOnRealNodes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		verdict Verdict
		code    problem.Code
		// reason is a substring of the reason in the report.
		reason string
		// never is a verdict that must not occur. passing means that the expected verdict must occur, but
		// that other verdicts may follow.
		never   Verdict
		passing bool
	}{
		"running":               {verdict: Ready, code: problem.CodeReady, never: Failed},
		"slow-start":            {verdict: Ready, code: problem.CodeReady, never: Failed},
		"startup-probe":         {verdict: Ready, code: problem.CodeReady, never: Failed},
		"startup-probe-fails":   {verdict: Failed, code: problem.CodeCrashLoop},
		"crash-at-once":         {verdict: Failed, code: problem.CodeCrashLoop, reason: "last exit code 1"},
		"crash-after-5s":        {verdict: Failed, code: problem.CodeCrashLoop, reason: "last exit code 3"},
		"exit-0":                {verdict: Failed, code: problem.CodeCrashLoop, reason: "last exit code 0 (Completed)"},
		"init-crash":            {verdict: Failed, code: problem.CodeCrashLoop, reason: "init container prepare"},
		"sidecar-crash":         {verdict: Failed, code: problem.CodeCrashLoop, reason: "container proxy"},
		"out-of-memory":         {verdict: Failed, code: problem.CodeOutOfMemory, reason: "OOMKilled"},
		"no-such-command":       {verdict: Failed, code: problem.CodeStartFailed, reason: "nosuchprogram"},
		"image-missing":         {verdict: Failed, code: problem.CodeImagePullFailed, reason: "not found"},
		"image-late":            {verdict: Ready, code: problem.CodeReady},
		"pull-qps":              {verdict: Ready, code: problem.CodeReady, never: Failed},
		"image-never":           {verdict: Failed, code: problem.CodeImagePullFailed, reason: "not on the node"},
		"image-name":            {verdict: Failed, code: problem.CodeInvalidImageName, reason: "UPPER/Case:::"},
		"no-secret":             {verdict: Failed, code: problem.CodeConfigError, reason: `secret "made-later" not found`},
		"run-as-root":           {verdict: Failed, code: problem.CodeConfigError, reason: "runAsNonRoot"},
		"no-volume":             {verdict: Failed, code: problem.CodeVolumeNotMounted, reason: `secret "never-made" not found`},
		"readiness-http":        {verdict: Progressing, code: problem.CodeProbeFailed, reason: "statuscode: 503", never: Failed},
		"readiness-tcp":         {verdict: Progressing, code: problem.CodeProbeFailed, reason: "connection refused", never: Failed},
		"readiness-exec":        {verdict: Progressing, code: problem.CodeProbeFailed, reason: "Readiness probe failed", never: Failed},
		"liveness":              {verdict: Failed, code: problem.CodeCrashLoop},
		"liveness-busy-node":    {verdict: Failed, code: problem.CodeCrashLoop}, // recorded manually, on a busy node
		"liveness-ignores-term": {verdict: Progressing, code: problem.CodeProbeFailed, reason: "failed its liveness probe"},
		"evicted":               {verdict: Progressing, code: problem.CodePodEnded, reason: "Evicted", passing: true},
		"deadline":              {verdict: Progressing, code: problem.CodePodEnded, reason: "DeadlineExceeded", passing: true},
		"too-large":             {verdict: Failed, code: problem.CodeUnschedulable, reason: "Insufficient cpu"},
		"slow-end":              {verdict: Progressing, code: problem.CodePodsMissing, never: Failed},
		"node-stopped":          {verdict: Failed, code: problem.CodeNodeLost},
		"node-rebooted":         {verdict: Ready, code: problem.CodeReady},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reports := replay(t, name)
			as := func(r Report) bool {
				return r.Verdict == want.verdict && r.ReasonCode == want.code && strings.Contains(r.Reason, want.reason)
			}
			if last := reports[len(reports)-1]; !want.passing && !as(last) || !slices.ContainsFunc(reports, as) {
				t.Errorf("last verdict = %s, code %s: %s; want %s, %s: %q", last.Verdict, last.ReasonCode, last.Reason, want.verdict, want.code, want.reason)
			}
			failed := false
			for _, r := range reports {
				checkReport(t, r)
				if r.Verdict == NotReconciled {
					failed = false // the spec was changed
				}
				if want.verdict == Failed && failed && r.Verdict != Failed {
					t.Errorf("verdict after a failure = %s, code %s: %s", r.Verdict, r.ReasonCode, r.Reason)
				}
				failed = failed || r.Verdict == Failed
				if r.Verdict == want.never {
					t.Errorf("verdict = %s, code %s, which must not occur: %s", r.Verdict, r.ReasonCode, r.Reason)
				}
			}
		})
	}
}

func checkReport(t *testing.T, r Report) {
	t.Helper()
	ready := 0
	for _, pod := range r.Pods {
		if pod.Ready {
			ready++
		}
		if pod.Ready && pod.Code != "" {
			t.Errorf("ready pod %s has a problem, code %s: %s", pod.Name, pod.Code, pod.Reason)
		}
	}
	if r.Verdict == Ready && ready < int(r.Replicas.Desired) {
		t.Errorf("verdict Ready, but only %d of %d pods are ready", ready, r.Replicas.Desired)
	}
	if r.Verdict == Failed && int(r.Replicas.Ready) > ready {
		t.Errorf("verdict Failed: replicas.ready = %d, but only %d pods are ready: %s", r.Replicas.Ready, ready, r.Reason)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "combined from similar") {
		t.Errorf("report contains the prefix of aggregated events: %s", data)
	}
	for _, c := range r.Conditions {
		if c.Type == apis.ConditionReady && c.Status == metav1.ConditionTrue && int(r.Replicas.Desired) > ready && r.Verdict == Failed &&
			c.ObservedGeneration == r.Metadata.Generation && !strings.Contains(c.Message, fmt.Sprint(", but ", r.Replicas.Desired-r.Replicas.Ready)) {
			t.Errorf("verdict Failed, but condition Ready does not say how many pods are unready: %s", c.Message)
		}
	}
}
