package node

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// report is the part of the output of status that these tests read.
type report struct {
	Verdict    string `json:"verdict"`
	ReasonCode string `json:"reasonCode"`
	Reason     string `json:"reason"`
}

// The verdicts and the exit codes.
const (
	ready, progressing, failed = "ready", "progressing", "failed"

	codeDone, codeFailed, codeTimeout, codeUndone = 0, 3, 4, 9
)

const namespaceOfTruths = "truths"

// truth is a row of TestTruths, which runs pods on a real node and checks the report.
type truth struct {
	// name is the name of the object. template is the spec of its pods in YAML, without some
	// required fields.
	name, template string
	// node is the node of its pods, and replicas is their number. The defaults are steadyNode and
	// 1.
	node     string
	replicas int
	// timeout is the value of "scale --timeout", and scale is the expected exit code. before is
	// called while scale waits.
	timeout time.Duration
	scale   int
	before  func(t *testing.T, w *witness)
	// late means that the first pod is ready for a short time before it fails. In this case, the
	// first scale does not wait, but a second scale after the failure does.
	late bool
	// then, if not nil, is called after the scale.
	then func(t *testing.T, w *witness)
	// wrote is a condition on the pods and events. The status is checked after the condition is
	// met.
	wrote func(pods []*corev1.Pod, events []*corev1.Event) bool
	// verdict and codes are the expected status after wrote is met. There are several codes if the
	// state alternates.
	verdict string
	codes   []string
	// passing means that the expected status is temporary.
	passing bool
	// says is part of the expected reason.
	says string
	// repair, if set, fixes the problem, so that the object becomes ready.
	repair func(t *testing.T)
}

// act returns, in YAML, the command of a container that runs the program act (test/cluster/node).
func act(args ...string) string {
	return fmt.Sprintf("[%s]", strings.Join(append([]string{"act"}, args...), ", "))
}

// waits returns a condition that is met if a container is in the state Waiting with one of the
// reasons.
func waits(reasons ...string) func([]*corev1.Pod, []*corev1.Event) bool {
	return containers(func(c corev1.ContainerStatus) bool {
		return c.State.Waiting != nil && slices.Contains(reasons, c.State.Waiting.Reason)
	})
}

// containers returns a condition that is met if holds is true for any container.
func containers(holds func(corev1.ContainerStatus) bool) func([]*corev1.Pod, []*corev1.Event) bool {
	return func(pods []*corev1.Pod, _ []*corev1.Event) bool {
		return slices.ContainsFunc(pods, func(pod *corev1.Pod) bool {
			return slices.ContainsFunc(append(slices.Clone(pod.Status.InitContainerStatuses), pod.Status.ContainerStatuses...), holds)
		})
	}
}

// happened returns a condition that is met if there was an event with the reason and with the words
// in its message.
func happened(reason, words string) func([]*corev1.Pod, []*corev1.Event) bool {
	return func(_ []*corev1.Pod, events []*corev1.Event) bool {
		return slices.ContainsFunc(events, func(e *corev1.Event) bool { return e.Reason == reason && strings.Contains(e.Message, words) })
	}
}

func podReady(pods []*corev1.Pod, _ []*corev1.Event) bool {
	return slices.ContainsFunc(pods, isReady)
}

func isReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func restarted(n int32) func([]*corev1.Pod, []*corev1.Event) bool {
	return containers(func(c corev1.ContainerStatus) bool { return c.RestartCount >= n })
}

