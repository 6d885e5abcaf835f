package node

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// logRun is one run of a container that writes numbered lines.
type logRun struct{ pod, begun string }

// followed collects what "logs -f -o json" prints.
type followed struct {
	mu      sync.Mutex
	numbers map[logRun][]int
	last    map[logRun]bool
	wrong   []string
}

func (f *followed) add(line []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var entry struct{ Pod, Container, Node, Message string }
	var number int
	if err := json.Unmarshal(line, &entry); err != nil {
		f.wrong = append(f.wrong, fmt.Sprintf("a line is not JSON: %v: %s", err, line))
		return
	}
	words := strings.Fields(entry.Message)
	if len(words) < 2 {
		f.wrong = append(f.wrong, "a message has no number: "+string(line))
		return
	}
	if _, err := fmt.Sscan(words[1], &number); err != nil || entry.Container != "main" || entry.Node != steadyNode {
		f.wrong = append(f.wrong, fmt.Sprintf("unexpected log entry (error %v): %s", err, line))
		return
	}
	run := logRun{entry.Pod, words[0]}
	f.numbers[run] = append(f.numbers[run], number)
	f.last[run] = f.last[run] || len(words) == 3
}

// await waits until at least begun runs have started, and at least ended runs have written their last line.
func (f *followed) await(t *testing.T, begun, ended int) {
	t.Helper()
	enough := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		n := 0
		for _, last := range f.last {
			if last {
				n++
			}
		}
		return len(f.numbers) >= begun && n >= ended
	}
	if !eventually(t, enough) {
		f.mu.Lock()
		defer f.mu.Unlock()
		t.Errorf("timed out waiting for %d container runs, %d of them complete; got (run: complete) %v", begun, ended, f.last)
	}
}

// check reports invalid lines, and numbers that are missing, repeated, or out of order.
func (f *followed) check(t *testing.T) {
	t.Helper()
	for _, wrong := range f.wrong {
		t.Error(wrong)
	}
	lines := 0
	for run, numbers := range f.numbers {
		lines += len(numbers)
		for i, n := range numbers {
			if n != i+1 {
				t.Errorf("%v: line %d has the number %d; all numbers: %v", run, i+1, n, numbers)
				break
			}
		}
	}
	t.Logf("%d lines of %d runs", lines, len(f.numbers))
}

// TestLogsThroughARestart follows the logs of pods that write numbered lines, and restarts the pods.
// Each number of an old or a new pod must appear exactly once, in order.
func TestLogsThroughARestart(t *testing.T) {
	t.Parallel()
	const namespace, name, replicas = "logs-restart", "foo", 50
	newNamespace(t, namespace)
	cluster.StartRunController(t, namespace)
	create(t, namespace, name, steadyNode, replicas, "containers: [{command: [act, -print=20ms]}]")
	cluster.Imoocpod(t, namespace, "wait", name, patient)

	follow := exec.Command(plugin(), "logs", name, "-n", namespace, "-f", "--tail=-1", "-o", "json")
	follow.Env = cluster.Environment()
	var stderr strings.Builder
	follow.Stderr = &stderr
	stdout, err := follow.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	f := &followed{numbers: map[logRun][]int{}, last: map[logRun]bool{}}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			f.add(lines.Bytes())
		}
	}()
	f.await(t, replicas, 0)
	cluster.Imoocpod(t, namespace, "restart", name, "--wait", "--timeout=6m")
	f.await(t, 2*replicas, replicas)
	if err := follow.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-read
	var exit *exec.ExitError
	if err := follow.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("logs -f ended with %v after Ctrl-C, want exit code 130", err)
	}
	f.check(t)
	if n := strings.Count(stderr.String(), "replaced by the new pod"); n != replicas {
		t.Errorf("logs -f reported %d replaced pods, want %d; stderr:\n%s", n, replicas, stderr.String())
	}
}

