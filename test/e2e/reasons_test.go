package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// expected is the explanation that users and scripts get for an object that is not
// ready.
type expected struct {
	verdict status.Verdict
	code    problem.Code
	// reason and hint are substrings of the explanation.
	reason, hint string
}

// explains waits until the JSON status of an object has the expected problem, and checks the
// other outputs against it.
func explains(t *testing.T, namespace, object string, want expected) status.Report {
	t.Helper()
	var r status.Report
	harness.Eventually(t, fmt.Sprintf("%s is %s for %s", object, want.verdict, want.code), func() bool {
		r = status.Report{}
		if err := json.Unmarshal([]byte(cluster.Imoocpod(t, namespace, "status", object, "-o", "json")), &r); err != nil {
			t.Fatal(err)
		}
		return r.Verdict == want.verdict && r.ReasonCode == want.code && strings.Contains(r.Reason, want.reason)
	})
	if !strings.Contains(r.Hint, want.hint) {
		t.Errorf("%s: the hint is %q, want %q in it", object, r.Hint, want.hint)
	}
	// The wording may change between looks, as restarts are counted and time passes, but
	// it always contains the expected part.
	first, _, _ := strings.Cut(cluster.Imoocpod(t, namespace, "status", object), "\n")
	if said := fmt.Sprintf(": %s: ", want.verdict); !strings.Contains(first, said) || !strings.Contains(first, want.reason) {
		t.Errorf("status %s says %q, want %q and %q", object, first, said, want.reason)
	}
	described := cluster.Imoocpod(t, namespace, "describe", object)
	for line := range strings.Lines(described) {
		if rest, found := strings.CutPrefix(line, "Verdict:"); found && (!strings.HasPrefix(strings.TrimSpace(rest), string(want.verdict)+": ") || !strings.Contains(rest, want.reason)) {
			t.Errorf("describe %s says %q, want %q and %q", object, rest, want.verdict, want.reason)
		}
	}
	if want.hint != "" && !strings.Contains(described, want.hint) {
		t.Errorf("describe %s does not have the hint %q:\n%s", object, want.hint, described)
	}
	return r
}

// ailing returns an ImoocPod whose pods get the given status, as from a kubelet.
func ailing(name, podSpec, podStatus string) string {
	return fmt.Sprintf(`
apiVersion: batch.tutorial.kubebuilder.io/v1alpha1
kind: ImoocPod
metadata: {name: %s}
spec:
  replicas: 2
  template:
    metadata:
      annotations:
        e2e/status: |
          %s
    spec: {terminationGracePeriodSeconds: 1, %s}
`, name, strings.ReplaceAll(strings.TrimSpace(podStatus), "\n", "\n          "), podSpec)
}

const (
	oneContainer = `containers: [{name: web, image: "web:v2"}]`
	notReady     = `conditions: [{type: Ready, status: "False", reason: ContainersNotReady}]`
)

// waiting returns the status of a pod with a waiting container.
func waiting(restarts int, reason, message, last string) string {
	return fmt.Sprintf("phase: Pending\n%s\ncontainerStatuses:\n- {name: web, image: web, imageID: \"\", ready: false, restartCount: %d, state: {waiting: {reason: %s, message: '%s'}}, lastState: {%s}}",
		notReady, restarts, reason, message, last)
}

