package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// stepped is a reconciled object with a count.
type stepped struct {
	resource, name string
	// object is its name in messages.
	object string
	// path is the path of its count; flag means that only a flag identifies it.
	path string
	flag bool
	// merge is a merge patch that sets the count.
	merge string
}

// args returns the arguments that identify the object and its count.
func (s stepped) args() []string {
	if s.flag {
		return []string{s.resource + "/" + s.name, "--replicas-path", s.path}
	}
	return []string{s.resource + "/" + s.name}
}

func (s stepped) get(t *testing.T, ns string) *unstructured.Unstructured {
	t.Helper()
	if s.resource == "imoocpod" {
		obj, err := cluster.Dynamic.Resource(kinds.ImoocPod().Resource).Namespace(ns).Get(t.Context(), s.name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return obj
	}
	return cluster.Object(t, ns, s.resource, s.name)
}

func (s stepped) count(t *testing.T, ns string) int64 {
	t.Helper()
	path, err := fieldpath.ParsePath(s.path)
	if err != nil {
		t.Fatal(err)
	}
	n, _, err := path.Get(s.get(t, ns).Object)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// set sets the count as another writer.
func (s stepped) set(t *testing.T, ns string, n int) {
	t.Helper()
	harness.Must(t, cluster.Kubectl(t, ns, "patch", s.resource, s.name, "--type=merge", "-p", fmt.Sprintf(s.merge, n)))
}

// steppedObjects creates a reconciled object of each sort: our own, built in, without
// /scale, and with a count in a list.
func steppedObjects(t *testing.T, ns string, n int) []stepped {
	t.Helper()
	installKinds(t)
	group := ns + ".example.com"
	cluster.Apply(t, "", gadget(group))
	removeCRD(t, "gadgets."+group)
	cluster.AwaitEstablished(t, "crd/gadgets."+group)
	cluster.StartRunController(t, ns)
	cluster.StartRunController(t, ns, "--kinds", "gadgets."+group).AwaitOutput("in namespace " + ns)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", fmt.Sprint(n))
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "web", n))
	cluster.CreateObject(t, ns, "gadgets."+group, fmt.Sprintf(`{apiVersion: %s/v1, kind: Gadget, metadata: {name: it}, spec: {size: %d, pod: {spec: {containers: [{name: main, image: web}]}}}}`, group, n))
	search := cluster.CreateObject(t, ns, "searches.array.example.com", fmt.Sprintf(`{apiVersion: array.example.com/v1, kind: Search, metadata: {name: logs}, spec: {version: v1, nodeSets: [{name: hot, count: %d}]}}`, n))
	all := []stepped{
		{"imoocpod", "foo", "imoocpod/foo", ".spec.replicas", false, `{"spec":{"replicas":%d}}`},
		{"deployments.apps", "web", "deployment/web", ".spec.replicas", false, `{"spec":{"replicas":%d}}`},
		{"gadgets." + group, "it", "gadget/it", ".spec.size", false, `{"spec":{"size":%d}}`},
		{"searches.array.example.com", "logs", "search/logs", `.spec.nodeSets[?(@.name=="hot")].count`, true, `{"spec":{"nodeSets":[{"name":"hot","count":%d}]}}`},
	}
	operate(t, ns, search, all[3])
	return all
}

