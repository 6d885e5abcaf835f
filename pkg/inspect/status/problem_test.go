package status

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/test/models"
)

func lookedAt() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// recorded returns a snapshot of the pods, events, and nodes in a testdata file. All pods are desired.
func recorded(t *testing.T, name string) Snapshot {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s := Snapshot{Nodes: map[string]*corev1.Node{}, Now: lookedAt()}
	var pods []corev1.Pod
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		var head struct{ Kind string }
		if err := yaml.Unmarshal([]byte(document), &head); err != nil {
			t.Fatal(err)
		}
		read := func(into any) {
			if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		switch head.Kind {
		case "Pod":
			pods = append(pods, corev1.Pod{})
			read(&pods[len(pods)-1])
		case "Event":
			s.Events = append(s.Events, corev1.Event{})
			read(&s.Events[len(s.Events)-1])
		case "Node":
			var node corev1.Node
			read(&node)
			s.Nodes[node.Name] = &node
		default:
			t.Fatalf("%s: unknown kind %q", name, head.Kind)
		}
	}
	s.Pods = models.Of(pods)
	n := int32(len(pods))
	s.Object = Object{Identity: Identity{Type: "imoocpod.x", Kind: "ImoocPod", Namespace: "shop", Name: "foo", UID: "owner"}, Counts: Counts{Desired: n, Current: n}, Evidence: Evidence{Generation: 1, ObservedGeneration: 1}}
	return s
}

// NewReport finds each reason why pods do not become ready. The objects come from a real kubelet,
// scheduler, and node controller. Each file begins with the expected findings.
func TestProblems(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d files in testdata, error %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := recorded(t, name)
			if name == "node-gone" {
				s.Nodes["node-1"] = nil
			}
			mustCarryFlags(t, s)
			r := NewReport(s)
			found := "# no problem\n"
			verdict, code, line, hint := Progressing, problem.CodePodsStarting, "", ""
			if len(r.Problems) > 0 {
				p := r.Problems[0]
				found = fmt.Sprintf("# code: %s\n# fatal: %t\n# since: %s\n# events: %d\n# problem: %s\n# hint: %s\n",
					p.Code, p.Fatal, p.Since.UTC().Format("15:04:05"), len(p.Events), p, cmp.Or(p.Hint, "none"))
				code, line, hint = p.Code, p.String(), p.Hint
				if p.Fatal {
					verdict = Failed
				}
			}
			if !strings.HasPrefix(string(data), found) || len(r.Problems) > 1 {
				t.Errorf("%d problems:\n%s\nwant only the problem at the start of the file", len(r.Problems), found)
			}
			if r.Verdict != verdict || r.ReasonCode != code || r.Hint != hint || !strings.HasSuffix(r.Reason, line) {
				t.Errorf("%s (%s): %q, hint %q\nwant %s (%s): suffix %q, hint %q", r.Verdict, r.ReasonCode, r.Reason, r.Hint, verdict, code, line, hint)
			}
		})
	}
}

// An exceeded deadline comes after other fatal problems, because these problems explain it.
func TestOrderOfProblems(t *testing.T) {
	t.Parallel()
	s := recorded(t, "image-pull")
	s.Object.Conditions = []metav1.Condition{{Type: "Progressing", Status: metav1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "it has timed out progressing."}}
	probing := recorded(t, "probe").Pods[0].Object
	probing.Name, probing.UID = "probing", "probing"
	s.Pods = append(s.Pods, problem.NewPod(probing))
	r := NewReport(s)
	var codes []problem.Code
	for _, p := range r.Problems {
		codes = append(codes, p.Code)
	}
	if want := []problem.Code{problem.CodeImagePullFailed, problem.CodeDeadlineExceeded, problem.CodeContainersNotReady}; !slices.Equal(codes, want) || r.ReasonCode != problem.CodeImagePullFailed {
		t.Errorf("problems = %v, want %v; reason code = %s, want %s", codes, want, r.ReasonCode, want[0])
	}
}