// status and describe report each problem that a kubelet reports, to users and scripts,
// with the number of affected pods.
func TestReasonsOfTheKubelet(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	running := "phase: Running\n" + notReady + "\ncontainerStatuses:\n"
	for name, test := range map[string]struct {
		spec, podStatus string
		event           *corev1.Event
		want            expected
	}{
		"image": {oneContainer, waiting(0, "ImagePullBackOff", `Back-off pulling image "web:v2": ErrImagePull: rpc error: code = NotFound desc = web:v2: not found`, ""), nil,
			expected{status.Failed, problem.CodeImagePullFailed, "2 of 2 pods: container web cannot pull its image web:v2: web:v2: not found", "imagePullSecrets"}},
		"image-name": {`containers: [{name: web, image: "Web:v2"}]`, waiting(0, "InvalidImageName", "invalid reference format", ""), nil,
			expected{status.Failed, problem.CodeInvalidImageName, `2 of 2 pods: container web has an invalid image name: "Web:v2"`, "fix the image"}},
		"crash": {oneContainer, waiting(7, "CrashLoopBackOff", "back-off 5m0s restarting failed container=web", "terminated: {reason: Error, exitCode: 3}"), nil,
			expected{status.Failed, problem.CodeCrashLoop, "2 of 2 pods: container web crashes: 7 restarts, last exit code 3", "kubectl imoocpod logs imoocpod/crash -n " + ns + " --failing"}},
		"memory": {oneContainer, waiting(7, "CrashLoopBackOff", "back-off 5m0s restarting failed container=web", "terminated: {reason: OOMKilled, exitCode: 137}"), nil,
			expected{status.Failed, problem.CodeOutOfMemory, "2 of 2 pods: container web runs out of memory: 7 restarts, last exit code 137 (OOMKilled)", "memory limit"}},
		"config": {oneContainer, waiting(0, "CreateContainerConfigError", `secret "key" not found`, ""), nil,
			expected{status.Failed, problem.CodeConfigError, `2 of 2 pods: container web cannot be configured: secret "key" not found`, "kubectl get secrets,configmaps -n " + ns}},
		"start": {oneContainer, waiting(1, "RunContainerError", `exec: "serve": executable file not found in $PATH`, ""), nil,
			expected{status.Failed, problem.CodeStartFailed, `2 of 2 pods: container web cannot start: exec: "serve": executable file not found`, "kubectl describe pod"}},
		"volume": {oneContainer, waiting(0, "ContainerCreating", "", ""), &corev1.Event{Reason: "FailedMount", Message: `MountVolume.SetUp failed for volume "key" : secret "key" not found`, Count: 7},
			expected{status.Failed, problem.CodeVolumeNotMounted, `2 of 2 pods: cannot mount a volume: MountVolume.SetUp failed for volume "key"`, "kubectl describe pod"}},
		"probe": {oneContainer, running + `- {name: web, image: web, imageID: "", ready: false, restartCount: 0, state: {running: {startedAt: "2026-01-02T03:04:05Z"}}}`,
			&corev1.Event{Reason: "Unhealthy", Message: "Readiness probe failed: HTTP probe failed with statuscode: 503", Count: 3},
			expected{status.Progressing, problem.CodeProbeFailed, "0 of 2 pods ready; 2 of 2 pods: container web is not ready: Readiness probe failed: HTTP probe failed with statuscode: 503", "kubectl imoocpod logs imoocpod/probe -n " + ns + " --failing -c web"}},
		"one-of-two": {`containers: [{name: web, image: web}, {name: proxy, image: proxy}]`,
			running + "- {name: web, image: web, imageID: \"\", ready: true, restartCount: 0, state: {running: {}}}\n- {name: proxy, image: proxy, imageID: \"\", ready: false, restartCount: 0, state: {running: {}}}", nil,
			expected{status.Progressing, problem.CodeContainersNotReady, "2 of 2 pods: 1 of 2 containers ready, waiting for proxy", " -c proxy"}},
		"init": {`initContainers: [{name: migrate, image: migrate}], ` + oneContainer,
			"phase: Pending\n" + notReady + "\ninitContainerStatuses:\n- {name: migrate, image: migrate, imageID: \"\", ready: false, restartCount: 4, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, reason: Error}}}", nil,
			expected{status.Failed, problem.CodeCrashLoop, "2 of 2 pods: init container migrate crashes: 4 restarts, last exit code 1", "kubectl imoocpod logs imoocpod/init -n " + ns + " --failing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster.Apply(t, ns, ailing(name, test.spec, test.podStatus))
			if test.event != nil {
				for _, pod := range bothPods(t, ns, name) {
					tellOf(t, &pod, test.event)
				}
			}
			r := explains(t, ns, name, test.want)
			p := r.Problems[0]
			if len(p.Pods) != 2 || p.Of != 2 || p.Fatal != (test.want.verdict == status.Failed) || p.Since.IsZero() || test.event != nil && len(p.Events) == 0 {
				t.Errorf("the problem is %+v", p)
			}
		})
	}
}

