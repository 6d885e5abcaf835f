package status

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// lookedAt returns the time at which the objects in testdata are looked at.
func lookedAt() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// recorded returns the pods, events, and nodes in a file of testdata, as if they belonged to an
// object that wants as many pods as the file has.
func recorded(t *testing.T, name string) Snapshot {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	e := Snapshot{Nodes: map[string]*corev1.Node{}, Now: lookedAt()}
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
			e.Events = append(e.Events, corev1.Event{})
			read(&e.Events[len(e.Events)-1])
		case "Node":
			var node corev1.Node
			read(&node)
			e.Nodes[node.Name] = &node
		default:
			t.Fatalf("%s: a %q", name, head.Kind)
		}
	}
	e.Pods = problem.NewPods(pods)
	n := int32(len(pods))
	e.Object = Object{Identity: Identity{Type: "imoocpod.x", Kind: "ImoocPod", Namespace: "shop", Name: "foo", UID: "owner"}, Counts: Counts{Desired: n, Current: n}, Evidence: Evidence{Generation: 1, ObservedGeneration: 1}}
	return e
}

// A report finds each reason why pods do not become ready. The objects are as the kubelet, the
// scheduler, and the node controller write them.
func TestProblems(t *testing.T) {
	t.Parallel()
	const fatal, passing = true, false
	for name, want := range map[string]struct {
		code   problem.Code
		fatal  bool
		line   string
		hint   string
		since  string
		events int
	}{
		"config-error": {
			problem.CodeConfigError, fatal,
			`pod foo-2d5dfdbb-0: container web cannot be configured: secret "shop-key" not found`,
			"create the missing object or fix the pod template; kubectl get secrets,configmaps -n shop",
			"03:00:01", 0,
		},
		"crash-first": {
			problem.CodeCrashLoop, passing,
			"pod foo-2d5dfdbb-0: container web crashes: no restart yet, last exit code 1",
			"kubectl imoocpod logs imoocpod/foo -n shop --failing",
			"03:00:01", 0,
		},
		"crash-loop-running": {
			problem.CodeCrashLoop, fatal,
			"pod foo-2d5dfdbb-0: container web crashes: 4 restarts, last exit code 0 (Completed)",
			"kubectl imoocpod logs imoocpod/foo -n shop --failing",
			"03:00:01", 0,
		},
		"crash-loop": {
			problem.CodeCrashLoop, fatal,
			"2 of 3 pods: container web crashes: 7 restarts, last exit code 3",
			"kubectl imoocpod logs imoocpod/foo -n shop --failing",
			"03:00:01", 0,
		},
		"evicted": {
			problem.CodePodEnded, passing,
			"pod foo-2d5dfdbb-0: ended: Evicted: The node was low on resource: memory.",
			"",
			"03:00:00", 0,
		},
		"finalizer": {
			problem.CodeFinalizer, fatal,
			"pod foo-2d5dfdbb-0: a finalizer is still pending: example.com/backup",
			`its controller must remove it; if that controller no longer exists: kubectl patch pods foo-2d5dfdbb-0 -n shop --type=merge -p '{"metadata":{"finalizers":null}}'`,
			"03:01:00", 0,
		},
		"image-name": {
			problem.CodeInvalidImageName, fatal,
			`pod foo-2d5dfdbb-0: container web has an invalid image name: "Registry.example.com/Shop:v2:v3"`,
			"fix the image in the pod template",
			"03:00:01", 0,
		},
		"image-never": {
			problem.CodeImagePullFailed, fatal,
			"pod foo-2d5dfdbb-0: container web needs image registry.example.com/shop/web:v2, which is not on the node, and imagePullPolicy is Never",
			"load the image onto the node, or change imagePullPolicy",
			"03:00:01", 0,
		},
		"image-pull-old": {
			problem.CodeImagePullFailed, fatal,
			`pod foo-2d5dfdbb-0: container web cannot pull its image registry.example.com/shop/web:v2: failed to pull and unpack image "registry.example.com/shop/web:v2": failed to resolve reference "registry.example.com/shop/web:v2": registry.example.com/shop/web:v2: not found`,
			"check the image name and imagePullSecrets: kubectl describe pod foo-2d5dfdbb-0 -n shop",
			"03:00:01", 2,
		},
		"image-pull": {
			problem.CodeImagePullFailed, fatal,
			`2 of 2 pods: container web cannot pull its image registry.example.com/shop/web:v2: failed to pull and unpack image "registry.example.com/shop/web:v2": failed to resolve reference "registry.example.com/shop/web:v2": registry.example.com/shop/web:v2: not found`,
			"check the image name and imagePullSecrets: kubectl describe pod foo-2d5dfdbb-0 -n shop",
			"03:00:01", 0,
		},
		"init-crash": {
			problem.CodeCrashLoop, fatal,
			"pod foo-2d5dfdbb-0: init container migrate crashes: 3 restarts, last exit code 1",
			"kubectl imoocpod logs imoocpod/foo -n shop --failing",
			"03:00:01", 0,
		},
		"init-image": {
			problem.CodeImagePullFailed, fatal,
			"pod foo-2d5dfdbb-0: init container migrate cannot pull its image migrate: pull access denied, repository does not exist or may require authorization",
			"check the image name and imagePullSecrets: kubectl describe pod foo-2d5dfdbb-0 -n shop",
			"03:00:01", 0,
		},
		"init-running": {
			problem.CodeInitNotDone, passing,
			"pod foo-2d5dfdbb-0: init container migrate is running, 1 of 2 done",
			"kubectl imoocpod logs imoocpod/foo -n shop --failing -c migrate",
			"03:00:01", 0,
		},
		"node-gone": {
			problem.CodeNodeLost, fatal,
			"pod foo-2d5dfdbb-0: its node node-1 no longer exists",
			"kubectl get nodes; kubectl describe node node-1",
			"03:01:00", 0,
		},
		"node-lost": {
			problem.CodeNodeLost, fatal,
			"pod foo-2d5dfdbb-0: Node node-1 which was running pod foo-2d5dfdbb-0 is unresponsive",
			"kubectl get nodes; kubectl describe node node-1",
			"03:00:01", 0,
		},
		"node-not-ready": {
			problem.CodeNodeLost, fatal,
			"pod foo-2d5dfdbb-0: its node node-1 is not ready: Kubelet stopped posting node status.",
			"kubectl get nodes; kubectl describe node node-1",
			"03:01:00", 0,
		},
		"one-of-two": {
			problem.CodeContainersNotReady, passing,
			"pod foo-2d5dfdbb-0: 1 of 2 containers ready, waiting for proxy",
			"kubectl imoocpod logs imoocpod/foo -n shop --failing -c proxy",
			"03:00:01", 0,
		},
		"out-of-memory": {
			problem.CodeOutOfMemory, fatal,
			"pod foo-2d5dfdbb-0: container web runs out of memory: 3 restarts, last exit code 137 (OOMKilled)",
			"raise its memory limit in the pod template, or reduce its memory use",
			"03:00:01", 0,
		},
		"probe-before-restart": {
			problem.CodeContainersNotReady, passing,
			"pod foo-2d5dfdbb-0: container web is not ready",
			"kubectl imoocpod logs imoocpod/foo -n shop --failing -c web",
			"03:00:01", 1,
		},
		"probe": {
			problem.CodeProbeFailed, passing,
			`2 of 2 pods: container web is not ready: Readiness probe failed: Get "http://10.64.0.7:8080/ready": dial tcp 10.64.0.7:8080: connect: connection refused`,
			"kubectl imoocpod logs imoocpod/foo -n shop --failing -c web",
			"03:00:01", 1,
		},
		"readiness-gate": {
			problem.CodeReadinessGate, passing,
			"pod foo-2d5dfdbb-0: its readiness gate example.com/in-balancer is not True",
			"",
			"03:00:01", 0,
		},
		"sandbox": {
			problem.CodeSandboxFailed, fatal,
			`pod foo-2d5dfdbb-0: cannot create the pod sandbox: Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "1f": plugin type="calico" failed (add): connection is unauthorized`,
			"kubectl describe pod foo-2d5dfdbb-0 -n shop",
			"03:00:01", 1,
		},
		"scheduling-gated": {
			problem.CodeSchedulingGated, passing,
			"pod foo-2d5dfdbb-0: its scheduling gates have not been removed",
			"",
			"03:00:00", 0,
		},
		"start-failed": {
			problem.CodeStartFailed, fatal,
			`pod foo-2d5dfdbb-0: container web cannot start: failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: exec: "serve": executable file not found in $PATH`,
			"kubectl describe pod foo-2d5dfdbb-0 -n shop",
			"03:00:01", 0,
		},
		"terminating": {
			problem.CodeTerminating, fatal,
			"pod foo-2d5dfdbb-0: still terminating after its grace period: its node node-1 is not ready: Kubelet stopped posting node status.",
			"if its node will not come back: kubectl delete pod foo-2d5dfdbb-0 -n shop --force --grace-period=0",
			"03:01:00", 0,
		},
		"unschedulable-autoscaler": {
			problem.CodeUnschedulable, passing,
			"pod foo-2d5dfdbb-0: no node fits: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
			"kubectl get nodes; free resources, or request less in the pod template",
			"03:00:00", 1,
		},
		"unschedulable": {
			problem.CodeUnschedulable, fatal,
			"3 of 3 pods: no node fits: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
			"kubectl get nodes; free resources, or request less in the pod template",
			"03:00:00", 0,
		},
		"volume-attach": {
			problem.CodeVolumeNotMounted, fatal,
			`pod foo-2d5dfdbb-0: cannot mount a volume: Multi-Attach error for volume "pvc-1" Volume is already used by pod(s) other-0`,
			"kubectl describe pod foo-2d5dfdbb-0 -n shop",
			"03:00:01", 1,
		},
		"volume-mount-once": {
			problem.CodeVolumeNotMounted, passing,
			`pod foo-2d5dfdbb-0: cannot mount a volume: MountVolume.SetUp failed for volume "kube-api-access-x7z" : failed to sync configmap cache: timed out waiting for the condition`,
			"kubectl describe pod foo-2d5dfdbb-0 -n shop",
			"03:00:01", 1,
		},
		"volume-mount": {
			problem.CodeVolumeNotMounted, fatal,
			`pod foo-2d5dfdbb-0: cannot mount a volume: MountVolume.SetUp failed for volume "key" : secret "shop-key" not found`,
			"kubectl describe pod foo-2d5dfdbb-0 -n shop",
			"03:00:01", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := recorded(t, name)
			if name == "node-gone" {
				e.Nodes["node-1"] = nil
			}
			mustCarryFlags(t, e)
			r := NewReport(e)
			if len(r.Problems) != 1 {
				t.Fatalf("found %v, want one problem", r.Problems)
			}
			p := r.Problems[0]
			if since := p.Since.UTC().Format("15:04:05"); p.Code != want.code || p.Fatal != want.fatal || p.String() != want.line || p.Hint != want.hint || since != want.since || len(p.Events) != want.events {
				t.Errorf("found %s (fatal: %t) since %s with %d events: %s (%s)", p.Code, p.Fatal, since, len(p.Events), p, p.Hint)
			}
			verdict := Progressing
			if want.fatal {
				verdict = Failed
			}
			if r.Verdict != verdict || r.ReasonCode != want.code || r.Hint != want.hint || !strings.HasSuffix(r.Reason, want.line) {
				t.Errorf("the verdict is %s (%s): %s (%s)", r.Verdict, r.ReasonCode, r.Reason, r.Hint)
			}
		})
	}
}

