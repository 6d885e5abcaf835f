package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

const (
	// writeTimeout ends a write that the server does not answer. A stop of the
	// loop does not: the write is finished.
	writeTimeout = 30 * time.Second
	// slice is how long creates and deletes go on before the plan is made anew:
	// what fails meanwhile waits for as long, and so do other objects if all workers
	// are busy. Each time the cache has to catch up, which takes most of a second
	// where the server is at its limit, and the batch grows from one.
	slice = 15 * time.Second
	// sliceLeast is how many go on all the same: where each takes its time, the
	// batch must have one to grow.
	sliceLeast = 2 * maxBatch
)

// outcome is what executing a plan came to.
type outcome struct {
	mu               sync.Mutex
	created, deleted int
	podsWritten      string
	// applied is the Deployment that was written, nil if none was; removed lists
	// the names of those that were deleted.
	applied           *plan.Applied
	deploymentWritten string
	removed           []string
	// ending says that the namespace is going away, so there is nothing to retry.
	ending bool
	// failures are errors that did not stop the others.
	failures []error
	// failing says that the server could not say yes or no to a create.
	failing bool
	// refused lists creates that will not go through by being repeated at once.
	refused []refusal
}

type refusal struct {
	slot            plan.Slot
	reason, message string
}

// errEnding says that the namespace of the object is going away: nothing can
// be created in it, nothing has failed, and nothing needs to be done.
var errEnding = errors.New("namespace is being terminated")

// errRefused stops the creates that have not begun. It is told of in outcome.
var errRefused = errors.New("create refused")

// written notes a pod as the server answered it. One without the label is out of
// the cache's sight: that does not come to know of it.
func (o *outcome) written(pod *corev1.Pod, created, deleted int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.created += created
	o.deleted += deleted
	if _, seen := pod.Labels[apis.LabelOwner]; seen {
		o.podsWritten = later(o.podsWritten, pod.ResourceVersion)
	}
}

// fail notes an error that does not stop the others.
func (o *outcome) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failures = append(o.failures, err)
}

// fails notes that the server failed over a create.
func (o *outcome) fails() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failing = true
}

// refuse notes a refusal. Of the creates that were under way at the same time,
// the first that is refused for all slots speaks for the others.
func (o *outcome) refuse(slot plan.Slot, reason, message string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.ContainsFunc(o.refused, func(r refusal) bool { return r.slot == slot }) {
		o.refused = append(o.refused, refusal{slot, reason, message})
	}
}

// refusals says in one line what was refused, "" for nothing.
func (o *outcome) refusals() string {
	if len(o.refused) == 0 {
		return ""
	}
	lowest := slices.MinFunc(o.refused, func(a, b refusal) int { return cmp.Compare(a.slot, b.slot) })
	if others := len(o.refused) - 1; others > 0 {
		return fmt.Sprintf("%s (and %d more)", lowest.message, others)
	}
	return lowest.message
}

func (o *outcome) remove(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.removed = append(o.removed, name)
}

// work is one object's plan on its way to the server.
type work struct {
	c         *Controller
	kind      kinds.Kind
	namespace string
	owner     metav1.OwnerReference
	// of is the owner as the plan saw it.
	of   plan.Owner
	plan plan.Actions
	// failing is for how many plans in a row the server could say neither yes
	// nor no to a create.
	failing int
	// current reports whether the plan still speaks of the owner as it is.
	current func() bool
}

// execute deletes and creates the plan's pods and Deployments. It returns when all calls that
// it began have been answered; done says that nothing of the plan was left out.
func (w *work) execute(ctx context.Context) (o *outcome, done bool, err error) {
	o = &outcome{}
	end := w.c.clock.Now().Add(slice)
	proceed := func() func() bool {
		begun := 0
		return func() bool {
			begun++
			return (begun <= sliceLeast || w.c.clock.Now().Before(end)) && w.current()
		}
	}
	deleted, deleteErr := slowStart(ctx, w.plan.Delete, proceed(), func(ctx context.Context, d plan.Deletion) error {
		return w.delete(ctx, d, o)
	})
	created, createErr := slowStart(ctx, w.plan.Create, proceed(), func(ctx context.Context, creation plan.Creation) error {
		return w.create(ctx, creation, o)
	})
	removed, removeErr := slowStart(ctx, w.plan.Remove, proceed(), func(ctx context.Context, d plan.Deployment) error {
		return w.remove(ctx, d, o)
	})
	applyErr := w.apply(ctx, o)
	if o.ending = errors.Is(createErr, errEnding) || errors.Is(applyErr, errEnding); o.ending || errors.Is(createErr, errRefused) {
		createErr, applyErr = nil, nil
	}
	done = deleted == len(w.plan.Delete) && created == len(w.plan.Create) && removed == len(w.plan.Remove) &&
		(w.plan.Apply == nil || o.applied != nil)
	return o, done, errors.Join(append(o.failures, deleteErr, createErr, removeErr, applyErr)...)
}

