package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// The names of the tasks in the report.
const (
	lookOurs       = "an ImoocPod with 3 pods"
	lookDeployment = "a Deployment with 3 pods"
)

// compareLooks compares "status" and "kubectl get" on ready objects.
func (b *bench) compareLooks(ctx context.Context, rounds int) ([]compared, error) {
	if err := b.makeFoo(ctx); err != nil {
		return nil, fmt.Errorf("create an ImoocPod: %w", err)
	}
	if err := b.makeThree(ctx, b.deployment(), "three"); err != nil {
		return nil, fmt.Errorf("create a Deployment: %w", err)
	}
	var all []compared
	for _, c := range []command{
		{lookOurs, "status foo", "get imoocpod foo"},
		{lookDeployment, "status deployment/three", "get deployment three"},
	} {
		timed, err := b.compareCommand(ctx, c, rounds)
		if err != nil {
			return nil, err
		}
		all = append(all, timed...)
	}
	return all, nil
}

// makeThree creates an object with three ready pods, and keeps it.
func (b *bench) makeThree(ctx context.Context, s subject, run string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	owner := &unstructured.Unstructured{Object: s.owner(run, 0)}
	if _, err := b.account.dynamic.Resource(s.resource).Namespace(namespace).Create(ctx, owner, metav1.CreateOptions{}); err != nil {
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
	if err := b.make(ctx, s, run, 3, w); err != nil {
		return err
	}
	return b.run(ctx, b.plugin, "wait", s.kindWord()+"/"+run, "--timeout", "2m")
}

// resting holds the requests of "status -w" while nothing changes.
type resting struct {
	objects int
	// state describes all objects: "ready" or "not reconciled".
	state string
	// watches counts the watches since the start. requests counts the requests in the
	// window, which begins later.
	watches, requests counts
	window            time.Duration
}

// measureRest follows one object, and then all objects. It does so while they are ready, and again
// after a change that is not reconciled because no loop runs.
func (b *bench) measureRest(ctx context.Context, objects int, window time.Duration) ([]resting, error) {
	s := b.ours()
	if err := b.run(ctx, b.plugin, "delete", "imoocpods", "--all"); err != nil {
		return nil, err
	}
	if err := b.makeObjectsIn(ctx, namespace, "rest", objects, 1); err != nil {
		return nil, err
	}
	if err := b.run(ctx, b.plugin, "run-controller", "--once", "--timeout", "10m"); err != nil {
		return nil, err
	}
	var all []resting
	for _, state := range []string{"ready", "not reconciled"} {
		if state != "ready" {
			for i := range objects {
				_, err := b.account.dynamic.Resource(s.resource).Namespace(namespace).Patch(ctx, fmt.Sprintf("rest-%d", i), types.MergePatchType, []byte(`{"spec":{"replicas":2}}`), metav1.PatchOptions{})
				if err != nil {
					return nil, err
				}
			}
		}
		for _, one := range []resting{{objects: 1, state: state, window: window}, {objects: objects, state: state, window: window}} {
			line := "kubectl-imoocpod status -w"
			if one.objects == 1 {
				line = "kubectl-imoocpod status rest-0 -w"
			}
			if err := b.rest(ctx, line, &one); err != nil {
				return nil, fmt.Errorf("follow by %s: %w", line, err)
			}
			say("status -w of %d objects that are %s: %s at first, %s in %s", one.objects, state, one.watches, one.requests, window)
			all = append(all, one)
		}
	}
	return all, nil
}

// rest runs a command line that follows objects, and sets the counts of its requests in r.
func (b *bench) rest(ctx context.Context, line string, r *resting) error {
	place, err := b.audit.end()
	if err != nil {
		return err
	}
	p, err := startProcess(b.command(ctx, "sh", "-c", "exec "+line), b.logOf("resting"))
	if err != nil {
		return err
	}
	defer p.stop()
	if err := pause(ctx, max(2*r.window/3, time.Second)); err != nil {
		return err
	}
	settled, err := b.audit.end()
	if err != nil {
		return err
	}
	if err := pause(ctx, r.window); err != nil {
		return err
	}
	select {
	case <-p.done:
		return fmt.Errorf("the command exited early: %s", p.words())
	default:
	}
	begun, err := b.audit.since(place, "kubectl-imoocpod")
	if err != nil {
		return err
	}
	later, err := b.audit.since(settled, "kubectl-imoocpod")
	if err != nil {
		return err
	}
	r.watches = count(begun, func(r request) bool { return r.Verb == "watch" })
	r.requests = count(later, func(request) bool { return true })
	return nil
}

// measureMany measures the memory of a command that follows an object with very many
// pods. It keeps the object.
func (b *bench) measureMany(ctx context.Context, pods int) (following, error) {
	s := b.ours()
	f := followers(s, "many")[0]
	f.kind, f.pods = s.kind, pods
	err := b.follow(ctx, s, "many", &f, false)
	say("%d pods: %s had %d MiB at the most", pods, f.line, f.used.peak>>20)
	return f, err
}
