package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// following is the cost of following an object while its pods start.
type following struct {
	kind string
	// others is the number of unrelated pods in the namespace.
	pods, others int
	line         string
	by           caller
	// received is the number of bytes that the server sent.
	received int64
	used     usage
}

// followers returns the compared commands. Our command follows an object, and the command
// of kubectl follows the pods of the object.
func followers(s subject, run string) []following {
	return []following{
		{by: direct, line: "kubectl-imoocpod status " + s.kindWord() + "/" + run + " -w"},
		{by: kubectl, line: "kubectl get pods -l " + runLabel + "=" + run + " -w"},
	}
}

// followedSubjects returns the subjects whose objects are followed.
func (b *bench) followedSubjects() []subject {
	all := []subject{b.ours(), b.deployment(), cloneSet()}
	if b.rollouts.programs != "" {
		all = append(all, b.rollout())
	}
	return all
}

// kindWord returns the type of a subject as written in a command.
func (s subject) kindWord() string {
	if s.resource.Group == "" {
		return s.resource.Resource
	}
	return s.resource.Resource + "." + s.resource.Group
}

// deployment returns a Deployment, without rate limits for its ReplicaSets.
func (b *bench) deployment() subject {
	s := b.lifted()
	s.resource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	s.kind = "Deployment"
	return s
}

// cloneSet returns a third-party kind whose pods the benchmark creates.
func cloneSet() subject {
	return subject{
		name: "CloneSet", agent: "bench", concurrency: 64,
		resource:   schema.GroupVersionResource{Group: "bench.example.com", Version: "v1", Resource: "clonesets"},
		apiVersion: "bench.example.com/v1", kind: "CloneSet",
	}
}

// installCloneSets creates the CRD of CloneSets, and waits until they are served.
func (b *bench) installCloneSets(ctx context.Context) error {
	s := cloneSet()
	anything := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	number := map[string]any{"type": "integer"}
	counts := map[string]any{"type": "object", "properties": map[string]any{"observedGeneration": number, "replicas": number, "readyReplicas": number}}
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": s.resource.GroupResource().String()},
		"spec": map[string]any{
			"group": s.resource.Group, "scope": "Namespaced",
			"names": map[string]any{"kind": s.kind, "plural": s.resource.Resource, "singular": strings.ToLower(s.kind)},
			"versions": []any{map[string]any{
				"name": s.resource.Version, "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}, "scale": map[string]any{"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
					"spec": map[string]any{"type": "object", "properties": map[string]any{"replicas": number, "selector": anything, "template": anything}}, "status": counts,
				}}},
			}},
		},
	}}
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	if _, err := b.witness.dynamic.Resource(crds).Create(ctx, crd, metav1.CreateOptions{}); err != nil {
		return err
	}
	return b.served(ctx, s)
}

// make scales an object up from zero, and waits until its pods are ready. For a
// CloneSet, make also creates the pods, and updates the status at the end.
func (b *bench) make(ctx context.Context, s subject, run string, pods int, w *witness) error {
	if err := b.setReplicas(ctx, s, run, pods); err != nil {
		return err
	}
	objects := b.account.dynamic.Resource(s.resource).Namespace(namespace)
	if s.program == nil {
		owner, err := objects.Get(ctx, run, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := b.createPods(ctx, s, owner, pods); err != nil {
			return err
		}
	}
	if _, err := w.until(ctx, "all pods are ready", func() bool { return w.ready == pods }); err != nil || s.program != nil {
		return err
	}
	_, err := objects.Patch(ctx, run, types.MergePatchType,
		fmt.Appendf(nil, `{"status":{"observedGeneration":2,"replicas":%[1]d,"readyReplicas":%[1]d}}`, pods), metav1.PatchOptions{}, "status")
	return err
}

// errEnded is returned when a command that follows objects exits early. The server
// closes slow watches, and kubectl exits with its watch.
var errEnded = errors.New("the command exited early")

// mostAttempts is the maximum number of starts of a command that exits early.
const mostAttempts = 5

// compareFollowing follows objects while their pods start, alternating between the
// commands.
func (b *bench) compareFollowing(ctx context.Context, todo agenda) ([]following, error) {
	if b.rollouts.programs != "" {
		controller, err := b.startRollouts(ctx)
		if err != nil {
			return nil, fmt.Errorf("start the controller of rollouts: %w", err)
		}
		defer controller.stop()
	}
	var all []following
	number := 0
	for _, size := range todo.followed {
		if err := b.makeOthers(ctx, size.others); err != nil {
			return nil, fmt.Errorf("create unrelated pods: %w", err)
		}
		for round := range size.rounds {
			for _, s := range b.followedSubjects() {
				lines := len(followers(s, ""))
				for i := range lines {
					// Rotate the commands, so that drift affects all of them.
					f, err := b.followOne(ctx, s, size, (i+round)%lines, &number)
					if err != nil {
						return nil, fmt.Errorf("follow by %s: %w", f.line, err)
					}
					say("%5d pods of a %s: %s received %d kB", f.pods, f.kind, f.line, f.received/1000)
					all = append(all, f)
				}
			}
		}
	}
	return all, nil
}

// followOne follows an object with one of the command lines for its kind. If the
// command exits early, it retries with another object.
func (b *bench) followOne(ctx context.Context, s subject, size followedSize, line int, number *int) (f following, err error) {
	for range mostAttempts {
		*number++
		run := fmt.Sprintf("followed-%d", *number)
		f = followers(s, run)[line]
		f.kind, f.pods, f.others = s.kind, size.pods, size.others
		if err = b.follow(ctx, s, run, &f, true); !errors.Is(err, errEnded) {
			break
		}
		say("%5d pods of a %s: %s ended before all were ready", f.pods, f.kind, f.line)
	}
	return f, err
}

// removeOthers removes the pods that makeOthers created.
func (b *bench) removeOthers(ctx context.Context) error {
	return b.account.core.Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{LabelSelector: runLabel + "=others"})
}