// operate simulates an operator that keeps as many pods as an object requests. It calls
// the server only if the object has changed or a request was refused: parallel subtests
// may start much later.
func operate(t *testing.T, ns string, owner *unstructured.Unstructured, s stepped) {
	t.Helper()
	path, err := fieldpath.ParsePath(s.path)
	if err != nil {
		t.Fatal(err)
	}
	objects, pods := cluster.Dynamic.Resource(harness.Resource(s.resource)).Namespace(ns), cluster.Core.Pods(ns)
	named := fields.OneTermEqualSelector(metav1.ObjectNameField, s.name).String()
	ctx, stop := context.WithCancel(context.Background())
	// An informer lists again when a watch has expired.
	_, _, changes, ended := watchtools.NewIndexerInformerWatcherWithLogger(klog.FromContext(ctx), &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = named
			return objects.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = named
			return objects.Watch(ctx, options)
		},
	}, &unstructured.Unstructured{})
	// keep reports whether work remains although the object does not change.
	keep := func(n int64) (unfinished bool) {
		found, err := pods.List(ctx, metav1.ListOptions{})
		if err != nil {
			return true
		}
		ending := map[string]bool{}
		for i := range found.Items {
			ending[found.Items[i].Name] = found.Items[i].DeletionTimestamp != nil
		}
		for slot := range int64(10) {
			name := fmt.Sprintf("%s-%d", s.name, slot)
			wanted := slot < n
			gone, exists := ending[name]
			switch {
			case wanted && !exists:
				_, err = pods.Create(ctx, &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())}},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web"}}},
				}, metav1.CreateOptions{})
			case !wanted && exists && !gone:
				err = pods.Delete(ctx, name, metav1.DeleteOptions{})
			}
			unfinished = unfinished || err != nil || wanted && gone
		}
		return unfinished
	}
	var running sync.WaitGroup
	running.Go(func() {
		obj := owner
		for {
			n, _, _ := path.Get(obj.Object)
			var again <-chan time.Time
			if keep(n) {
				again = time.After(100 * time.Millisecond)
			}
			select {
			case change := <-changes.ResultChan():
				if now, is := change.Object.(*unstructured.Unstructured); is {
					obj = now
				}
			case <-again:
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
		changes.Stop()
		<-ended
	})
}

// A count changes in steps, each when the pods of the previous one are ready or gone.
func TestScaleInSteps(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	for _, s := range steppedObjects(t, ns, 1) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for _, step := range []struct {
				args string
				want string
				left int64
			}{
				{"--replicas 6 --step 2 --settle 1s", `1 → 3 → 5 → 6, each when ready for 1s
3 ready \(\d+s\)
5 ready \(\d+s\)
6 ready \(\d+s\)
`, 6},
				{"--by=-4 --step 50% --parallel", `6 → 4 → 2, each when ready
4 ready \(\d+s\)
2 ready \(\d+s\)
`, 2},
				{"--replicas 2 --step 5", `2 → 2, when ready
2 ready \(\d+s\)
`, 2},
				{"--replicas 9 --step 3 --dry-run=server", `2 → 5 → 8 → 9 \(server dry run\), each when ready
2 → 9 \(server dry run\)
`, 2},
			} {
				r := cluster.Kubectl(t, ns, append(append([]string{"imoocpod", "scale"}, s.args()...), append(harness.Words(step.args), "--timeout", "2m")...)...)
				said := regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(s.object)+`: `).ReplaceAllString(r.Stderr, "")
				said = regexp.MustCompile(`(?m)^.*(is progressing|progressing: |replica field |not reconciled: |ready: \d).*\n`).ReplaceAllString(said, "")
				if harness.Must(t, r); !regexp.MustCompile("^" + step.want + "$").MatchString(said) {
					t.Errorf("%s said\n%s", r.Line, r.Stderr)
				}
				if got := s.count(t, ns); got != step.left {
					t.Errorf("%s left %d", r.Line, got)
				}
			}
		})
	}
}

// A step whose pods do not become ready ends the command, and the count stays or is
// reverted.
func TestStepFails(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.StartRunController(t, ns)
	cluster.Imoocpod(t, ns, "create", "sick", "--replicas", "0", "--image", "no-such-image")
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "web", 1))
	quota(t, ns, "4")
	for _, test := range []struct {
		args, want string
		left       int64
		code       int
	}{
		{"imoocpod/sick --replicas 4 --step 2", `(?s)^imoocpod/sick: 0 → 2 → 4, each when ready\n.*imoocpod/sick: stopped at 2 on the way to 4
hint: to continue: kubectl imoocpod scale imoocpods.batch.tutorial.kubebuilder.io/sick -n NS --replicas 4 --step 2 --timeout 2m0s --fail-after 1s
hint: to go back: kubectl imoocpod scale imoocpods.batch.tutorial.kubebuilder.io/sick -n NS --replicas 0
error: imoocpod/sick has failed: .*no-such-image`, 2, harness.ExitFailed},
		{"imoocpod/sick --replicas 4 --step 1 --on-failure revert", `(?s)^imoocpod/sick: 2 → 3 → 4, .*imoocpod/sick: reverted to 2\nerror: imoocpod/sick has failed: `, 2, harness.ExitUndone},
		{"deployment/web imoocpod/sick --replicas 5 --step 1 --on-failure=revert", `(?s)deployment/web: 2 ready .*deployment/web: reverted to 2
imoocpod/sick: not scaled, because deployment/web has not come to its count
error: deployment/web has failed: .*exceeded quota`, 2, harness.ExitUndone},
	} {
		r := cluster.Kubectl(t, ns, append([]string{"imoocpod", "scale"}, append(harness.Words(test.args), "--fail-after", "1s", "--timeout", "2m")...)...)
		if r.Code != test.code || !regexp.MustCompile(strings.ReplaceAll(test.want, "NS", ns)).MatchString(r.Stderr) {
			t.Errorf("%s: exit code %d, said\n%s", r.Line, r.Code, r.Stderr)
		}
		if got := int64(*cluster.ImoocPod(t, ns, "sick").Spec.Replicas); got != test.left {
			t.Errorf("%s left %d", r.Line, got)
		}
	}
}

