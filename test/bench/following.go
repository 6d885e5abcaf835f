package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// rollouts is an installation of Argo Rollouts.
type rollouts struct {
	// programs is the directory of its binaries, and crds is the directory of its CRDs. If programs
	// is empty, Argo Rollouts is not measured.
	programs, crds string
}

const rolloutKind = "Rollout"

// rollout returns the subject for Rollouts, whose controller creates ReplicaSets. The built-in
// ReplicaSet controller creates the pods without rate limits.
func (b *bench) rollout() subject {
	s := b.lifted()
	s.resource = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "rollouts"}
	s.kind = rolloutKind
	return s
}

// startRollouts installs the CRDs, and starts the controller when the kind is served.
func (b *bench) startRollouts(ctx context.Context) *process {
	files := must(filepath.Glob(filepath.Join(b.rollouts.crds, "*-crd.yaml")))
	args := []string{"apply", "--server-side"}
	for _, file := range files {
		args = append(args, "-f", file)
	}
	b.run(ctx, "kubectl", args...)
	b.untilServed(ctx, b.rollout())
	// Port -1 disables the metrics and health servers, which would listen on all addresses.
	return b.start(b.command(ctx, filepath.Join(b.rollouts.programs, "rollouts-controller"),
		"--kubeconfig="+b.kubeconfig, "--leader-elect=false", "--metricsPort=-1", "--healthzPort=-1", "--loglevel=warn"))
}

// cloneSet returns the subject for a custom kind without a controller. The benchmark creates its pods.
func cloneSet() subject {
	return subject{
		name: "CloneSet", agent: "bench", concurrency: 64, kind: "CloneSet", namespace: namespace,
		resource: schema.GroupVersionResource{Group: "bench.example.com", Version: "v1", Resource: "clonesets"},
	}
}

// following is the cost of following an object while its pods start.
type following struct {
	kind string
	size followedSize
	by   caller
	// received is the number of bytes that the server sent.
	received int64
	used     usage
}

// followedSize holds the numbers of starting pods, unrelated pods, and rounds.
type followedSize struct{ pods, others, rounds int }

func received(f following) float64 { return float64(f.received) }
func cpuTime(f following) float64  { return f.used.cpu }

// compareFollowing follows objects while their pods start. It alternates between the plugin, which
// follows an object, and kubectl, which follows the pods of the object.
func (b *bench) compareFollowing(ctx context.Context) []goal {
	anything := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	b.makeKind(ctx, cloneSet(), nil,
		map[string]any{"scale": map[string]any{
			"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
		}},
		map[string]any{"selector": anything, "template": anything})
	subjects := []subject{b.ours(), b.deployment(), cloneSet()}
	if b.rollouts.programs != "" {
		controller := b.startRollouts(ctx)
		defer controller.stop()
		subjects = append(subjects, b.rollout())
	}
	sizes := sized(b, []followedSize{{500, 0, 3}, {500, 5000, 3}}, []followedSize{{10, 0, 1}, {10, 10, 1}})
	var all []following
	for _, size := range sizes {
		b.makeOthers(ctx, size.others)
		for _, s := range subjects {
			alternate(size.rounds, []caller{direct, kubectl}, func(_ int, by caller) {
				f := b.followOne(ctx, s, size, by, fmt.Sprintf("followed-%d", len(all)))
				say("%5d pods of a %s, followed by %s: received %d kB", size.pods, s.kind, by, f.received/1000)
				all = append(all, f)
			})
		}
	}
	return followingGoals(all, sizes, subjects)
}