// The controller reports once why pods do not become ready, and when.
func TestControllerReportsFailingPods(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	l := cluster.StartRunController(t, ns)
	cluster.Apply(t, ns, ailing("foo", oneContainer, waiting(0, "ImagePullBackOff", `Back-off pulling image "web:v2": ErrImagePull: rpc error: code = NotFound desc = web:v2: not found`, "")))
	const why = "foo: 0 of 2 pods ready: container web cannot pull its image web:v2: web:v2: not found"
	l.AwaitOutput(why)
	explains(t, ns, "foo", expected{status.Failed, problem.CodeImagePullFailed, "2 of 2 pods", "imagePullSecrets"})
	l.Stop()
	if said := l.Output(); strings.Count(said, why) != 1 {
		t.Errorf("the controller printed\n%s", said)
	}
	for line := range strings.Lines(l.Output()) {
		if _, err := time.Parse(time.TimeOnly, strings.SplitN(line, " ", 2)[0]); err != nil {
			t.Errorf("a line without a time: %s", line)
		}
	}
}

// bothPods waits until an ImoocPod has two pods that are not ready.
func bothPods(t *testing.T, namespace, name string) []corev1.Pod {
	t.Helper()
	var pods []corev1.Pod
	harness.Eventually(t, name+" has two pods", func() bool {
		pods = cluster.PodsOf(t, namespace, cluster.ImoocPod(t, namespace, name).UID)
		return len(pods) == 2
	})
	return pods
}

