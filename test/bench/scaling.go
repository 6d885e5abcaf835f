package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// sample is one run of a subject from zero to a number of pods, and back.
type sample struct {
	subject     string
	concurrency int // of raw requests
	pods        int
	// up is the change to that number. down is the change back to zero.
	up, down way
}

// way is the change of an object from one number of pods to another.
type way struct {
	// done is the time from the request until the last pod was created, or was gone.
	// status is the time until the status reported that; zero without a program.
	done, status time.Duration
	// counts holds the requests except for events, leases, and watches. events counts event writes.
	counts counts
	events int
}

// compareScaling runs the subjects alternately, at each size. Every second round
// runs in reverse, so that drift affects all of them.
func (b *bench) compareScaling(ctx context.Context, todo agenda) ([]sample, error) {
	var all []sample
	number := 0
	for _, size := range todo.sizes {
		for round := range size.rounds {
			var subjects []subject
			for _, concurrency := range todo.concurrencies {
				subjects = append(subjects, raw(concurrency))
			}
			if !size.growth {
				subjects = append(subjects, b.lifted())
			}
			subjects = append(subjects, b.ours())
			if round < size.shipped {
				subjects = append(subjects, b.shipped())
			}
			if round%2 == 1 {
				slices.Reverse(subjects)
			}
			for _, s := range subjects {
				number++
				one, err := b.scale(ctx, s, fmt.Sprintf("run-%d", number), size.pods)
				if err != nil {
					return nil, fmt.Errorf("%s, %d pods: %w", s.name, size.pods, err)
				}
				say("%5d pods, %-26s created %6.2f s, gone %6.2f s", size.pods, s.label(), one.up.done.Seconds(), one.down.done.Seconds())
				all = append(all, one)
			}
		}
	}
	return all, nil
}

// label returns the name of a subject, with the concurrency if the subject has one.
func (s subject) label() string {
	if s.concurrency == 0 {
		return s.name
	}
	return fmt.Sprintf("%s (%d at once)", s.name, s.concurrency)
}

// scale creates an object, scales it up and down, and deletes it.
func (b *bench) scale(ctx context.Context, s subject, run string, pods int) (_ sample, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	one := sample{subject: s.name, concurrency: s.concurrency, pods: pods}
	owner, err := b.account.dynamic.Resource(s.resource).Namespace(namespace).Create(ctx, &unstructured.Unstructured{Object: s.owner(run, 0)}, metav1.CreateOptions{})
	if err != nil {
		return one, err
	}
	w, err := b.watchRun(ctx, run, &ownerRef{s.resource, run})
	if err != nil {
		return one, err
	}
	l, err := b.startLoop(ctx, s, w)
	if err != nil {
		return one, err
	}
	defer l.stop()
	to := func(n int) func() error {
		return func() error { return b.setReplicas(ctx, s, run, n) }
	}
	create, remove := to(pods), to(0)
	if s.program == nil {
		create = func() error { return b.createPods(ctx, s, owner, pods) }
		remove = func() error { return b.deletePods(ctx, s, run) }
	}
	if one.up, err = b.change(ctx, s, w, l, create, pods); err != nil {
		return one, fmt.Errorf("up: %w; output of the loop: %s", err, l.words())
	}
	if one.down, err = b.change(ctx, s, w, l, remove, 0); err != nil {
		return one, fmt.Errorf("down: %w; output of the loop: %s", err, l.words())
	}
	l.stop()
	return one, b.account.dynamic.Resource(s.resource).Namespace(namespace).Delete(ctx, run, metav1.DeleteOptions{})
}

// change calls start, waits for the number of pods, and returns the measurements.
func (b *bench) change(ctx context.Context, s subject, w *witness, l *loop, start func() error, pods int) (one way, err error) {
	before, err := b.stateOf(s, l)
	if err != nil {
		return one, err
	}
	began := time.Now()
	if err := start(); err != nil {
		return one, err
	}
	done, err := w.until(ctx, "all pods are ready, or gone", func() bool { return len(w.pods) == pods && w.ready == pods })
	if err != nil {
		return one, err
	}
	if s.program != nil {
		told, err := w.until(ctx, "the status says so", func() bool { return w.says(pods) })
		if err != nil {
			return one, err
		}
		one.status = told.Sub(began)
	}
	if pods > 0 {
		w.note(func(time.Time) { done = w.created[pods-1] })
	}
	after, err := b.settle(ctx, s, l, before, quiet)
	one.done, one.counts, one.events = done.Sub(began), after.counts, after.events
	return one, err
}