// TestLogsOfCrashes checks that "logs" prints the last lines of a crashed container or init container
// without --previous, whether the container has restarted or waits for a restart.
func TestLogsOfCrashes(t *testing.T) {
	t.Parallel()
	const namespace = "logs-crash"
	w, _ := startIn(t, namespace)
	running := containers(func(c corev1.ContainerStatus) bool { return c.RestartCount >= 1 && c.State.Running != nil })
	crashed := waits("CrashLoopBackOff")
	tests := []struct {
		name, pod string
		wrote     condition
		// prefix is the beginning of each line. last is the end of the last line of a crashed container.
		prefix, last string
	}{
		{"waits", "containers: [{command: [act, -print=100ms, -exit-after=1s, -exit-code=3]}]", crashed, "0 | ", " last"},
		{"runs", `
containers:
- command: [act, -print=100ms, -http=:8080, -ready-after=1h, -ok-for=0s]
  readinessProbe: {httpGet: {port: 8080, path: /ready}}
  livenessProbe: {httpGet: {port: 8080, path: /live}, periodSeconds: 1, failureThreshold: 1, initialDelaySeconds: 2}`,
			running, "0 | ", " last"},
		// The container is killed after its first line.
		{"eats", "containers: [{command: [act, -print=1h, -eat=128], resources: {limits: {memory: 32Mi}}}]",
			crashed, "0 | ", " 1"},
		{"init", `
initContainers: [{name: prepare, command: [act, -print=100ms, -exit-after=1s, -exit-code=3]}]
containers: [{command: [act]}]`, crashed, "0/prepare | ", " last"},
	}
	for _, test := range tests {
		create(t, namespace, test.name, steadyNode, 1, test.pod)
	}
	for _, test := range tests {
		w.await(t, "a container has crashed", test.name, test.wrote)
		for _, flag := range []string{"--failing=false", "--failing"} {
			r := shows(t, namespace, func(r harness.Result) bool {
				return r.Code == 0 && strings.Contains(r.Stdout, test.last+"\n")
			}, "logs", test.name, flag)
			for line := range strings.Lines(r.Stdout) {
				if !strings.HasPrefix(line, test.prefix) {
					t.Errorf("%s: the line %q does not begin with %q", test.name, line, test.prefix)
				}
			}
		}
		showLastLine(t, namespace, test.name, test.last)
	}
}

// shows retries a command until good accepts its result, and returns the result. A busy node can remove the
// log of a container that is still in the status of its pod.
func shows(t *testing.T, namespace string, good func(harness.Result) bool, args ...string) (r harness.Result) {
	t.Helper()
	if !eventually(t, func() bool {
		r = cluster.Kubectl(t, namespace, append([]string{"imoocpod"}, args...)...)
		return good(r)
	}) {
		t.Errorf("timed out waiting for the expected output; last result: %+v", r)
	}
	return r
}

// showLastLine checks that wait, status, and describe show the last line of a crashing pod.
func showLastLine(t *testing.T, namespace, name, last string) {
	t.Helper()
	container := map[bool]string{true: "prepare", false: "main"}[name == "init"]
	shows(t, namespace, func(r harness.Result) bool {
		_, lines, found := strings.Cut(r.Stderr, "\nthe last lines of container "+container+" of pod "+name+"-")
		lines, _, _ = strings.Cut(lines, "hint: ")
		return r.Code == harness.ExitFailed && found &&
			strings.HasSuffix(lines, last+"\n") && strings.Count(lines, "\n") <= 11
	}, "wait", name, "--logs", "--fail-after=0s", patient)
	line := regexp.MustCompile(`(?m)last log line of pod ` + name + `-\S+: \d+.*` + last + `$`)
	for _, verb := range []string{"status", "describe"} {
		shows(t, namespace, func(r harness.Result) bool { return r.Code == 0 && line.MatchString(r.Stdout) }, verb, name)
	}
	shows(t, namespace, func(r harness.Result) bool { return strings.HasSuffix(r.Stdout, last) },
		"status", name, "-o", "jsonpath={.problems[0].lastLogLine}")
}