// Another writer ends the steps, and its count is kept. After an interrupted or killed
// command, the same command continues from the current count.
func TestStepsInterrupted(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "0") // no controller reconciles it yet
	start := func() *harness.Process {
		t.Helper()
		w := cluster.StartPlugin(t, "scale", "foo", "-n", ns, "--replicas", "6", "--step", "2", "--on-failure", "revert", "--fail-after", "1h")
		w.AwaitOutput("imoocpod/foo: ")
		return w
	}
	count := func() int32 { return *cluster.ImoocPod(t, ns, "foo").Spec.Replicas }
	w := start()
	harness.Eventually(t, "the first step is made", func() bool { return count() == 2 })
	setReplicas(t, ns, "foo", "rival", 5)
	if code := w.Wait(); code != harness.ExitOverwritten || count() != 5 {
		t.Errorf("exit code %d, and the count is %d", code, count())
	}
	setReplicas(t, ns, "foo", "rival", 0)
	w = start()
	harness.Eventually(t, "the first step is made", func() bool { return count() == 2 })
	w.AwaitOutput("not reconciled")
	if code := w.Stop(); code != harness.ExitInterrupted || count() != 2 {
		t.Errorf("exit code %d, and the count is %d", code, count())
	}
	w.AwaitOutput("imoocpod/foo: stopped at 2 on the way to 6")
	w.AwaitOutput("hint: to continue: kubectl imoocpod scale imoocpods.batch.tutorial.kubebuilder.io/foo -n " + ns + " --replicas 6 --step 2 --fail-after 1h0m0s --on-failure=revert")
	w = start()
	harness.Eventually(t, "the next step is made", func() bool { return count() == 4 })
	w.Kill()
	cluster.StartRunController(t, ns)
	w = start()
	if code := w.Wait(); code != 0 || count() != 6 {
		t.Errorf("exit code %d, and the count is %d", code, count())
	}
	w.AwaitOutput("imoocpod/foo: 4 → 6, when ready")
}

// A step down that would violate a disruption budget is refused.
func TestStepsHeedBudgets(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "web", 4))
	cluster.Apply(t, ns, `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: guard}, spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}}`)
	cluster.Imoocpod(t, ns, "wait", "deployment/web", "--timeout", "2m")
	r := cluster.Kubectl(t, ns, "imoocpod", "scale", "deployment/web", "--replicas", "0", "--step", "1")
	refused := `(?s)deployment/web: 2 ready .*deployment/web: stopped at 2 on the way to 0\n.*error: refused: a step down to 1 of deployment/web would break a disruption budget: PodDisruptionBudget/guard requires 2 available pods, and 1 would be left
hint: to ignore disruption budgets, use --ignore-budgets\n$`
	if r.Code != harness.ExitPrecondition || !regexp.MustCompile(refused).MatchString(r.Stderr) {
		t.Errorf("exit code %d, said\n%s", r.Code, r.Stderr)
	}
	// Without the right to read budgets, it is refused, too.
	cluster.Apply(t, ns, fmt.Sprintf(`
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: scaler}, rules: [{apiGroups: [apps], resources: ["*"], verbs: ["*"]}, {apiGroups: [""], resources: [pods], verbs: ["*"]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: scaler}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: scaler}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: scaler-%s}]}`, ns))
	scaler := "scaler-" + ns
	harness.Eventually(t, "scaler has rights", func() bool {
		return cluster.Kubectl(t, ns, "auth", "can-i", "patch", "deployments.apps", "--subresource=scale", "--as", scaler).Code == 0
	})
	r = cluster.Kubectl(t, ns, "imoocpod", "scale", "deployment/web", "--replicas", "1", "--step", "1", "--as", scaler)
	if r.Code != harness.ExitPrecondition || !strings.Contains(r.Stderr, "error: refused: no permission to list poddisruptionbudgets, so a step down to 1 of deployment/web may break a disruption budget\nhint: ") {
		t.Errorf("exit code %d, said\n%s", r.Code, r.Stderr)
	}
	harness.Must(t, cluster.Kubectl(t, ns, "imoocpod", "scale", "deployment/web", "--replicas", "0", "--step", "1", "--ignore-budgets"))
	if got := replicasOf(cluster.Object(t, ns, "deployments.apps", "web")); got != 0 {
		t.Errorf("%d replicas are left", got)
	}
}