// state is the work and usage of a subject at some time.
type state struct {
	place      int64 // in the audit log
	usage      usage
	reconciles float64
	// counts, events, and writes hold the requests of the subject since an earlier state.
	counts         counts
	events, writes int
}

func (b *bench) stateOf(s subject, l *loop) (now state, err error) {
	if now.place, err = b.audit.end(); err != nil || s.program == nil {
		return now, err
	}
	if now.usage, err = l.usage(); err != nil {
		return now, err
	}
	if s.name == nameOurs {
		now.reconciles, err = l.reconciles()
	}
	return now, err
}

// A subject is done when it has sent nothing for this long. Use veryQuiet for a subject that may
// delay a status write by a second.
const (
	quiet     = 400 * time.Millisecond
	veryQuiet = 3 * time.Second
)

// settle waits until a subject has sent only lease renewals for the given time. It returns the state.
func (b *bench) settle(ctx context.Context, s subject, l *loop, before state, quiet time.Duration) (state, error) {
	sent := -1
	for {
		requests, err := b.audit.since(before.place, s.agent)
		if err != nil {
			return state{}, err
		}
		requests = slices.DeleteFunc(requests, func(r request) bool {
			return r.Object.Resource == "leases" || r.Object.Resource == s.resource.Resource && r.UserAgent == "bench"
		})
		if len(requests) == sent {
			now, err := b.stateOf(s, l)
			now.counts = count(requests, func(r request) bool { return r.Object.Resource != "events" && r.Verb != "watch" })
			for _, r := range requests {
				if r.writes() {
					now.writes++
				}
				if r.writes() && r.Object.Resource == "events" {
					now.events++
				}
			}
			return now, err
		}
		sent = len(requests)
		if err := pause(ctx, quiet); err != nil {
			return state{}, err
		}
	}
}

// pause waits for d.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// setReplicas sets the replica count of an object.
func (b *bench) setReplicas(ctx context.Context, s subject, run string, n int) error {
	return b.setReplicasIn(ctx, s, namespace, run, n)
}

// setReplicasIn is setReplicas for another namespace.
func (b *bench) setReplicasIn(ctx context.Context, s subject, namespace, run string, n int) error {
	_, err := b.account.dynamic.Resource(s.resource).Namespace(namespace).Patch(ctx, run, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n), metav1.PatchOptions{})
	return err
}

// createPods creates n pods of an owner with concurrent requests.
func (b *bench) createPods(ctx context.Context, s subject, owner *unstructured.Unstructured, n int) error {
	pod, err := podOf(owner.GetName())
	if err != nil {
		return err
	}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: s.apiVersion, Kind: s.kind, Name: owner.GetName(), UID: owner.GetUID(),
		Controller: new(true), BlockOwnerDeletion: new(true)}}
	return parallel(s.concurrency, n, func(i int) error {
		one := pod.DeepCopy()
		one.Name = fmt.Sprintf("%s-%d", owner.GetName(), i)
		_, err := b.account.core.Pods(namespace).Create(ctx, one, metav1.CreateOptions{})
		return err
	})
}

// deletePods deletes the pods of a run with concurrent requests.
func (b *bench) deletePods(ctx context.Context, s subject, run string) error {
	list, err := b.witness.core.Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: runLabel + "=" + run})
	if err != nil {
		return err
	}
	return parallel(s.concurrency, len(list.Items), func(i int) error {
		uid := string(list.Items[i].UID)
		return b.account.core.Pods(namespace).Delete(ctx, list.Items[i].Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(uid)})
	})
}

// parallel makes n calls of do with limited concurrency, and returns the first error.
func parallel(concurrency, n int, do func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(concurrency)
	for i := range n {
		group.Go(func() error { return do(i) })
	}
	return group.Wait()
}

// logOf returns the log file of a process.
func (b *bench) logOf(name string) string { return filepath.Join(b.scratch, name+".log") }