// A pod that is starting or terminating normally has no problem.
func TestNoProblem(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]problem.Code{"creating": problem.CodePodsStarting, "terminating-in-time": problem.CodePodsStarting} {
		r := NewReport(recorded(t, name))
		if len(r.Problems) > 0 || r.Verdict != Progressing || r.ReasonCode != code {
			t.Errorf("%s: it is %s (%s), with %v", name, r.Verdict, r.ReasonCode, r.Problems)
		}
	}
}

// If pods cannot be created, the object or a child reports the reason in a condition or, without a
// condition, in its last event.
func TestRefusedPods(t *testing.T) {
	t.Parallel()
	const (
		quota   = `pods "web-5d9c-x2v" is forbidden: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2`
		policy  = `pods "web-5d9c-x2v" is forbidden: violates PodSecurity "restricted:latest": privileged (container "web" must not set securityContext.privileged=true)`
		webhook = `admission webhook "images.example.com" denied the request: no image of the wide world`
	)
	condition := func(kind, reason, message string) []metav1.Condition {
		return []metav1.Condition{{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(lookedAt().Add(-time.Minute))}}
	}
	event := func(uid types.UID, reason, message string, ago time.Duration) corev1.Event {
		at := metav1.NewTime(lookedAt().Add(-ago))
		return corev1.Event{InvolvedObject: corev1.ObjectReference{UID: uid}, Type: "Warning", Reason: reason, Message: message, FirstTimestamp: at, LastTimestamp: at}
	}
	set := Child{Kind: "ReplicaSet", Name: "web-5d9c", UID: "set", Controller: "owner"}
	failing := set
	failing.Conditions = condition("ReplicaFailure", "FailedCreate", quota)
	for name, test := range map[string]struct {
		conditions []metav1.Condition
		children   []Child
		events     []corev1.Event
		code       problem.Code
		reason     string
	}{
		"a quota": {
			conditions: condition("ReplicaFailure", "QuotaExceeded", quota),
			code:       problem.CodeQuotaExceeded, reason: "cannot create more pods: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2",
		},
		"a quota, said by both the object and its ReplicaSet": {
			conditions: condition("ReplicaFailure", "FailedCreate", quota), children: []Child{failing},
			code: problem.CodeQuotaExceeded, reason: "cannot create more pods: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2",
		},
		"a quota, said by the ReplicaSet alone": {
			children: []Child{failing},
			code:     problem.CodeQuotaExceeded, reason: "cannot create more pods: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2",
		},
		"a quota, said in an event": {
			events: []corev1.Event{event("owner", "SuccessfulCreate", "create Pod db-0", time.Hour), event("owner", "FailedCreate", "create Pod db-1 in StatefulSet db failed error: "+quota, time.Minute)},
			code:   problem.CodeQuotaExceeded, reason: "cannot create more pods: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2",
		},
		"a policy": {
			conditions: condition("ReplicaFailure", "Forbidden", policy),
			code:       problem.CodeAdmissionRefused, reason: `pods are rejected: violates PodSecurity "restricted:latest": privileged (container "web" must not set securityContext.privileged=true)`,
		},
		"a webhook": {
			children: []Child{set}, events: []corev1.Event{event("set", "FailedCreate", "Error creating: "+webhook, time.Minute)},
			code: problem.CodeAdmissionRefused, reason: "pods are rejected: " + webhook,
		},
		"a name": {
			conditions: condition("ReplicaFailure", "NameTaken", "the pod foo-1 is somebody else's"),
			code:       problem.CodeNameTaken, reason: "the pod foo-1 is somebody else's",
		},
		"something else": {
			conditions: condition("ReplicaFailure", "CreateRejected", "Pod is invalid: spec.containers: Required value"),
			code:       problem.CodeCreateFailed, reason: "cannot create pods: Pod is invalid: spec.containers: Required value",
		},
		"a failure that its controller reports": {
			conditions: condition("Stalled", "NoSuchChart", "the chart is not there"),
			code:       problem.CodeReportedFailure, reason: "NoSuchChart: the chart is not there",
		},
		"a deadline": {
			conditions: []metav1.Condition{{Type: "Progressing", Status: metav1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "it has timed out progressing."}},
			code:       problem.CodeDeadlineExceeded, reason: "ProgressDeadlineExceeded: it has timed out progressing.",
		},
	} {
		o := Object{Identity: Identity{UID: "owner", Namespace: "shop"}, Counts: Counts{Desired: 3, Current: 2, Ready: 2}, Evidence: Evidence{Generation: 1, ObservedGeneration: 1, Conditions: test.conditions}}
		r := NewReport(Snapshot{Object: o, Children: test.children, Events: test.events, Now: lookedAt()})
		if r.Verdict != Failed || r.ReasonCode != test.code || r.Reason != test.reason || len(r.Problems) != 1 || !r.Problems[0].Fatal || len(r.Problems[0].Pods) > 0 {
			t.Errorf("%s: it is %s (%s): %s; %d problems", name, r.Verdict, r.ReasonCode, r.Reason, len(r.Problems))
		}
	}
	// A refusal that is over, or an event about another object, does not count.
	o := Object{Identity: Identity{UID: "owner"}, Counts: Counts{Desired: 3, Current: 2, Ready: 2}, Evidence: Evidence{Generation: 1, ObservedGeneration: 1}}
	over := []corev1.Event{event("owner", "FailedCreate", quota, time.Hour), event("owner", "SuccessfulCreate", "", time.Minute), event("other", "FailedCreate", quota, time.Second)}
	if r := NewReport(Snapshot{Object: o, Events: over, Now: lookedAt()}); r.Verdict != Progressing || len(r.Problems) > 0 {
		t.Errorf("what is over makes it %s: %v", r.Verdict, r.Problems)
	}
}