func followingGoals(all []following, sizes []followedSize, subjects []subject) (goals []goal) {
	values := func(kind string, size followedSize, by caller, value func(following) float64) []float64 {
		return valuesOf(slices.DeleteFunc(slices.Clone(all), func(f following) bool {
			return f.kind != kind || f.size != size || f.by != by
		}), value)
	}
	for _, size := range sizes {
		name := fmt.Sprintf("`status -w` of %d new pods", size.pods)
		if size.others > 0 {
			name += fmt.Sprintf(" beside %d others", size.others)
		}
		add := func(what string, most float64, value func(following) float64, by caller, other followedSize) {
			var ratios []ratio
			for _, s := range subjects {
				ours, theirs := values(s.kind, size, direct, value), values(s.kind, other, by, value)
				ratios = append(ratios, beside(s.kind+" %.2f ×", ours, theirs))
			}
			goals = append(goals, ratioGoal(name+": "+what, most, ratios...))
		}
		add("bytes received, beside `kubectl get pods -w`", 1.20, received, kubectl, size)
		add("CPU time, beside `kubectl get pods -w`", 1.00, cpuTime, kubectl, size)
		if size != sizes[0] {
			add("bytes received, beside those without the others", 1.05, received, direct, sizes[0])
		}
	}
	return goals
}

// makeOthers creates unrelated pods, and waits until they are ready, so that they do not change during the measurement.
func (b *bench) makeOthers(ctx context.Context, n int) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := b.watch(ctx, namespace, runLabel+"=others")
	b.createPods(ctx, 32, "others", nil, n)
	w.untilReady(ctx, n)
}

func (b *bench) removeOthers(ctx context.Context) {
	others := metav1.ListOptions{LabelSelector: runLabel + "=others"}
	check(b.account.core.Pods(namespace).DeleteCollection(ctx, atZero(), others))
}

// errEnded means that a command that follows objects exited early. The server closes slow watches,
// and kubectl exits when its watch is closed.
var errEnded = errors.New("the command exited early")

// followOne follows an object with the plugin or with kubectl. If the command exits early, followOne
// retries with another object.
func (b *bench) followOne(ctx context.Context, s subject, size followedSize, by caller, run string) (f following) {
	const most = 5
	for attempts := 1; ; attempts++ {
		err := attempt(func() { f = b.follow(ctx, s, fmt.Sprintf("%s-%d", run, attempts), size, by, true) })
		if !errors.Is(err, errEnded) || attempts == most {
			check(err)
			return f
		}
		say("%5d pods of a %s: %s exited before all pods were ready", size.pods, s.kind, by)
	}
}

// follow follows an object from zero pods until all are ready. If remove is true, it then deletes the object.
func (b *bench) follow(
	ctx context.Context, s subject, run string, size followedSize, by caller, remove bool,
) following {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := following{kind: s.kind, size: size, by: by}
	b.create(ctx, s, s.owner(run, 0))
	w := b.watchRun(ctx, s, run)
	l := b.launch(ctx, s)
	defer l.stop()
	m := b.newMeter()
	defer m.close()
	line := string(by) + " status " + s.typeWord() + "/" + run + " -w"
	if by == kubectl {
		line = string(by) + " get pods -l " + runLabel + "=" + run + " -w"
	}
	cmd := b.command(ctx, "sh", "-c", "exec "+line)
	cmd.Env = append(cmd.Env, "KUBECONFIG="+m.kubeconfig)
	p := b.start(cmd)
	defer p.stop()
	m.still(ctx, p)
	b.fill(ctx, s, run, size.pods, w)
	err := attempt(func() { m.still(ctx, p) })
	if err == nil {
		f.received, f.used = m.received.Load(), p.usage()
	}
	p.stop()
	if remove {
		b.delete(ctx, s, run)
		w.untilReady(ctx, 0)
		// Remaining events would slow down later measurements.
		ofOwners := metav1.ListOptions{FieldSelector: "involvedObject.kind!=Pod"}
		check(b.account.core.Events(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, ofOwners))
	}
	check(err)
	return f
}

