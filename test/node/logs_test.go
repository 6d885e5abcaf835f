package node

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
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
		f.wrong = append(f.wrong, fmt.Sprintf("%v: %s", err, line))
		return
	}
	words := strings.Fields(entry.Message)
	if len(words) < 2 {
		f.wrong = append(f.wrong, "a line that no container wrote: "+string(line))
		return
	}
	if _, err := fmt.Sscan(words[1], &number); err != nil || entry.Container != "main" || entry.Node != steadyNode {
		f.wrong = append(f.wrong, fmt.Sprintf("%v: %s", err, line))
		return
	}
	run := logRun{entry.Pod, words[0]}
	f.numbers[run] = append(f.numbers[run], number)
	f.last[run] = f.last[run] || len(words) == 3
}

// await waits until enough runs have begun, and enough runs have written their last line.
func (f *followed) await(t *testing.T, begun, ended int) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 2*deadline, true, func(context.Context) (bool, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		n := 0
		for _, last := range f.last {
			if last {
				n++
			}
		}
		return len(f.numbers) >= begun && n >= ended, nil
	})
	if err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		t.Errorf("%v: want %d runs, of which %d have ended; there is %v", err, begun, ended, f.last)
	}
}

// check reports numbers that are missing, repeated, or out of order.
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
				t.Errorf("%v: line %d has the number %d, of %v", run, i+1, n, numbers)
				break
			}
		}
	}
	t.Logf("%d lines of %d runs", lines, len(f.numbers))
}

// Pods that write numbered lines are replaced while their logs are followed. Each number of the old
// and the new pods must appear exactly once.
func TestLogsThroughARestart(t *testing.T) {
	t.Parallel()
	const namespace, name, replicas = "logs-restart", "foo", 50
	kubectl(t, "", "create", "namespace", namespace)
	startLoop(t, "-n", namespace)
	kubectl(t, manifest(t, namespace, name, steadyNode, replicas, "containers: [{name: main, command: "+act("-print=20ms")+"}]"), "create", "-f", "-")
	kubectl(t, "", "imoocpod", "wait", name, "-n", namespace, "--timeout="+deadline.String())

	follow := exec.Command(plugin(), "logs", name, "-n", namespace, "-f", "--tail=-1", "-o", "json")
	follow.Env = cluster.Environment()
	var said strings.Builder
	follow.Stderr = &said
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
	kubectl(t, "", "imoocpod", "restart", name, "-n", namespace, "--wait", "--timeout="+(2*deadline).String())
	f.await(t, 2*replicas, replicas)
	if err := follow.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-read
	var exit *exec.ExitError
	if err := follow.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("after Ctrl-C it ended with %v", err)
	}
	f.check(t)
	if n := strings.Count(said.String(), "replaced by the new pod"); n != replicas {
		t.Errorf("it told of %d pods that were replaced, of %d:\n%s", n, replicas, said.String())
	}
	kubectl(t, "", "imoocpod", "delete", name, "-n", namespace)
	kubectl(t, "", "delete", "namespace", namespace)
}

// "logs" needs no --previous to print the last lines of a crashed container, whether the container
// has restarted or waits for a restart. The same applies to a failed init container.
func TestLogsOfCrashes(t *testing.T) {
	t.Parallel()
	const namespace = "logs-crash"
	kubectl(t, "", "create", "namespace", namespace)
	w := watchNamespace(t, namespace)
	startLoop(t, "-n", namespace)
	crash := act("-print=100ms", "-exit-after=1s", "-exit-code=3")
	for name, template := range map[string]string{
		"waits": "containers: [{name: main, command: " + crash + "}]",
		"runs":  "containers: [{name: main, command: " + act("-print=100ms", "-http=:8080", "-ready-after=1h", "-ok-for=0s") + ", readinessProbe: {httpGet: {port: 8080, path: /ready}}, livenessProbe: {httpGet: {port: 8080, path: /live}, periodSeconds: 1, failureThreshold: 1, initialDelaySeconds: 2}}]",
		"eats":  "containers: [{name: main, command: " + act("-print=1h", "-eat=128") + ", resources: {limits: {memory: 32Mi}}}]",
		"init":  "initContainers: [{name: prepare, command: " + crash + "}]\ncontainers: [{name: main, command: " + act() + "}]",
	} {
		kubectl(t, manifest(t, namespace, name, steadyNode, 1, template), "create", "-f", "-")
	}
	running := containers(func(c corev1.ContainerStatus) bool { return c.RestartCount >= 1 && c.State.Running != nil })
	for name, wrote := range map[string]func([]*corev1.Pod, []*corev1.Event) bool{
		"waits": waits("CrashLoopBackOff"), "init": waits("CrashLoopBackOff"), "eats": waits("CrashLoopBackOff"), "runs": running,
	} {
		w.await(t, "its container has crashed", name, wrote)
		prefix, lastWords := "0 | ", " last"
		switch name {
		case "init":
			prefix = "0/prepare | "
		case "eats":
			lastWords = " 1" // the container is killed immediately
		}
		for _, flag := range []string{"--failing=false", "--failing"} {
			r := shows(t, func(r result) bool { return r.code == 0 && strings.Contains(r.stdout, lastWords+"\n") }, "logs", name, "-n", namespace, flag)
			lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
			if i := slices.IndexFunc(lines, func(line string) bool { return !strings.HasPrefix(line, prefix) }); i >= 0 {
				t.Errorf("%s: the line %q does not begin with %q", name, lines[i], prefix)
			}
		}
		toldLastWords(t, namespace, name, lastWords)
	}
	kubectl(t, "", "delete", "namespace", namespace)
}

// shows retries a command until its output is good, and returns the result. A retry can be needed,
// because a busy node can remove the log of a container that is still in the status of its pod.
func shows(t *testing.T, good func(result) bool, args ...string) (r result) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, deadline, true, func(context.Context) (bool, error) {
		r = command("", append([]string{"imoocpod"}, args...)...) //nolint:contextcheck // commands have a deadline of their own
		return good(r), nil
	})
	if err != nil {
		t.Errorf("it does not show what it is to: %s", r)
	}
	return r
}

// toldLastWords checks that other commands show the last line of a crashing pod.
func toldLastWords(t *testing.T, namespace, name, lastWords string) {
	t.Helper()
	container := map[bool]string{true: "prepare", false: "main"}[name == "init"]
	shows(t, func(r result) bool {
		_, lines, found := strings.Cut(r.stderr, "\nthe last lines of container "+container+" of pod "+name+"-")
		lines, _, _ = strings.Cut(lines, "hint: ")
		return r.code == codeFailed && found && strings.HasSuffix(lines, lastWords+"\n") && strings.Count(lines, "\n") <= 11
	}, "wait", name, "-n", namespace, "--logs", "--fail-after=0s", "--timeout="+deadline.String())
	line := regexp.MustCompile(`(?m)last log line of pod ` + name + `-\S+: \d+.*` + lastWords + `$`)
	for _, verb := range []string{"status", "describe"} {
		shows(t, func(r result) bool { return r.code == 0 && line.MatchString(r.stdout) }, verb, name, "-n", namespace)
	}
	shows(t, func(r result) bool { return strings.HasSuffix(r.stdout, lastWords) },
		"status", name, "-n", namespace, "-o", "jsonpath={.problems[0].lastLogLine}")
}
