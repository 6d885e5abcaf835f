package e2e

import (
	"fmt"
	"slices"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// kindStory describes how to use one of the four shipped kinds from the command line.
type kindStory struct {
	kind kinds.Kind
	// create holds the arguments to create an object, with two pods if the kind has a replica count.
	create string
	// image is the format of a merge patch that sets the image, or "" if the image cannot change.
	image string
	// deployment is the name of the Deployment that owns the pods, or "".
	deployment string
}

func kindStories() []kindStory {
	return []kindStory{
		{kinds.ImoocPod(), "imoocpod/foo --replicas 2 --image first", `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":%q}]}}}}`, ""},
		{kinds.AppService(), "appservice/foo --replicas 2 --image first --set .spec.deploymentName=web", `{"spec":{"image":%q}}`, "web"},
		{kinds.HelloWorld(), "helloworld/foo --replicas 2", "", "foo"},
		{kinds.MyDaemonSet(), "mydaemonset/foo --image first", `{"spec":{"image":%q}}`, ""},
	}
}

// TestEveryKind uses each shipped kind from the command line with a real controller. As far as the kind allows, it
// creates, scales, restarts, updates, breaks, and fixes an object, deletes a pod, and deletes the object with each
// value of --cascade. It kills the controller during a scale and during a restart. A witness watches the pods.
func TestEveryKind(t *testing.T) {
	t.Parallel()
	for _, story := range kindStories() {
		t.Run(story.kind.Kind, func(t *testing.T) {
			t.Parallel()
			story.run(t)
		})
	}
}

func (s kindStory) run(t *testing.T) {
	ns := cluster.NewNamespace(t)
	w := cluster.WatchPods(t, ns)
	process := cluster.StartRunController(t, ns)
	object := s.kind.String() + "/foo"
	cluster.Imoocpod(t, ns, append([]string{"create"}, harness.Words(s.create)...)...)
	foo := cluster.Owner(t, ns, s.kind, "foo")
	n := 2
	if s.kind.Mapping.Strategy == kinds.StrategyNodes {
		n = untaintedNodes(t)
	}
	has := func(n int, what string) {
		t.Helper()
		harness.Eventually(t, fmt.Sprintf("foo has %d pods (%s)", n, what), func() bool { return len(foo.LivePods()) == n })
		foo.AwaitReady(what)
	}
	has(n, "created")

	// Scale, and kill the controller in the middle.
	if s.kind.Path() != nil {
		cluster.Imoocpod(t, ns, "scale", object, "--replicas", "4", "--timeout", "2m")
		has(4, "scaled up")
		cluster.Imoocpod(t, ns, "scale", object, "--replicas", "0", "--timeout", "2m")
		has(0, "scaled to zero")
		cluster.Imoocpod(t, ns, "scale", object, "--replicas", "30")
		harness.Eventually(t, "some pods exist", func() bool { return len(foo.LivePods()) > 0 })
		process.Kill()
		process = cluster.StartRunController(t, ns)
		has(30, "after a kill")
		n = 4
		cluster.Imoocpod(t, ns, "scale", object, "--replicas", fmt.Sprint(n))
		has(n, "scaled down")
	}

	// Restart, and kill the controller in the middle. All old pods are still replaced.
	before := uidsOf(foo.LivePods())
	cluster.Imoocpod(t, ns, "restart", object)
	harness.Eventually(t, "the first pod is replaced", func() bool {
		return slices.ContainsFunc(foo.LivePods(), func(p corev1.Pod) bool { return !slices.Contains(before, p.UID) })
	})
	process.Kill()
	process = cluster.StartRunController(t, ns)
	harness.Eventually(t, "all pods are replaced", func() bool {
		now := foo.LivePods()
		return len(now) == n && !slices.ContainsFunc(now, func(p corev1.Pod) bool { return slices.Contains(before, p.UID) })
	})
	has(n, "restarted")

	if s.image != "" {
		s.images(t, w, process, foo, n)
	}

	// A user deletes a pod.
	victim := foo.LivePods()[0]
	harness.Must(t, cluster.Kubectl(t, ns, "delete", "pod", victim.Name, "--wait=false"))
	harness.Eventually(t, "the deleted pod is replaced", func() bool {
		now := foo.LivePods()
		return len(now) == n && !slices.Contains(uidsOf(now), victim.UID)
	})
	foo.AwaitReady("a pod was deleted")

	s.delete(t, foo, n)
	process.Stop()
}

// images sets a valid image, then sets an image that cannot be pulled, and undoes the second change.
// The broken rollout must stop after the first pods.
func (s kindStory) images(t *testing.T, w *harness.Witness, p *harness.Process, foo *harness.Owner, n int) {
	t.Helper()
	of := func(image string) int {
		count := 0
		for _, pod := range foo.LivePods() {
			if pod.Spec.Containers[0].Image == image {
				count++
			}
		}
		return count
	}
	object := s.kind.String() + "/foo"
	cluster.Imoocpod(t, foo.Namespace, "set", "image", object, "second", "--timeout", "2m")
	harness.Eventually(t, "all pods have the second image", func() bool { return of("second") == n && len(foo.LivePods()) == n })

	fewest := w.FewestHealthy()
	foo.Patch(s.image, "no-such-image")
	harness.Eventually(t, "a pod waits for its image", func() bool { return of("no-such-image") > 0 })
	harness.Eventually(t, "the object is not ready", func() bool { return foo.Condition("Ready").Status == metav1.ConditionFalse })
	if s.deployment == "" {
		p.AwaitOutput("cannot pull its image")
	}
	w.AwaitQuiet(t, harness.QuietFor)
	// Up to a quarter of the pods, rounded down but at least one, are allowed to be unavailable.
	if now := fewest(); now < n-max(1, n/4) {
		t.Errorf("as few as %d of %d pods were healthy during a broken rollout, want at least %d", now, n, n-max(1, n/4))
	}
	made := w.EverCreated(foo.Get().GetUID())
	broken := of("no-such-image")
	cluster.Imoocpod(t, foo.Namespace, "undo", object, "--timeout", "2m")
	harness.Eventually(t, "all pods have the second image again", func() bool { return of("second") == n && len(foo.LivePods()) == n })
	if more := w.EverCreated(foo.Get().GetUID()) - made; s.deployment == "" && more != broken {
		t.Errorf("undo created %d pods, want %d, which is the number of broken pods", more, broken)
	}
}

// delete deletes the object with each value of --cascade, and creates it again.
func (s kindStory) delete(t *testing.T, foo *harness.Owner, n int) {
	t.Helper()
	object := s.kind.String() + "/foo"
	again := func() {
		t.Helper()
		cluster.Imoocpod(t, foo.Namespace, append([]string{"create"}, harness.Words(s.create)...)...)
		if s.kind.Path() != nil {
			n = 2
		}
	}
	for _, cascade := range []string{"foreground", "background"} {
		cluster.Imoocpod(t, foo.Namespace, "delete", object, "--cascade="+cascade)
		harness.Eventually(t, "no pod is left after --cascade="+cascade, func() bool {
			return len(foo.LivePods()) == 0 && (s.deployment == "" || foo.Deployment(s.deployment) == nil)
		})
		again()
		harness.Eventually(t, "the new object has all its pods", func() bool { return len(foo.LivePods()) == n })
		foo.AwaitReady("after --cascade=" + cascade)
	}
	left := uidsOf(foo.LivePods())
	cluster.Imoocpod(t, foo.Namespace, "delete", object, "--cascade=orphan")
	again()
	if s.deployment == "" {
		// The pods of the new object have different names.
		harness.Eventually(t, "the new object has pods of its own", func() bool { return len(foo.LivePods()) == n+len(left) })
		foo.AwaitReady("beside the orphaned pods")
	} else {
		harness.Eventually(t, "the orphaned Deployment is reported as a name conflict", func() bool { return foo.Condition("ReplicaFailure").Reason == "NameTaken" })
		harness.Must(t, cluster.Kubectl(t, foo.Namespace, "delete", "deployment", s.deployment, "--cascade=orphan"))
		harness.Eventually(t, "the new object has a Deployment of its own", func() bool { d := foo.Deployment(s.deployment); return d != nil && foo.Owns(d) })
		foo.AwaitReady("its own Deployment")
	}
	for _, uid := range left {
		if !slices.Contains(uidsOf(foo.LivePods()), uid) {
			t.Errorf("the orphaned pod %s was deleted", uid)
		}
	}
}

func uidsOf(pods []corev1.Pod) []types.UID {
	var uids []types.UID
	for _, pod := range pods {
		uids = append(uids, pod.UID)
	}
	return uids
}

func untaintedNodes(t *testing.T) int {
	t.Helper()
	list, err := cluster.Core.Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, node := range list.Items {
		if len(node.Spec.Taints) == 0 {
			n++
		}
	}
	return n
}