// fill scales an object up from zero, and waits until its pods are ready. For a CloneSet, which has no
// controller, it creates the pods and updates the status.
func (b *bench) fill(ctx context.Context, s subject, run string, pods int, w *witness) {
	b.setReplicas(ctx, s, run, pods)
	if s.program != nil {
		w.untilReady(ctx, pods)
		return
	}
	b.createPods(ctx, s.concurrency, run, must(b.objects(s).Get(ctx, run, metav1.GetOptions{})), pods)
	w.untilReady(ctx, pods)
	status := fmt.Sprintf(`{"status":{"observedGeneration":2,"replicas":%[1]d,"readyReplicas":%[1]d}}`, pods)
	b.patch(ctx, s, run, status, "status")
}

// still waits until the server has sent data, and then nothing for a second. "status -w" also receives lease
// renewals, but only every two seconds. If p exits, still fails with errEnded.
func (m *meter) still(ctx context.Context, p *process) {
	const while = time.Second
	last, since := m.received.Load(), time.Now()
	await(ctx, 20*time.Millisecond, "the server stops sending data", func() bool {
		if p.exited() {
			check(fmt.Errorf("%w: %s", errEnded, p.output()))
		}
		if now := m.received.Load(); now != last {
			last, since = now, time.Now()
		}
		return last > 0 && time.Since(since) > while
	})
}

// measureEndings scales a Deployment by one pod repeatedly. It measures the time from when the new
// pod is ready until the command exits.
func (b *bench) measureEndings(ctx context.Context) []goal {
	const run = "ended"
	s := b.deployment()
	b.create(ctx, s, s.owner(run, 0))
	w := b.watchRun(ctx, s, run)
	l := b.launch(ctx, s)
	defer l.stop()
	var delays []float64 // milliseconds
	for round := range sized(b, 20, 1) {
		pods := round + 1
		p := b.start(b.command(ctx, b.plugin, "scale", "deployment/"+run, fmt.Sprint("--replicas=", pods), "--timeout=2m"))
		ready := w.untilReady(ctx, pods)
		<-p.done
		delays = append(delays, max(0, p.ended.Sub(ready)).Seconds()*1000)
		if state := p.cmd.ProcessState; !state.Success() {
			check(fmt.Errorf("scale: %s: %s", state, p.output()))
		}
	}
	b.delete(ctx, s, run)
	ended := spreadOf(delays)
	return []goal{{
		what: "end of `scale --timeout` after the last pod is ready", wanted: "median ≤ 30 ms, at most 250 ms",
		measured: ended.text("%.0f") + " ms", held: ended.median <= 30 && ended.most <= 250, lenient: true,
	}}
}

// compareLooks compares "status" with "kubectl get" on ready objects.
func (b *bench) compareLooks(ctx context.Context) (goals []goal) {
	for _, look := range []struct {
		what         string
		of           subject
		ours, theirs string
	}{
		{"an ImoocPod with 3 pods", b.ours(), "status three", "get imoocpod three"},
		{"a Deployment with 3 pods", b.deployment(), "status deployment/three", "get deployment three"},
	} {
		b.makeThree(ctx, look.of, "three")
		costs := b.compare(ctx, look.ours, look.theirs)
		requests := costs[direct].requests
		goals = append(goals,
			goal{what: "requests of `status` once, of " + look.what, wanted: "≤ 3",
				measured: fmt.Sprint(requests), held: requests <= 3, lenient: true},
			ratioGoal("time of that beside `kubectl get`", 0.50,
				beside("%.2f ×", valuesOf(costs[direct].timings, wall), valuesOf(costs[kubectl].timings, wall))))
	}
	b.removeOthers(ctx)
	return goals
}

// measureMany measures the memory of a command that follows an object with very many pods. It does
// not delete the object.
func (b *bench) measureMany(ctx context.Context) []goal {
	pods := sized(b, 10_000, 20)
	used := b.follow(ctx, b.ours(), "many", followedSize{pods: pods}, direct, false).used
	return []goal{{what: fmt.Sprintf("memory of `status -w` at %d pods", pods), wanted: "≤ 120 MiB",
		measured: fmt.Sprintf("%d MiB", used.peak>>20), held: used.peak>>20 <= 120}}
}