// delete deletes one pod, and only that one: the UID is a precondition, so a
// pod that came after it under the same name is safe.
func (w *work) delete(ctx context.Context, d plan.Deletion, o *outcome) error {
	ctx, cancel := finish(ctx)
	defer cancel()
	w.c.expectations.deleting(d.UID)
	pod := &corev1.Pod{}
	err := w.c.core.RESTClient().Delete().Namespace(w.namespace).Resource("pods").Name(d.Name).
		Body(&metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(d.UID))}).
		Do(ctx).Into(pod)
	w.c.expectations.deleted(d.UID, err == nil)
	switch {
	case apierrors.IsNotFound(err):
		return nil // gone already; the cache will say so
	case err != nil:
		err = fmt.Errorf("delete pod %s: %w", d.Name, err)
		if _, refused := refusalReason(err); refused {
			o.fail(err) // the others may well go
			return nil
		}
		return err
	}
	o.written(pod, 0, 1)
	return nil
}

// create creates one pod.
func (w *work) create(ctx context.Context, creation plan.Creation, o *outcome) error {
	ctx, cancel := finish(ctx)
	defer cancel()
	pod := newPod(w.kind, w.owner, w.of, w.namespace, creation)
	made, err := w.c.core.Pods(w.namespace).Create(ctx, pod, metav1.CreateOptions{FieldManager: kinds.FieldManager})
	switch {
	case err == nil:
		o.written(made, 1, 0)
		return nil
	case apierrors.IsAlreadyExists(err):
		return w.meetHolder(ctx, pod, creation, o)
	case namespaceEnds(err):
		return errEnding
	}
	if reason, refused := w.refused(err, o); refused {
		o.refuse(plan.NoSlot, reason, fmt.Sprintf("cannot create pod %s: %s", pod.Name, serverWords(err)))
		return errRefused
	}
	return fmt.Errorf("create pod %s: %w", pod.Name, err)
}

// refused reports whether a write will not go through by being repeated at once,
// and gives the condition reason for it. A server that has failed at it often
// enough has as good as refused.
func (w *work) refused(err error, o *outcome) (reason string, refused bool) {
	if reason, refused = refusalReason(err); refused || !serverFailed(err) {
		return reason, refused
	}
	o.fails()
	return "CreateFailed", w.failing+1 >= troubleAfter
}

// meetHolder looks at the pod that has the name of the one to be created. Ours
// is one that an earlier attempt made: the cache has yet to see it. Anybody
// else's is left alone.
func (w *work) meetHolder(ctx context.Context, want *corev1.Pod, creation plan.Creation, o *outcome) error {
	pods := w.c.core.Pods(w.namespace)
	holder, err := pods.Get(ctx, want.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("pod %s went away while it was looked at", want.Name)
	}
	if err != nil {
		return fmt.Errorf("look at pod %s, which has the name of a new one: %w", want.Name, err)
	}
	ref := metav1.GetControllerOf(holder)
	if ref == nil || ref.UID != w.owner.UID {
		o.refuse(creation.Slot, "NameTaken", fmt.Sprintf("pod %s has the name of a pod to be created, but is %s", holder.Name, belongsTo(ref)))
		return nil
	}
	if unlabelled(holder, w.owner.UID) {
		labelled, err := w.c.relabel(ctx, holder, w.owner)
		if reason, refused := refusalReason(err); refused && !apierrors.IsNotFound(err) {
			o.refuse(creation.Slot, reason, fmt.Sprintf("pod %s has lost its labels and cannot be labelled again: %s", holder.Name, serverWords(err)))
			return nil
		}
		if err != nil {
			return err
		}
		holder = labelled
	}
	o.written(holder, 0, 0)
	return nil
}

func belongsTo(ref *metav1.OwnerReference) string {
	if ref == nil {
		return "controlled by nobody"
	}
	return fmt.Sprintf("controlled by %s %s", ref.Kind, ref.Name)
}

// finish lets a write that has begun come to its end although the loop stops.
func finish(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
}