func truths() []truth {
	return []truth{
		{
			name:     "running",
			template: "containers: [{name: main, command: " + act("-http=:8080") + "}]",
			wrote:    podReady, verdict: ready, codes: []string{"Ready"},
		},
		{
			name:     "slow-start",
			template: "containers: [{name: main, command: " + act("-http=:8080", "-ready-after=4s") + ", readinessProbe: {httpGet: {port: 8080, path: /ready}, periodSeconds: 1}}]",
			wrote:    podReady, verdict: ready, codes: []string{"Ready"},
		},
		{
			name:     "startup-probe",
			template: "containers: [{name: main, command: " + act("-touch=/tmp/up", "-ready-after=4s") + ", startupProbe: {exec: {command: [cat, /tmp/up]}, periodSeconds: 1, failureThreshold: 60}}]",
			wrote:    podReady, verdict: ready, codes: []string{"Ready"},
		},
		{
			name:     "startup-probe-fails",
			template: "containers: [{name: main, command: " + act() + ", startupProbe: {exec: {command: [\"false\"]}, periodSeconds: 1, failureThreshold: 2}}]",
			late:     true, scale: codeFailed,
			wrote: restarted(2), verdict: failed, codes: []string{"CrashLoop"},
		},
		{
			name:     "crash-at-once",
			template: "containers: [{name: main, command: " + act("-exit-after=0s", "-exit-code=1") + "}]",
			late:     true, scale: codeFailed,
			wrote: restarted(2), verdict: failed, codes: []string{"CrashLoop"}, says: "last exit code 1",
		},
		{
			name:     "crash-after-5s",
			template: "containers: [{name: main, command: " + act("-exit-after=5s", "-exit-code=3") + "}]",
			late:     true, scale: codeFailed,
			wrote: restarted(2), verdict: failed, codes: []string{"CrashLoop"}, says: "last exit code 3",
		},
		{
			name:     "exit-0",
			template: "containers: [{name: main, command: [\"true\"]}]",
			late:     true, scale: codeFailed,
			wrote: restarted(2), verdict: failed, codes: []string{"CrashLoop"}, says: "last exit code 0 (Completed)",
		},
		{
			name: "init-crash",
			template: "initContainers: [{name: prepare, command: [\"false\"]}]\n" +
				"containers: [{name: main, command: " + act() + "}]",
			scale: codeFailed,
			wrote: restarted(2), verdict: failed, codes: []string{"CrashLoop"}, says: "init container prepare",
		},
		{
			name: "sidecar-crash",
			template: "initContainers: [{name: proxy, restartPolicy: Always, command: " + act("-exit-after=1s", "-exit-code=2") + "}]\n" +
				"containers: [{name: main, command: " + act("-http=:8080") + ", readinessProbe: {httpGet: {port: 8080, path: /ready}, periodSeconds: 1}}]",
			late: true, scale: codeFailed,
			wrote: restarted(2), verdict: failed, codes: []string{"CrashLoop"}, says: "container proxy",
		},
		{
			name:     "out-of-memory",
			template: "containers: [{name: main, command: " + act("-eat=128") + ", resources: {limits: {memory: 32Mi}}}]",
			late:     true, scale: codeFailed,
			wrote: restarted(2), verdict: failed, codes: []string{"OutOfMemory"}, says: "OOMKilled",
		},
		{
			name:     "no-such-command",
			template: "containers: [{name: main, command: [nosuchprogram]}]",
			scale:    codeFailed,
			wrote:    waits("RunContainerError", "CrashLoopBackOff"), verdict: failed, codes: []string{"StartFailed"}, says: "nosuchprogram",
		},
		{
			name:     "image-missing",
			template: "containers: [{name: main, image: \"missing:1\", imagePullPolicy: Always, command: " + act() + "}]",
			scale:    codeFailed,
			wrote:    waits("ImagePullBackOff"), verdict: failed, codes: []string{"ImagePullFailed"}, says: "not found",
			repair: func(t *testing.T) { addImage(t, "missing", "1") },
		},
		{
			// The problem is fixed within --fail-after.
			name:     "image-late",
			template: "containers: [{name: main, image: \"late:1\", imagePullPolicy: Always, command: " + act() + "}]",
			timeout:  deadline,
			before: func(t *testing.T, w *witness) {
				w.await(t, "the image is missed", "image-late", waits("ErrImagePull", "ImagePullBackOff"))
				addImage(t, "late", "1")
			},
			wrote: podReady, verdict: ready, codes: []string{"Ready"},
		},
		{
			// The kubelet itself delays the second and the third image for a short time.
			name: "pull-qps",
			node: shakyNode,
			template: `containers:
- {name: one, image: busybox, imagePullPolicy: Always, command: ` + act() + `}
- {name: two, image: nginx, imagePullPolicy: Always, command: ` + act() + `}
- {name: three, image: "nginx:stable-alpine3.17", imagePullPolicy: Always, command: ` + act() + `}`,
			timeout: deadline,
			wrote:   podReady, verdict: ready, codes: []string{"Ready"},
		},
		{
			name:     "image-never",
			template: "containers: [{name: main, image: \"missing:2\", imagePullPolicy: Never, command: " + act() + "}]",
			scale:    codeFailed,
			wrote:    waits("ErrImageNeverPull"), verdict: failed, codes: []string{"ImagePullFailed"}, says: "not on the node",
		},
		{
			name:     "image-name",
			template: "containers: [{name: main, image: \"UPPER/Case:::\", command: " + act() + "}]",
			scale:    codeFailed,
			wrote:    waits("InvalidImageName"), verdict: failed, codes: []string{"InvalidImageName"}, says: "UPPER/Case:::",
		},
		{
			name:     "no-secret",
			template: "containers: [{name: main, command: " + act() + ", envFrom: [{secretRef: {name: made-later}}]}]",
			scale:    codeFailed,
			wrote:    waits("CreateContainerConfigError"), verdict: failed, codes: []string{"ConfigError"}, says: `secret "made-later" not found`,
			repair: func(t *testing.T) {
				kubectl(t, "", "create", "secret", "generic", "made-later", "-n", namespaceOfTruths, "--from-literal=a=b")
			},
		},
		{
			name:     "run-as-root",
			template: "containers: [{name: main, command: " + act() + ", securityContext: {runAsNonRoot: true}}]",
			scale:    codeFailed,
			wrote:    waits("CreateContainerConfigError"), verdict: failed, codes: []string{"ConfigError"}, says: "runAsNonRoot",
		},
		{
			name: "no-volume",
			template: "volumes: [{name: v, secret: {secretName: never-made}}]\n" +
				"containers: [{name: main, command: " + act() + ", volumeMounts: [{name: v, mountPath: /v}]}]",
			scale: codeFailed,
			wrote: happened("FailedMount", "never-made"), verdict: failed, codes: []string{"VolumeNotMounted"}, says: `secret "never-made" not found`,
		},
		{
			name:     "readiness-http",
			template: "containers: [{name: main, command: " + act("-http=:8080", "-ready-after=1h") + ", readinessProbe: {httpGet: {port: 8080, path: /ready}, periodSeconds: 1}}]",
			timeout:  10 * time.Second, scale: codeTimeout,
			wrote: happened("Unhealthy", "503"), verdict: progressing, codes: []string{"ProbeFailed"}, says: "Readiness probe failed",
		},
		{
			name:     "readiness-tcp",
			template: "containers: [{name: main, command: " + act("-tcp=:8080", "-ready-after=1h") + ", readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}}]",
			timeout:  10 * time.Second, scale: codeTimeout,
			wrote: happened("Unhealthy", "connection refused"), verdict: progressing, codes: []string{"ProbeFailed"}, says: "Readiness probe failed",
		},
		{
			// The message is different each time, but the kubelet merges the events.
			name:     "readiness-exec",
			template: "containers: [{name: main, command: " + act() + ", readinessProbe: {exec: {command: [uptime]}, periodSeconds: 1}}]",
			timeout:  10 * time.Second, scale: codeTimeout,
			wrote: happened("Unhealthy", "combined from similar events"), verdict: progressing, codes: []string{"ProbeFailed"}, says: "Readiness probe failed",
		},
		{
			name:     "liveness",
			template: "containers: [{name: main, command: " + act("-http=:8080", "-ok-for=2s") + ", livenessProbe: {httpGet: {port: 8080, path: /live}, periodSeconds: 1, failureThreshold: 1}}]",
			late:     true, scale: codeFailed,
			wrote: restarted(2), verdict: failed, codes: []string{"CrashLoop"},
		},
		{
			name: "liveness-ignores-term",
			template: "terminationGracePeriodSeconds: 60\n" +
				"containers: [{name: main, command: " + act("-http=:8080", "-ok-for=10s", "-ignore-term") + ", livenessProbe: {httpGet: {port: 8080, path: /live}, periodSeconds: 1, failureThreshold: 3}}]",
			wrote: happened("Killing", "liveness"), verdict: progressing, codes: []string{"ProbeFailed"}, says: "liveness probe",
		},
		{
			name: "evicted",
			template: "volumes: [{name: v, emptyDir: {sizeLimit: 1Mi}}]\n" +
				"containers: [{name: main, command: " + act("-fill=5", "-into=/v/big") + ", volumeMounts: [{name: v, mountPath: /v}]}]",
			wrote: happened("Evicted", ""), verdict: progressing, codes: []string{"PodEnded"}, says: "Evicted", passing: true,
		},
		{
			name: "deadline",
			template: "activeDeadlineSeconds: 10\n" +
				"containers: [{name: main, command: " + act() + "}]",
			wrote: happened("DeadlineExceeded", ""), verdict: progressing, codes: []string{"PodEnded"}, says: "DeadlineExceeded", passing: true,
		},
		{
			name:     "too-large",
			template: "containers: [{name: main, command: " + act() + ", resources: {requests: {cpu: \"10000\"}}}]",
			scale:    codeFailed,
			wrote:    happened("FailedScheduling", "Insufficient cpu"), verdict: failed, codes: []string{"Unschedulable"}, says: "Insufficient cpu",
		},
		{
			name: "slow-end",
			template: "terminationGracePeriodSeconds: 30\n" +
				"containers: [{name: main, command: " + act("-ignore-term") + "}]",
			// A new pod can start only after the old pod is gone.
			then: func(t *testing.T, _ *witness) {
				for _, replicas := range []string{"0", "1"} {
					kubectl(t, "", "imoocpod", "scale", "slow-end", "-n", namespaceOfTruths, "--replicas="+replicas)
				}
			},
			wrote: func(pods []*corev1.Pod, _ []*corev1.Event) bool {
				return len(pods) == 1 && pods[0].DeletionTimestamp != nil
			},
			verdict: progressing, codes: []string{"PodsMissing"}, passing: true,
			repair: func(*testing.T) {},
		},
	}
}

