package node

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

const namespaceOfTruths = "truths"

// truth is a row of TestRealPodStatus, which runs a pod on a real node and checks the report.
type truth struct {
	// name is the name of the object, and pod is the spec of its pod (see create).
	name, pod string
	// node is the node of the pod. The default is steadyNode.
	node string
	// timeout, if set, is the value of "scale --timeout" for a scale that must time out.
	timeout string
	// late means that the first pod can be ready for a short time before it fails. In this case,
	// the first scale does not wait, but a second scale after the failure does.
	late bool
	// before, if not nil, runs while scale waits. The function then, if not nil, runs after the scale.
	before, then func(t *testing.T, w *witness)
	// wrote is a condition on the pods and events. The status is checked after the condition is
	// met. The default is podReady.
	wrote condition
	// verdict and code are the expected status after wrote is met. The reason must contain says.
	verdict status.Verdict
	code    problem.Code
	says    string
	// passing means that the expected status is temporary.
	passing bool
	// repair, if set, fixes the problem, so that the object becomes ready.
	repair func(t *testing.T)
}

// waits returns a condition that is met if a container is in the state Waiting with one of the reasons.
func waits(reasons ...string) condition {
	return containers(func(c corev1.ContainerStatus) bool {
		return c.State.Waiting != nil && slices.Contains(reasons, c.State.Waiting.Reason)
	})
}

// containers returns a condition that is met if holds is true for any container.
func containers(holds func(corev1.ContainerStatus) bool) condition {
	return func(pods []*corev1.Pod, _ []*corev1.Event) bool {
		return slices.ContainsFunc(pods, func(pod *corev1.Pod) bool {
			return slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), holds)
		})
	}
}

// happened returns a condition that is met if there was an event with the reason and with the words in its message.
func happened(reason, words string) condition {
	return func(_ []*corev1.Pod, events []*corev1.Event) bool {
		return slices.ContainsFunc(events, func(e *corev1.Event) bool {
			return e.Reason == reason && strings.Contains(e.Message, words)
		})
	}
}

func podReady(pods []*corev1.Pod, _ []*corev1.Event) bool { return slices.ContainsFunc(pods, isReady) }

func isReady(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil && harness.IsReady(pod) }

func podTerminates(pods []*corev1.Pod, _ []*corev1.Event) bool {
	return slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}

func restarted(n int32) condition {
	return containers(func(c corev1.ContainerStatus) bool { return c.RestartCount >= n })
}

// whenReady is the readiness probe of a container that runs "act -http=:8080".
const whenReady = "readinessProbe: {httpGet: {port: 8080, path: /ready}, periodSeconds: 1}"

