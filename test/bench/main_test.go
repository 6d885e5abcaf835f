package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestQuick measures small sizes, and checks the goals that do not depend on the
// speed of the machine: the numbers of requests. The output lists the missed
// goals.
func TestQuick(t *testing.T) {
	bin, out := t.TempDir(), t.TempDir()
	build(t, "../..", "./cmd/kubectl-imoocpod", filepath.Join(bin, "kubectl-imoocpod"))
	build(t, "../cluster", ".", filepath.Join(bin, "cluster"))
	build(t, ".", ".", filepath.Join(bin, "bench"))
	cmd := exec.Command(filepath.Join(bin, "cluster"), "run", "--arg", "kube-controller-manager:--controllers=*,-replicaset-controller", "--",
		filepath.Join(bin, "bench"), "-quick", "-plugin", filepath.Join(bin, "kubectl-imoocpod"), "-source", "../..", "-out", out)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for name, has := range map[string]string{
		"benchmarks.md":        "| exactly as many creates as pods | in every run | in every run | held |",
		"benchmarks-scale.svg": nameOurs,
		"benchmarks-curve.svg": nameFloor,
	} {
		content, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(content), has) {
			t.Errorf("%s lacks %q:\n%s", name, has, content)
		}
	}
}

// TestQuickFollowing follows a few pods, and checks the tables of the report.
func TestQuickFollowing(t *testing.T) {
	bin, out := t.TempDir(), t.TempDir()
	build(t, "../..", "./cmd/kubectl-imoocpod", filepath.Join(bin, "kubectl-imoocpod"))
	build(t, "../cluster", ".", filepath.Join(bin, "cluster"))
	build(t, ".", ".", filepath.Join(bin, "bench"))
	cmd := exec.Command(filepath.Join(bin, "cluster"), "run", "--arg", "kube-controller-manager:--controllers=*,-replicaset-controller", "--",
		filepath.Join(bin, "bench"), "-following", "-quick", "-plugin", filepath.Join(bin, "kubectl-imoocpod"), "-source", "../..", "-out", out)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	content, err := os.ReadFile(filepath.Join(out, "benchmarks-following.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"| 10 | 0 | ImoocPod | `kubectl-imoocpod status", "| 10 | 10 | Deployment | `kubectl get pods", "rollout status deployment/ended`",
		"| 10 | 0 | CloneSet | `kubectl-imoocpod status", "| requests of `status` once, of an ImoocPod with 3 pods | ≤ 3 |", "| 3 | not reconciled |", "| memory of `status -w` at 20 pods | ≤ 120 MiB |"} {
		if !strings.Contains(string(content), row) {
			t.Errorf("the tables lack %q:\n%s", row, content)
		}
	}
}

// TestQuickLoop measures the loop in small clusters, and checks the tables of the
// report.
func TestQuickLoop(t *testing.T) {
	bin, out := t.TempDir(), t.TempDir()
	build(t, "../..", "./cmd/kubectl-imoocpod", filepath.Join(bin, "kubectl-imoocpod"))
	build(t, "../cluster", ".", filepath.Join(bin, "cluster"))
	build(t, ".", ".", filepath.Join(bin, "bench"))
	build(t, ".", "./example", filepath.Join(bin, "example"))
	cmd := exec.Command(filepath.Join(bin, "cluster"), "run",
		"--arg", "kube-controller-manager:--controllers=*,-replicaset-controller,-statefulset-controller,-daemonset-controller",
		"--arg", "kube-apiserver:--feature-gates=MaxUnavailableStatefulSet=true", "--",
		filepath.Join(bin, "bench"), "-loop", "-quick", "-example", filepath.Join(bin, "example"), "-plugin", filepath.Join(bin, "kubectl-imoocpod"), "-source", "../..", "-out", out)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	content, err := os.ReadFile(filepath.Join(out, "benchmarks-loop.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		"killed with SIGKILL: from then to the first pod of a change", "| pods of the 20 new objects", "while another object gets 60 pods",
		"| many kinds and namespaces: memory", "12 pods of an ImoocPod, beside a StatefulSet", "MyDaemonSet on 13 nodes, beside a DaemonSet",
		"| controller-runtime example, requests that create or delete pods | ", "| pods created beyond the desired ones | 0 | 0 | held |",
		"| flapping count: status writes | ≤ 1 per second after the first 5 |",
	} {
		if !strings.Contains(string(content), row) {
			t.Errorf("the tables lack %q:\n%s", row, content)
		}
	}
}

// TestReportOfFailedPart checks that the report lists a failed part along with all
// measurements.
func TestReportOfFailedPart(t *testing.T) {
	r := &results{agenda: quickAgenda(), parts: map[string]part{}}
	var whole, broken part
	whole.hold(whole.add("how long it took", "%.1f", " s", 1), 2)
	broken.add("how much of it there was", "%.0f", "", 7)
	broken.fail("Wide", errors.New("waited in vain; output of the loop: one\ntwo"))
	r.parts["Nodes"], r.parts["Wide"] = whole, broken
	document := filepath.Join(t.TempDir(), "loop.md")
	if err := r.writeLoop(document); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"| how long it took | ≤ 2.0 s | 1.0 s | held |", "| how much of it there was | 7 |",
		"| all measurements of \"Wide\" | done | failed | **missed** |", "waited in vain; output of the loop: one\n"} {
		if !strings.Contains(string(content), row) {
			t.Errorf("the report lacks %q:\n%s", row, content)
		}
	}
	if missed(r.loopGoals()) == nil {
		t.Error("got no missed goal for a failed part")
	}
}

// TestQuickLimits measures small limits, and checks the table of the report.
func TestQuickLimits(t *testing.T) {
	bin, out := t.TempDir(), t.TempDir()
	build(t, "../..", "./cmd/kubectl-imoocpod", filepath.Join(bin, "kubectl-imoocpod"))
	build(t, "../cluster", ".", filepath.Join(bin, "cluster"))
	build(t, ".", ".", filepath.Join(bin, "bench"))
	document := filepath.Join(out, "operating.md")
	if err := os.WriteFile(document, []byte("before\n"+limitsBegin+"old\n"+limitsEnd+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, "cluster"), "run", "--", filepath.Join(bin, "bench"), "-limits", "-quick",
		"-plugin", filepath.Join(bin, "kubectl-imoocpod"), "-out", out)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	content, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	if !strings.HasPrefix(text, "before\n"+limitsBegin) || !strings.HasSuffix(text, limitsEnd+"after\n") || strings.Contains(text, "old") {
		t.Errorf("the new table did not replace the old one:\n%s", text)
	}
	for _, row := range []string{"| 3 namespaces, an object of 1 pod in each | `run-controller -A` |", "| 3 declared kinds,", "| 20 objects of 1 pod |", "| one object of 30 pods |"} {
		if !strings.Contains(text, row) {
			t.Errorf("the table lacks %q:\n%s", row, text)
		}
	}
}

// build builds a program with the release flags.
func build(t *testing.T, dir, pkg, output string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-C", dir, "-trimpath", "-ldflags", "-s -w", "-o", output, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
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