// tellOf records an event for a pod, as a kubelet would.
func tellOf(t *testing.T, pod *corev1.Pod, about *corev1.Event) {
	t.Helper()
	event := about.DeepCopy()
	event.Name, event.Namespace, event.Type, event.Source.Component = pod.Name+"."+strings.ToLower(event.Reason), pod.Namespace, corev1.EventTypeWarning, "kubelet"
	event.InvolvedObject = corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, APIVersion: "v1"}
	event.FirstTimestamp, event.LastTimestamp = metav1.Now(), metav1.Now()
	if _, err := cluster.Core.Events(pod.Namespace).Create(t.Context(), event, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Reasons of the scheduler, the server and the garbage collector are reported verbatim.
func TestReasonsOfTheControlPlane(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	sample := func(name, podSpec string) string {
		return fmt.Sprintf(`{apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod, metadata: {name: %s}, spec: {replicas: 2, template: {spec: {terminationGracePeriodSeconds: 1, %s}}}}`, name, podSpec)
	}
	t.Run("no node fits", func(t *testing.T) {
		t.Parallel()
		cluster.Apply(t, ns, sample("nowhere", oneContainer+`, nodeSelector: {no: such}`))
		r := explains(t, ns, "nowhere", expected{status.Failed, problem.CodeUnschedulable, "2 of 2 pods: no node fits: 0/", "kubectl get nodes"})
		if !strings.Contains(r.Reason, "didn't match Pod's node affinity/selector") {
			t.Errorf("not the scheduler's message: %s", r.Reason)
		}
	})
	t.Run("scheduling gates", func(t *testing.T) {
		t.Parallel()
		cluster.Apply(t, ns, sample("gated", oneContainer+`, schedulingGates: [{name: example.com/wait}]`))
		explains(t, ns, "gated", expected{status.Progressing, problem.CodeSchedulingGated, "its scheduling gates have not been removed", ""})
	})
	t.Run("node gone", func(t *testing.T) {
		t.Parallel()
		cluster.Apply(t, ns, sample("lost", oneContainer+`, nodeName: no-such-node`))
		explains(t, ns, "lost", expected{status.Failed, problem.CodeNodeLost, "its node no-such-node no longer exists", "kubectl describe node no-such-node"})
	})
	t.Run("a finalizer", func(t *testing.T) {
		t.Parallel()
		cluster.Imoocpod(t, ns, "create", "held", "--replicas", "0")
		hold := func(finalizers string) {
			harness.Must(t, cluster.Kubectl(t, ns, "patch", "imoocpod", "held", "--type=merge", "-p", `{"metadata":{"finalizers":`+finalizers+`}}`))
		}
		hold(`["example.com/backup"]`)
		harness.Must(t, cluster.Kubectl(t, ns, "delete", "imoocpod", "held", "--wait=false"))
		explains(t, ns, "held", expected{status.Progressing, problem.CodeFinalizer, "it is being deleted; a finalizer is still pending: example.com/backup", "kubectl patch imoocpod.batch.tutorial.kubebuilder.io held -n " + ns})
		hold("null")
	})
	t.Run("a pod that does not go", func(t *testing.T) {
		t.Parallel()
		cluster.Apply(t, ns, strings.Replace(ailing("undying", oneContainer, waiting(0, "ContainerCreating", "", "")), "e2e/status", "e2e/undying: \"\"\n        e2e/status", 1))
		pods := bothPods(t, ns, "undying")
		harness.Must(t, cluster.Kubectl(t, ns, "delete", "pod", pods[0].Name, "--wait=false"))
		t.Cleanup(func() {
			// No kubelet would end the pods, and the namespace could not be deleted.
			now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
			if err := cluster.Core.Pods(ns).DeleteCollection(context.Background(), now, metav1.ListOptions{}); err != nil {
				t.Error(err)
			}
		})
		r := explains(t, ns, "undying", expected{status.Failed, problem.CodeTerminating, "pod " + pods[0].Name + ": still terminating after its grace period", "--force --grace-period=0"})
		if len(r.Problems) == 0 || r.Problems[0].Since.After(time.Now()) {
			t.Errorf("the problems are %+v", r.Problems)
		}
	})
}

// The reason why pods cannot be created is reported for our own objects, for those with
// a Deployment, and for foreign ones.
func TestReasonsOfRefusal(t *testing.T) {
	t.Parallel()
	const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {hostNetwork: true, containers: [{name: web, image: web}]}}}}`
	const set = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {replicas: 2, selector: {matchLabels: {c: d}}, template: {metadata: {labels: {c: d}}, spec: {hostNetwork: true, containers: [{name: db, image: db}]}}}}`
	const own = `{apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod, metadata: {name: foo}, spec: {replicas: 2, template: {spec: {hostNetwork: true, containers: [{name: web, image: web}]}}}}`
	for name, test := range map[string]struct {
		prepare func(t *testing.T, namespace string)
		want    expected
	}{
		"quota": {
			func(t *testing.T, ns string) { quota(t, ns, "0") },
			expected{status.Failed, problem.CodeQuotaExceeded, "cannot create more pods: exceeded quota: few", "kubectl describe quota -n "},
		},
		"admission": {
			func(t *testing.T, ns string) {
				harness.Must(t, cluster.Kubectl(t, "", "label", "namespace", ns, "pod-security.kubernetes.io/enforce=baseline"))
			},
			expected{status.Failed, problem.CodeAdmissionRefused, `pods are rejected: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)`, "fix the pod template"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := cluster.NewNamespace(t)
			test.prepare(t, ns)
			cluster.StartRunController(t, ns)
			for _, manifest := range []string{own, deployment, set} {
				cluster.Apply(t, ns, manifest)
			}
			objects := []string{"foo", "deployment/web", "statefulset/db"}
			if name == "quota" { // an AppService cannot violate the other policies
				cluster.Apply(t, ns, `{apiVersion: appcontroller.k8s.io/v1alpha1, kind: AppService, metadata: {name: shop}, spec: {deploymentName: shop, replicas: 2}}`)
				objects = append(objects, "appservice/shop")
			}
			for _, object := range objects {
				if r := explains(t, ns, object, test.want); len(r.Problems) != 1 || len(r.Problems[0].Pods) > 0 {
					t.Errorf("the problems of %s are %+v", object, r.Problems)
				}
			}
		})
	}
}

