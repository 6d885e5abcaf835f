package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestQuick runs "make bench" for each part with small numbers, and checks that the new section of the document has
// certain rows. The program itself fails if it misses a goal that is not lenient.
func TestQuick(t *testing.T) {
	for part, has := range map[string][]string{
		"commands": {"| exactly as many creates as pods | in every run | in every run | held |", "processor time of a reconcile with 6 other objects", "| requests of `scale`: object, count, leases | 3 |"},
		"following": {"beside 10 others: bytes received, beside `kubectl get pods -w`", "| end of `scale --timeout` after the last pod is ready |",
			"| requests of `status` once, of an ImoocPod with 3 pods | ≤ 3 |", "| memory of `status -w` at 20 pods | ≤ 120 MiB |"},
		"loop": {"killed with SIGKILL: from then to the first pod of a change", "while another object gets 60 pods",
			"| many kinds and namespaces: memory", "12 pods of an ImoocPod, beside a StatefulSet", "MyDaemonSet on 20 nodes, beside a DaemonSet"},
		"limits": {"| 3 namespaces, an object of 1 pod in each | `run-controller -A` |", "| 3 declared kinds,", "| 20 objects of 1 pod |", "| one object of 30 pods |"},
	} {
		t.Run(part, func(t *testing.T) {
			document := filepath.Join(t.TempDir(), "document.md")
			if err := os.WriteFile(document, []byte("before\n<!-- "+part+" -->\nold\n<!-- /"+part+" -->\nafter\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("make", "-C", "../..", "bench", "PART="+part, "ARGS=-quick -document "+document)
			if output, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("make bench PART=%s: %v\n%s", part, err, output)
			}
			content, err := os.ReadFile(document)
			if err != nil {
				t.Fatal(err)
			}
			section := string(content)
			if !strings.HasPrefix(section, "before\n<!-- ") || !strings.HasSuffix(section, " -->\nafter\n") || strings.Contains(section, "\nold\n") {
				t.Errorf("the new section did not replace the old one:\n%s", section)
			}
			for _, row := range has {
				if !strings.Contains(section, row) {
					t.Errorf("the tables lack %q:\n%s", row, section)
				}
			}
		})
	}
}