// A passed deadline comes after other fatal problems, because the pods show its reason.
func TestOrderOfProblems(t *testing.T) {
	t.Parallel()
	e := recorded(t, "image-pull")
	e.Object.Conditions = []metav1.Condition{{Type: "Progressing", Status: metav1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "it has timed out progressing."}}
	probing := recorded(t, "probe").Pods[0].Object
	probing.Name, probing.UID = "probing", "probing"
	e.Pods = append(e.Pods, problem.NewPod(probing))
	r := NewReport(e)
	var codes []problem.Code
	for _, p := range r.Problems {
		codes = append(codes, p.Code)
	}
	if want := []problem.Code{problem.CodeImagePullFailed, problem.CodeDeadlineExceeded, problem.CodeContainersNotReady}; !slices.Equal(codes, want) || r.ReasonCode != problem.CodeImagePullFailed {
		t.Errorf("the problems are %v, want %v; the reason is %s", codes, want, r.ReasonCode)
	}
}

// The report on an object that is being deleted names what blocks it.
func TestDeleting(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ago        time.Duration
		finalizers []string
		verdict    Verdict
		code       problem.Code
		reason     string
	}{
		"just now":          {time.Second, nil, Progressing, problem.CodeDeleting, "it is being deleted"},
		"in the foreground": {time.Hour, []string{metav1.FinalizerDeleteDependents}, Progressing, problem.CodeDeleting, "it is being deleted"},
		"a finalizer at work": {time.Second, []string{"example.com/backup"}, Progressing, problem.CodeFinalizer,
			"it is being deleted; a finalizer is still pending: example.com/backup"},
		"a finalizer that nobody removes": {time.Hour, []string{metav1.FinalizerDeleteDependents, "example.com/backup", "example.com/x"}, Failed, problem.CodeFinalizer,
			"it is being deleted; finalizers are still pending: example.com/backup, example.com/x"},
	} {
		o := Object{Identity: Identity{Type: "lamp.example.com", Name: "it", Namespace: "shop", UID: "it", Deleted: lookedAt().Add(-test.ago), Finalizers: test.finalizers}, Counts: Counts{Desired: 3}}
		r := NewReport(Snapshot{Object: o, Now: lookedAt()})
		if r.Verdict != test.verdict || r.ReasonCode != test.code || r.Reason != test.reason {
			t.Errorf("%s: it is %s (%s): %s", name, r.Verdict, r.ReasonCode, r.Reason)
		}
		if hint := "kubectl patch lamp.example.com it -n shop "; test.code == problem.CodeFinalizer && !strings.Contains(r.Hint, hint) {
			t.Errorf("%s: the hint is %q, want %q in it", name, r.Hint, hint)
		}
	}
	// A pod that does not terminate blocks the foreground deletion of its owner.
	e := recorded(t, "finalizer")
	e.Object.Deleted = lookedAt().Add(-time.Hour)
	if r := NewReport(e); r.Verdict != Failed || r.ReasonCode != problem.CodeFinalizer || !strings.HasPrefix(r.Reason, "it is being deleted; pod foo-2d5dfdbb-0: ") {
		t.Errorf("held by a pod it is %s (%s): %s", r.Verdict, r.ReasonCode, r.Reason)
	}
}