// An object without a controller reports that, and who last reconciled it. One that is
// scaled or owned by another object names that.
func TestReasonsOfOthers(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	l := cluster.StartRunController(t, ns)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "1")
	cluster.AwaitConverged(t, ns, "foo", 1)
	l.Stop()
	cluster.Imoocpod(t, ns, "scale", "foo", "--replicas", "2")
	r := explains(t, ns, "foo", expected{status.NotReconciled, problem.CodeGenerationNotSeen, "its controller has not seen the last change (generation 2, observed 1); its status was last written by kubectl-imoocpod ", "kubectl imoocpod run-controller -n " + ns})
	if !strings.HasSuffix(r.Reason, " ago; no controller is running for it") {
		t.Errorf("it does not report the missing controller: %s", r.Reason)
	}
	if w := r.Reconciler.Spec; w == nil || w.Manager != kinds.FieldManager {
		t.Errorf("the last change was made by %+v", w)
	}

	cluster.Apply(t, ns, `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: many}
spec: {minReplicas: 3, maxReplicas: 9, scaleTargetRef: {apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod, name: foo}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: most}
spec: {minAvailable: 1, selector: {matchLabels: {app: foo}}}`)
	const scaled, guarded = "HorizontalPodAutoscaler/many keeps its replica count between 3 and 9", "most: at least 1, disruptions allowed now: "
	for _, verb := range []string{"status", "describe"} {
		if out := cluster.Imoocpod(t, ns, verb, "foo"); !strings.Contains(out, scaled) || !strings.Contains(out, guarded) {
			t.Errorf("%s does not tell %q and %q:\n%s", verb, scaled, guarded, out)
		}
	}
	// A ReplicaSet is owned by its Deployment.
	cluster.Apply(t, ns, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: web, image: web}]}}}}`)
	set := ""
	harness.Eventually(t, "the ReplicaSet exists", func() bool {
		set = harness.Must(t, cluster.Kubectl(t, ns, "get", "replicasets", "-o", "jsonpath={.items[*].metadata.name}"))
		return set != ""
	})
	if out := cluster.Imoocpod(t, ns, "status", "replicaset/"+set); !strings.Contains(out, "note: Deployment/web owns it and may reset its replica count\n") {
		t.Errorf("status of a ReplicaSet says\n%s", out)
	}
}

// An object of a foreign kind whose schema has observedGeneration or conditions is not
// ready until they are set, whatever the counts are.
func TestNotReadyUnlessSeen(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	installKinds(t)
	unseen := func(object, reason string, code problem.Code) {
		t.Helper()
		// A controller is reported as absent only some time after a change.
		out := cluster.Imoocpod(t, ns, "status", object, "-o", "jsonpath={.verdict}, {.reasonCode}: {.reason}")
		if absent, soon := string(status.NotReconciled), string(status.Progressing); !strings.HasPrefix(out, absent+", "+string(code)+": "+reason) && !strings.HasPrefix(out, soon+", "+string(code)+": "+reason) {
			t.Errorf("%s is %s; want %s: %s", object, out, code, reason)
		}
	}
	write := func(object, fields string) {
		t.Helper()
		harness.Must(t, cluster.Kubectl(t, ns, "patch", object, "--subresource=status", "--type=merge", "-p", `{"status":`+fields+`}`))
	}
	const widget, panel = "widgets.plain.example.com/it", "panels.seen.example.com/it"

	// Widgets do not report ready pods, so the pods that they own are counted.
	cluster.CreateObject(t, ns, "widgets.plain.example.com", "{apiVersion: plain.example.com/v1, kind: Widget, metadata: {name: it}, spec: {replicas: 0}}")
	unseen(widget, "no controller has seen it yet", problem.CodeNeverSeen)
	write(widget, `{"replicas":0}`)
	unseen(widget, "its status does not say which generation its controller has seen; its status was last written by kubectl-patch ", problem.CodeNeverSeen)
	write(widget, `{"observedGeneration":1}`)
	explains(t, ns, widget, expected{status.Ready, problem.CodeReady, "scaled to zero", ""})
	cluster.Imoocpod(t, ns, "scale", widget, "--replicas", "1")
	unseen(widget, "its controller has not seen the last change (generation 2, observed 1)", problem.CodeGenerationNotSeen)
	write(widget, `{"observedGeneration":2}`)
	explains(t, ns, widget, expected{status.Progressing, problem.CodePodsMissing, "0 of 1 pods ready, 1 not yet created", ""})
	write(widget, `{"conditions":[{"type":"Stalled","status":"True","reason":"NoDisk","message":"the disk is full","lastTransitionTime":"2026-01-02T03:04:05Z"}]}`)
	explains(t, ns, widget, expected{status.Failed, problem.CodeReportedFailure, "NoDisk: the disk is full", ""})

	cluster.Apply(t, "", `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: panels.seen.example.com}