// TestTruths runs a pod on a real node for each row, and checks the status, the behavior of the
// controller, and the end of a wait.
func TestTruths(t *testing.T) {
	kubectl(t, "", "create", "namespace", namespaceOfTruths)
	t.Cleanup(func() {
		// Do not wait for pods that terminate slowly.
		kubectl(t, "", "delete", "pods", "--all", "-n", namespaceOfTruths, "--force", "--grace-period=0")
		kubectl(t, "", "delete", "namespace", namespaceOfTruths)
	})
	w := watchNamespace(t, namespaceOfTruths)
	startLoop(t, "-n", namespaceOfTruths)
	t.Run("rows", func(t *testing.T) {
		for _, row := range truths() {
			t.Run(row.name, func(t *testing.T) {
				t.Parallel()
				row.run(t, w)
			})
		}
	})
}

func (r truth) run(t *testing.T, w *witness) {
	// A crash-looping pod would use CPU time of the other rows.
	t.Cleanup(func() {
		objects := cluster.Dynamic.Resource(imoocPods()).Namespace(namespaceOfTruths)
		if err := objects.Delete(context.Background(), r.name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}); err != nil {
			t.Error(err)
		}
	})
	r.node, r.replicas, r.timeout = or(r.node, steadyNode), or(r.replicas, 1), or(r.timeout, deadline)
	kubectl(t, r.manifest(t), "create", "-f", "-")
	done := make(chan struct{})
	go func() {
		defer close(done)
		if r.late {
			kubectl(t, "", "imoocpod", "scale", r.name, "-n", namespaceOfTruths, fmt.Sprint("--replicas=", r.replicas))
			return
		}
		r.scaleUp(t, r.replicas)
	}()
	if r.before != nil {
		r.before(t, w)
	}
	<-done
	if r.then != nil {
		r.then(t, w)
	}
	w.await(t, "it is written what this is about", r.name, r.wrote)
	r.settle(t)
	// The status stays the same, whatever the container does.
	if !r.passing {
		r.holds(t, 3*time.Second)
	}
	if r.late {
		r.scaleUp(t, r.replicas+1)
	}
	if *record != "" {
		w.record(t, r.name, r.name)
	}
	if r.repair != nil {
		r.repair(t)
		kubectl(t, "", "imoocpod", "wait", r.name, "-n", namespaceOfTruths, "--timeout="+deadline.String(), "--fail-after=never")
	}
}

