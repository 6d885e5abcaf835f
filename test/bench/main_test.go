package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestQuick measures each part with small numbers, as "make bench" does. The program
// fails if a goal is missed that does not depend on the speed of the machine. The
// section of the document, and the tables, are complete.
func TestQuick(t *testing.T) {
	for part, has := range map[string][]string{
		"commands": {"| exactly as many creates as pods | in every run | in every run | held |", "| 30 | ImoocPod |", "| converged | 0 reconciles"},
		"following": {"| 10 | 0 | ImoocPod | `kubectl-imoocpod status", "| 10 | 10 | Deployment | `kubectl get pods", "rollout status deployment/ended`",
			"| 10 | 0 | CloneSet | `kubectl-imoocpod status", "| requests of `status` once, of an ImoocPod with 3 pods | ≤ 3 |", "| 3 | not reconciled |",
			"| memory of `status -w` at 20 pods | ≤ 120 MiB |"},
		"loop": {"killed with SIGKILL: from then to the first pod of a change", "| pods of the 20 new objects", "while another object gets 60 pods",
			"| many kinds and namespaces: memory", "12 pods of an ImoocPod, beside a StatefulSet", "MyDaemonSet on 20 nodes, beside a DaemonSet",
			"| controller-runtime example, requests that create or delete pods | ", "| pods created beyond the desired ones | 0 | 0 | held |",
			"| flapping count: status writes | ≤ 1 per second after the first 5 |"},
		"limits": {"| 3 namespaces, an object of 1 pod in each | `run-controller -A` |", "| 3 declared kinds,", "| 20 objects of 1 pod |", "| one object of 30 pods |"},
	} {
		t.Run(part, func(t *testing.T) {
			details := t.TempDir()
			document := filepath.Join(details, "document.md")
			if err := os.WriteFile(document, []byte("before\n<!-- "+part+" -->\nold\n<!-- /"+part+" -->\nafter\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("make", "-C", "../..", "bench", "PART="+part, "ARGS=-quick -document "+document+" -details "+details)
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			section := read(t, document)
			if !strings.HasPrefix(section, "before\n<!-- ") || !strings.HasSuffix(section, " -->\nafter\n") || strings.Contains(section, "\nold\n") {
				t.Errorf("the new section did not replace the old one:\n%s", section)
			}
			if part != "limits" {
				section += read(t, filepath.Join(details, "benchmarks-"+part+".md"))
			}
			for _, row := range has {
				if !strings.Contains(section, row) {
					t.Errorf("the tables lack %q:\n%s", row, section)
				}
			}
		})
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestReportOfFailedPart checks that the report lists a failed part along with all
// measurements.
func TestReportOfFailedPart(t *testing.T) {
	r := &results{parts: map[string]part{}}
	var whole, broken part
	whole.hold(whole.add("how long it took", "%.1f", " s", 1), 2)
	broken.add("how much of it there was", "%.0f", "", 7)
	broken.fail("Wide", errors.New("waited in vain; output of the loop: one\ntwo"))
	r.parts["Nodes"], r.parts["Wide"] = whole, broken
	goals, tables := r.loopReport()
	text := goalTable(goals)
	for _, h := range tables {
		text += h.table
	}
	for _, row := range []string{"| how long it took | ≤ 2.0 s | 1.0 s | held |", "| how much of it there was | 7 |",
		"| all measurements of \"Wide\" | done | failed | **missed** |", "waited in vain; output of the loop: one\n"} {
		if !strings.Contains(text, row) {
			t.Errorf("the report lacks %q:\n%s", row, text)
		}
	}
	if missed(goals) == nil {
		t.Error("got no missed goal for a failed part")
	}
}

func TestSpread(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   string
	}{
		{nil, ""},
		{[]float64{3}, "3.0"},
		{[]float64{4, 1, 2}, "2.0 (1.0–4.0)"},
		{[]float64{4, 1, 2, 3}, "2.5 (1.0–4.0)"},
	} {
		if got := spreadOf(test.values).text("%.1f"); got != test.want {
			t.Errorf("%v: got %q, want %q", test.values, got, test.want)
		}
	}
}