spec:
  group: seen.example.com
  names: {kind: Panel, plural: panels, singular: panel}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {replicas: {type: integer}}}
          status:
            type: object
            properties:
              replicas: {type: integer}
              readyReplicas: {type: integer}
              conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}`)
	cluster.AwaitEstablished(t, "crd/panels.seen.example.com")
	cluster.CreateObject(t, ns, "panels.seen.example.com", "{apiVersion: seen.example.com/v1, kind: Panel, metadata: {name: it}, spec: {replicas: 1}}")
	write(panel, `{"replicas":1,"readyReplicas":1}`)
	unseen(panel, "its status has no conditions yet; its status was last written by kubectl-patch ", problem.CodeNeverSeen)
	condition := func(is string, generation int) {
		t.Helper()
		write(panel, fmt.Sprintf(`{"conditions":[{"type":"Ready","status":"%s","reason":"Syncing","message":"the members elect","observedGeneration":%d,"lastTransitionTime":"2026-01-02T03:04:05Z"}]}`, is, generation))
	}
	condition("False", 1)
	explains(t, ns, panel, expected{status.Progressing, problem.CodeConditionFalse, "1 of 1 pods ready, but its condition Ready is False: Syncing: the members elect", ""})
	condition("True", 1)
	explains(t, ns, panel, expected{status.Ready, problem.CodeReady, "1 of 1 pods ready", ""})
	harness.Must(t, cluster.Kubectl(t, ns, "patch", panel, "--type=merge", "-p", `{"spec":{"replicas":2}}`))
	unseen(panel, "its controller has not seen the last change (generation 2, observed 1)", problem.CodeGenerationNotSeen)
}

// Objects that the user may not read are left out, with one message. The rest is
// reported.
func TestStatusWithFewRights(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Apply(t, ns, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: onlooker}
rules:
- {apiGroups: [batch.tutorial.kubebuilder.io], resources: [imoocpods], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [pods], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: onlooker}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: onlooker}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: onlooker}]`)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "1")
	for verb, said := range map[string]string{
		"status":   "\nnote: no permission to read events, leases in " + ns + ", horizontalpodautoscalers, poddisruptionbudgets; the reason may be incomplete\n",
		"describe": "\nNot Read:      events, leases in " + ns + ", horizontalpodautoscalers, poddisruptionbudgets (forbidden)\n",
	} {
		r := cluster.Kubectl(t, ns, "imoocpod", verb, "foo", "--as", "onlooker")
		if r.Code != 0 || r.Stderr != "" || !strings.Contains(r.Stdout, "not reconciled: no controller has seen it yet\n") || !strings.Contains(r.Stdout, said) {
			t.Errorf("%s: exit code %d, said %q, printed\n%s\nwant %q in it", r.Line, r.Code, r.Stderr, r.Stdout, said)
		}
	}
}