// scaleUp scales the object, and waits as long as the row allows.
func (r truth) scaleUp(t *testing.T, replicas int) {
	t.Helper()
	result := command("", "imoocpod", "scale", r.name, "-n", namespaceOfTruths, fmt.Sprint("--replicas=", replicas),
		"--timeout="+r.timeout.String(), "--fail-after="+r.failAfter().String())
	if result.code != r.scale {
		t.Errorf("scale: got exit code %d, want %d: %s", result.code, r.scale, result)
	}
}

// failAfter returns the value of --fail-after. It is longer if the scale must succeed.
func (r truth) failAfter() time.Duration {
	if r.scale == codeDone {
		return time.Minute
	}
	return 3 * time.Second
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

func (r truth) manifest(t *testing.T) string {
	t.Helper()
	return manifest(t, namespaceOfTruths, r.name, r.node, 0, r.template)
}

func (r truth) look(t *testing.T) report {
	t.Helper()
	return r.lookIn(t, namespaceOfTruths)
}

func (r truth) lookIn(t *testing.T, namespace string) report {
	t.Helper()
	var got report
	// Call the plugin directly, because kubectl would double the time of each call.
	out := execute(plugin(), "", "status", r.name, "-n", namespace, "-o", "json")
	if err := json.Unmarshal([]byte(out.stdout), &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return got
}

func (r truth) settle(t *testing.T) {
	t.Helper()
	var got report
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, deadline, true, func(context.Context) (bool, error) {
		got = r.look(t) //nolint:contextcheck // each command has its own timeout
		return got.Verdict == r.verdict && slices.Contains(r.codes, got.ReasonCode), nil
	})
	if err != nil {
		r.check(t, got)
	}
}

// holds fails the test if the status is unexpected at any time in a period.
func (r truth) holds(t *testing.T, period time.Duration) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, period, true, func(context.Context) (bool, error) {
		r.check(t, r.look(t)) //nolint:contextcheck // each command has its own timeout
		return false, nil
	})
	if !wait.Interrupted(err) {
		t.Error(err)
	}
}

func (r truth) check(t *testing.T, got report) {
	t.Helper()
	if got.Verdict != r.verdict || !slices.Contains(r.codes, got.ReasonCode) || !strings.Contains(got.Reason, r.says) {
		t.Errorf("status: got %s, %s: %s; want %s, %s: …%s…", got.Verdict, got.ReasonCode, got.Reason, r.verdict, r.codes, r.says)
	}
}