// truths returns the rows. The program act is in test/cluster/node/container.
func truths() []truth {
	return []truth{
		{name: "running", pod: "containers: [{command: [act, -http=:8080]}]", verdict: status.Ready},
		{name: "slow-start", pod: "containers: [{command: [act, -http=:8080, -ready-after=4s], " + whenReady + "}]",
			verdict: status.Ready},
		{name: "startup-probe", pod: "containers: [{command: [act, -touch=/tmp/up, -ready-after=4s], " +
			"startupProbe: {exec: {command: [cat, /tmp/up]}, periodSeconds: 1, failureThreshold: 60}}]",
			verdict: status.Ready},
		{name: "startup-probe-fails", pod: "containers: [{command: [act], " +
			`startupProbe: {exec: {command: ["false"]}, periodSeconds: 1, failureThreshold: 2}}]`,
			late: true, wrote: restarted(2), verdict: status.Failed, code: problem.CodeCrashLoop},
		{name: "crash-at-once", pod: "containers: [{command: [act, -exit-after=0s, -exit-code=1]}]", late: true,
			wrote: restarted(2), verdict: status.Failed, code: problem.CodeCrashLoop, says: "last exit code 1"},
		{name: "crash-after-5s", pod: "containers: [{command: [act, -exit-after=5s, -exit-code=3]}]", late: true,
			wrote: restarted(2), verdict: status.Failed, code: problem.CodeCrashLoop, says: "last exit code 3"},
		{name: "exit-0", pod: `containers: [{command: ["true"]}]`, late: true,
			wrote: restarted(2), verdict: status.Failed, code: problem.CodeCrashLoop, says: "last exit code 0 (Completed)"},
		{name: "init-crash", pod: `{initContainers: [{name: prepare, command: ["false"]}], containers: [{command: [act]}]}`,
			wrote: restarted(2), verdict: status.Failed, code: problem.CodeCrashLoop, says: "init container prepare"},
		{name: "sidecar-crash", pod: `
initContainers: [{name: proxy, restartPolicy: Always, command: [act, -exit-after=1s, -exit-code=2]}]
containers: [{command: [act, -http=:8080], ` + whenReady + `}]`, late: true,
			wrote: restarted(2), verdict: status.Failed, code: problem.CodeCrashLoop, says: "container proxy"},
		{name: "out-of-memory", pod: "containers: [{command: [act, -eat=128], resources: {limits: {memory: 32Mi}}}]",
			late: true, wrote: restarted(2), verdict: status.Failed, code: problem.CodeOutOfMemory, says: "OOMKilled"},
		{name: "no-such-command", pod: "containers: [{command: [nosuchprogram]}]",
			wrote:   waits("RunContainerError", "CrashLoopBackOff"),
			verdict: status.Failed, code: problem.CodeStartFailed, says: "nosuchprogram"},
		{name: "image-missing", pod: "containers: [{image: 'missing:1', imagePullPolicy: Always, command: [act]}]",
			wrote: waits("ImagePullBackOff"), verdict: status.Failed, code: problem.CodeImagePullFailed, says: "not found",
			repair: func(t *testing.T) { addImage(t, "missing", "1") }},
		// The image becomes available within --fail-after.
		{name: "image-late", pod: "containers: [{image: 'late:1', imagePullPolicy: Always, command: [act]}]",
			before: func(t *testing.T, w *witness) {
				w.await(t, "the image cannot be pulled", "image-late", waits("ErrImagePull", "ImagePullBackOff"))
				addImage(t, "late", "1")
			},
			verdict: status.Ready},
		// The kubelet itself delays the second and the third image for a short time.
		{name: "pull-qps", node: shakyNode, pod: `containers:
- {name: one, image: busybox, imagePullPolicy: Always, command: [act]}
- {name: two, image: nginx, imagePullPolicy: Always, command: [act]}
- {name: three, image: "nginx:stable-alpine3.17", imagePullPolicy: Always, command: [act]}`,
			verdict: status.Ready},
		{name: "image-never", pod: "containers: [{image: 'missing:2', imagePullPolicy: Never, command: [act]}]",
			wrote:   waits("ErrImageNeverPull"),
			verdict: status.Failed, code: problem.CodeImagePullFailed, says: "not on the node"},
		{name: "image-name", pod: "containers: [{image: 'UPPER/Case:::', command: [act]}]",
			wrote: waits("InvalidImageName"), verdict: status.Failed, code: problem.CodeInvalidImageName, says: "UPPER/Case:::"},
		{name: "no-secret", pod: "containers: [{command: [act], envFrom: [{secretRef: {name: made-later}}]}]",
			wrote:   waits("CreateContainerConfigError"),
			verdict: status.Failed, code: problem.CodeConfigError, says: `secret "made-later" not found`,
			repair: func(t *testing.T) {
				cluster.CreateObject(t, namespaceOfTruths, "secrets", "{apiVersion: v1, kind: Secret, metadata: {name: made-later}}")
			}},
		{name: "run-as-root", pod: "containers: [{command: [act], securityContext: {runAsNonRoot: true}}]",
			wrote:   waits("CreateContainerConfigError"),
			verdict: status.Failed, code: problem.CodeConfigError, says: "runAsNonRoot"},
		{name: "no-volume", pod: `
volumes: [{name: v, secret: {secretName: never-made}}]
containers: [{command: [act], volumeMounts: [{name: v, mountPath: /v}]}]`,
			wrote:   happened("FailedMount", "never-made"),
			verdict: status.Failed, code: problem.CodeVolumeNotMounted, says: `secret "never-made" not found`},
		{name: "readiness-http", pod: "containers: [{command: [act, -http=:8080, -ready-after=1h], " + whenReady + "}]",
			timeout: "10s", wrote: happened("Unhealthy", "503"),
			verdict: status.Progressing, code: problem.CodeProbeFailed, says: "Readiness probe failed"},
		{name: "readiness-tcp", pod: "containers: [{command: [act, -tcp=:8080, -ready-after=1h], " +
			"readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}}]",
			timeout: "10s", wrote: happened("Unhealthy", "connection refused"),
			verdict: status.Progressing, code: problem.CodeProbeFailed, says: "Readiness probe failed"},
		// The message is different each time, but the kubelet merges the events.
		{name: "readiness-exec", pod: "containers: [{command: [act], " +
			"readinessProbe: {exec: {command: [uptime]}, periodSeconds: 1}}]",
			timeout: "10s", wrote: happened("Unhealthy", "combined from similar events"),
			verdict: status.Progressing, code: problem.CodeProbeFailed, says: "Readiness probe failed"},
		{name: "liveness", pod: "containers: [{command: [act, -http=:8080, -ok-for=2s], " +
			"livenessProbe: {httpGet: {port: 8080, path: /live}, periodSeconds: 1, failureThreshold: 1}}]",
			late: true, wrote: restarted(2), verdict: status.Failed, code: problem.CodeCrashLoop},
		{name: "liveness-ignores-term", pod: `
terminationGracePeriodSeconds: 60
containers:
- command: [act, -http=:8080, -ok-for=10s, -ignore-term]
  livenessProbe: {httpGet: {port: 8080, path: /live}, periodSeconds: 1, failureThreshold: 3}`,
			wrote:   happened("Killing", "liveness"),
			verdict: status.Progressing, code: problem.CodeProbeFailed, says: "liveness probe"},
		{name: "evicted", pod: `
volumes: [{name: v, emptyDir: {sizeLimit: 1Mi}}]
containers: [{command: [act, -fill=5, -into=/v/big], volumeMounts: [{name: v, mountPath: /v}]}]`,
			wrote:   happened("Evicted", ""),
			verdict: status.Progressing, code: problem.CodePodEnded, says: "Evicted", passing: true},
		{name: "deadline", pod: "{activeDeadlineSeconds: 10, containers: [{command: [act]}]}",
			wrote:   happened("DeadlineExceeded", ""),
			verdict: status.Progressing, code: problem.CodePodEnded, says: "DeadlineExceeded", passing: true},
		{name: "too-large", pod: `containers: [{command: [act], resources: {requests: {cpu: "10000"}}}]`,
			wrote:   happened("FailedScheduling", "Insufficient cpu"),
			verdict: status.Failed, code: problem.CodeUnschedulable, says: "Insufficient cpu"},
		// A new pod can start only after the old pod is gone.
		{name: "slow-end", pod: "{terminationGracePeriodSeconds: 30, containers: [{command: [act, -ignore-term]}]}",
			then: func(t *testing.T, _ *witness) {
				cluster.Imoocpod(t, namespaceOfTruths, "scale", "slow-end", "--replicas=0")
				cluster.Imoocpod(t, namespaceOfTruths, "scale", "slow-end", "--replicas=1")
			},
			wrote:   func(pods []*corev1.Pod, _ []*corev1.Event) bool { return len(pods) == 1 && podTerminates(pods, nil) },
			verdict: status.Progressing, code: problem.CodePodsMissing, passing: true,
			repair: func(*testing.T) {}},
	}
}