// makeOthers creates unrelated pods, and waits until they are ready, so that they
// do not change during the measurement.
func (b *bench) makeOthers(ctx context.Context, n int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := b.watchRun(ctx, "others", nil)
	if err != nil {
		return err
	}
	pod, err := podOf("others")
	if err != nil {
		return err
	}
	err = parallel(32, n, func(i int) error {
		one := pod.DeepCopy()
		one.Name = fmt.Sprintf("others-%d", i)
		_, err := b.account.core.Pods(namespace).Create(ctx, one, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	_, err = w.until(ctx, "the pods of others are ready", func() bool { return w.ready == n })
	return err
}

// follow follows an object from zero pods until all are ready, and sets the results in
// f. It removes the object if remove is set.
func (b *bench) follow(ctx context.Context, s subject, run string, f *following, remove bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	objects := b.account.dynamic.Resource(s.resource).Namespace(namespace)
	owner := s.owner(run, 0)
	if _, err := objects.Create(ctx, &unstructured.Unstructured{Object: owner}, metav1.CreateOptions{}); err != nil {
		return err
	}
	w, err := b.watchRun(ctx, run, nil)
	if err != nil {
		return err
	}
	l, err := b.launch(ctx, s)
	if err != nil {
		return err
	}
	defer l.stop()
	m, err := b.newMeter()
	if err != nil {
		return err
	}
	defer m.close()
	p, err := b.startMetered(ctx, m, f.line)
	if err != nil {
		return err
	}
	defer p.stop()
	if err := m.still(ctx, p); err != nil {
		return err
	}
	if err := b.make(ctx, s, run, f.pods, w); err != nil {
		return fmt.Errorf("%w; output of the loop: %s", err, l.words())
	}
	if err := m.still(ctx, p); err != nil {
		return errors.Join(err, b.removeFollowed(ctx, s, run, w))
	}
	f.received = m.received.Load()
	if f.used, err = p.usage(); err != nil {
		return err
	}
	p.stop()
	if !remove {
		return nil
	}
	return b.removeFollowed(ctx, s, run, w)
}

// removeFollowed deletes an object and its events, and waits until its pods are
// gone. Remaining events would burden later measurements.
func (b *bench) removeFollowed(ctx context.Context, s subject, run string, w *witness) error {
	objects := b.account.dynamic.Resource(s.resource).Namespace(namespace)
	if err := objects.Delete(ctx, run, metav1.DeleteOptions{}); err != nil {
		return err
	}
	if _, err := w.until(ctx, "all pods are gone", func() bool { return len(w.pods) == 0 }); err != nil {
		return err
	}
	return b.account.core.Events(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "involvedObject.kind!=Pod"})
}

// startMetered starts a command line that connects through a meter.
func (b *bench) startMetered(ctx context.Context, m *meter, line string) (*process, error) {
	cmd := b.command(ctx, "sh", "-c", "exec "+line)
	cmd.Env = append(cmd.Env, "KUBECONFIG="+m.kubeconfig)
	return startProcess(cmd, b.logOf("follower"))
}

// A meter is still when the server has sent something, and then nothing for a second. Lease renewals
// are further apart. The method waits until the meter is still, or returns errEnded if p exits.
func (m *meter) still(ctx context.Context, p *process) error {
	const while = time.Second
	last, since := m.received.Load(), time.Now()
	for {
		select {
		case <-p.done:
			return fmt.Errorf("%w: %s", errEnded, p.words())
		default:
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
		if now := m.received.Load(); now != last {
			last, since = now, time.Now()
		} else if last > 0 && time.Since(since) > while {
			return nil
		}
	}
}

// measureEndings scales a Deployment by one pod repeatedly. It returns for how many
// milliseconds each command continued after the pod was ready.
func (b *bench) measureEndings(ctx context.Context, rounds int) ([]float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	const run = "ended"
	s := b.deployment()
	objects := b.account.dynamic.Resource(s.resource).Namespace(namespace)
	if _, err := objects.Create(ctx, &unstructured.Unstructured{Object: s.owner(run, 0)}, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	w, err := b.watchRun(ctx, run, nil)
	if err != nil {
		return nil, err
	}
	l, err := b.launch(ctx, s)
	if err != nil {
		return nil, err
	}
	defer l.stop()
	var delays []float64
	for round := range rounds {
		pods := round + 1
		p, err := startProcess(b.command(ctx, b.plugin, "scale", "deployment/"+run, fmt.Sprint("--replicas=", pods), "--timeout=2m"), b.logOf("ending"))
		if err != nil {
			return nil, err
		}
		ready, err := w.until(ctx, "the pod is ready", func() bool { return w.ready == pods })
		if err != nil {
			return nil, fmt.Errorf("%w; output of the command: %s", err, p.words())
		}
		<-p.done
		delays = append(delays, max(0, p.ended.Sub(ready)).Seconds()*1000)
		if state := p.cmd.ProcessState; !state.Success() {
			return nil, fmt.Errorf("scale: %s: %s", state, p.words())
		}
	}
	return delays, objects.Delete(ctx, run, metav1.DeleteOptions{})
}