// TestRealPodStatus runs a pod on a real node for each row. It checks the status and the exit code of a
// scale. After a repair, a wait must succeed.
func TestRealPodStatus(t *testing.T) {
	w, _ := startIn(t, namespaceOfTruths)
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
	r.code = cmp.Or(r.code, problem.CodeReady)
	create(t, namespaceOfTruths, r.name, cmp.Or(r.node, steadyNode), 0, r.pod)
	// Delete the object at the end, because a crash-looping pod would use CPU time that the other rows need.
	t.Cleanup(func() {
		objects := cluster.Dynamic.Resource(kinds.ImoocPod().Resource).Namespace(namespaceOfTruths)
		if err := objects.Delete(context.Background(), r.name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		if r.late {
			cluster.Imoocpod(t, namespaceOfTruths, "scale", r.name, "--replicas=1")
			return
		}
		r.scaleUp(t, "--replicas=1")
	}()
	if r.before != nil {
		r.before(t, w)
	}
	<-done
	if r.then != nil {
		r.then(t, w)
	}
	if r.wrote == nil {
		r.wrote = podReady
	}
	w.await(t, "the pods or events meet the condition of the row", r.name, r.wrote)
	r.settle(t)
	// A status that is not temporary must not change.
	if !r.passing {
		r.holds(t, 3*time.Second)
	}
	if r.late {
		r.scaleUp(t, "--replicas=2")
	}
	w.record(t, r.name, r.name)
	if r.repair != nil {
		r.repair(t)
		cluster.Imoocpod(t, namespaceOfTruths, "wait", r.name, patient, "--fail-after=never")
	}
}

// scaleUp scales the object, and waits as long as the row allows. --fail-after is longer if the scale must succeed.
func (r truth) scaleUp(t *testing.T, replicas string) {
	t.Helper()
	timeout, failAfter, want := patient, "1m", 0
	switch {
	case r.timeout != "":
		timeout, failAfter, want = "--timeout="+r.timeout, "3s", harness.ExitTimeout
	case r.verdict == status.Failed:
		failAfter, want = "3s", harness.ExitFailed
	}
	result := cluster.Kubectl(t, namespaceOfTruths,
		"imoocpod", "scale", r.name, replicas, timeout, "--fail-after="+failAfter)
	if result.Code != want {
		t.Errorf("scale: got exit code %d, want %d: %+v", result.Code, want, result)
	}
}

// look returns the status of an object. It calls the plugin directly, because kubectl would double
// the time of each call.
func look(t *testing.T, namespace, name string) (got status.Report) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), plugin(), "status", name, "-n", namespace, "-o", "json")
	cmd.Env = cluster.Environment()
	out, err := cmd.Output()
	if err := errors.Join(err, json.Unmarshal(out, &got)); err != nil {
		t.Fatalf("status of %s: %v: %s", name, err, out)
	}
	return got
}

func (r truth) settle(t *testing.T) {
	t.Helper()
	var got status.Report
	if !eventually(t, func() bool {
		got = look(t, namespaceOfTruths, r.name)
		return got.Verdict == r.verdict && got.ReasonCode == r.code
	}) {
		r.check(t, got)
	}
}

// holds checks the status once per second for a period.
func (r truth) holds(t *testing.T, period time.Duration) {
	t.Helper()
	for end := time.After(period); ; {
		r.check(t, look(t, namespaceOfTruths, r.name))
		select {
		case <-time.After(time.Second):
		case <-end:
			return
		}
	}
}

func (r truth) check(t *testing.T, got status.Report) {
	t.Helper()
	if got.Verdict != r.verdict || got.ReasonCode != r.code || !strings.Contains(got.Reason, r.says) {
		t.Errorf("status: got %s, %s: %s; want %s, %s: …%s…",
			got.Verdict, got.ReasonCode, got.Reason, r.verdict, r.code, r.says)
	}
}
