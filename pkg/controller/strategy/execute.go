package strategy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

const (
	// writeTimeout ends a write that the server does not answer. A stop of the
	// loop does not: the write is finished.
	writeTimeout = 30 * time.Second
	// Slice is how long creates and deletes go on before the plan is made anew:
	// what fails meanwhile waits for as long, and so do other objects if all workers
	// are busy. Each time the cache has to catch up, which takes most of a second
	// where the server is at its limit, and the batch grows from one.
	Slice = 15 * time.Second
	// sliceLeast is how many go on all the same: where each takes its time, the
	// batch must have one to grow.
	sliceLeast = 2 * maxBatch
)

// Outcome is what executing a plan came to.
type Outcome struct {
	mu sync.Mutex
	// Created and Deleted count the pods.
	Created, Deleted int
	// PodsWritten and BesideWritten are the highest resourceVersions of the pods that
	// were written, and of what plans look at beside them.
	PodsWritten, BesideWritten string
	// RevisionsWritten is that of the revision that was written, "" for none. Unrecorded
	// says why the server refused one, and FailingRevision that it could not say yes or no.
	RevisionsWritten, Unrecorded string
	FailingRevision              bool
	// Unanswered are the names of the pods whose creates the server may have done, although
	// it did not say so.
	Unanswered []string
	// Applied is the Deployment that was written, nil if none was.
	Applied *plan.Applied
	// Notes tell of what was done beside pods, for events.
	Notes []Note
	// Ending says that the namespace is going away, so there is nothing to retry.
	Ending bool
	// LabelRefused says why the server refused to restore the labels of a pod, "" for no
	// refusal.
	LabelRefused string
	// failures are errors that did not stop the others.
	failures []error
	// Failing says that the server could not say yes or no to a create.
	Failing bool
	// Refused lists creates that will not go through by being repeated at once.
	Refused []Refusal
}

// Refusal is one of those.
type Refusal struct {
	Slot            slots.Slot
	Reason, Message string
}

// Note is the reason and the message of an event.
type Note struct{ Reason, Message string }

// ErrConflict says that something has changed since the plan saw it.
var ErrConflict = errors.New("the object has changed")

// errEnding says that the namespace of the object is going away: nothing can
// be created in it, nothing has failed, and nothing needs to be done.
var errEnding = errors.New("namespace is being terminated")

// errRefused stops the creates that have not begun. It is told of in outcome.
var errRefused = errors.New("create refused")

// written notes a pod as the server answered it.
func (o *Outcome) written(pod *corev1.Pod, created, deleted int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Created += created
	o.Deleted += deleted
	o.PodsWritten = informer.Later(o.PodsWritten, pod.ResourceVersion)
}

// fail notes an error that does not stop the others.
func (o *Outcome) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failures = append(o.failures, err)
}

// unanswered notes a pod that may have been created.
func (o *Outcome) unanswered(pod string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Unanswered = append(o.Unanswered, pod)
}

// fails notes that the server failed over a create.
func (o *Outcome) fails() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Failing = true
}

// refuse notes a refusal. Of the creates that were under way at the same time,
// the first that is refused for all slots speaks for the others.
func (o *Outcome) refuse(slot slots.Slot, reason, message string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.ContainsFunc(o.Refused, func(r Refusal) bool { return r.Slot == slot }) {
		o.Refused = append(o.Refused, Refusal{slot, reason, message})
	}
}

// refuseLabel notes that the labels of a pod cannot be restored.
func (o *Outcome) refuseLabel(message string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.LabelRefused == "" || message < o.LabelRefused { // the same of them each time
		o.LabelRefused = message
	}
}

// Refusals says in one line what was refused, "" for nothing.
func (o *Outcome) Refusals() string {
	if len(o.Refused) == 0 {
		return ""
	}
	lowest := slices.MinFunc(o.Refused, func(a, b Refusal) int { return cmp.Compare(a.Slot, b.Slot) })
	if others := len(o.Refused) - 1; others > 0 {
		return fmt.Sprintf("%s (and %d more)", lowest.Message, others)
	}
	return lowest.Message
}

// Work is one object's plan on its way to the server.
type Work struct {
	Clients
	Strategy *Strategy
	Clock    clock.PassiveClock
	Kind     kinds.Kind
	Owner    metav1.OwnerReference
	// Object is the owner, and Of what the plan saw of it.
	Object *unstructured.Unstructured
	Of     plan.Owner
	Plan   plan.Actions
	// Failing is for how many plans in a row the server could say neither yes nor no
	// to a create. From MaxFailing on, that is a refusal.
	Failing, MaxFailing int
	// FailingRevision is the same for the write of a revision.
	FailingRevision int
	// Current reports whether the plan still speaks of the owner as it is.
	Current func() bool

	end time.Time // when nothing more is begun
}

// Execute executes the plan. It returns when all calls that it began have been
// answered; done says that nothing of the plan was left out.
func (w *Work) Execute(ctx context.Context) (o *Outcome, done bool, err error) {
	o = &Outcome{}
	if w.Plan.History.Writes() && !w.Current() {
		return o, false, nil
	}
	if err := w.record(ctx, o); err != nil || o.Ending {
		return o, false, err
	}
	w.end = w.Clock.Now().Add(Slice)
	deleted, deleteErr := SlowStart(ctx, w.Plan.Delete, w.proceed(), func(ctx context.Context, d plan.Deletion) error {
		return w.Strategy.delete(ctx, w, d, o)
	})
	created, createErr := SlowStart(ctx, w.Plan.Create, w.proceed(), func(ctx context.Context, creation plan.Creation) error {
		return w.Strategy.create(ctx, w, creation, o)
	})
	labelled, labelErr := SlowStart(ctx, w.Plan.Label, w.proceed(), func(ctx context.Context, pod plan.Pod) error {
		return w.labelPod(ctx, pod, o)
	})
	applied, applyErr := true, error(nil)
	if w.Strategy.apply != nil {
		applied, applyErr = w.Strategy.apply(ctx, w, o)
	}
	if o.Ending = o.Ending || errors.Is(createErr, errEnding); o.Ending || errors.Is(createErr, errRefused) {
		createErr = nil
	}
	done = deleted == len(w.Plan.Delete) && created == len(w.Plan.Create) && labelled == len(w.Plan.Label) && applied
	return o, done, errors.Join(append(o.failures, deleteErr, createErr, labelErr, applyErr)...)
}

// proceed makes a function that reports whether one more call is begun.
func (w *Work) proceed() func() bool {
	begun := 0
	return func() bool {
		begun++
		return (begun <= sliceLeast || w.Clock.Now().Before(w.end)) && w.Current()
	}
}

// deletePod deletes one pod, and only that one: the UID is a precondition, so a
// pod that came after it under the same name is safe.
func deletePod(ctx context.Context, w *Work, d plan.Deletion, o *Outcome) error {
	ctx, cancel := Finish(ctx)
	defer cancel()
	pod := &corev1.Pod{}
	err := w.Core.RESTClient().Delete().Namespace(w.Namespace).Resource("pods").Name(d.Name).
		Body(&metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(d.UID))}).
		Do(ctx).Into(pod)
	switch {
	case apierrors.IsNotFound(err):
		return nil // gone already; the cache will say so
	case err != nil:
		err = fmt.Errorf("delete pod %s: %w", d.Name, err)
		if _, refused := RefusalReason(err); refused {
			o.fail(err) // the others may well go
			return nil
		}
		return err
	}
	o.written(pod, 0, 1)
	return nil
}

func createPod(ctx context.Context, w *Work, creation plan.Creation, o *Outcome) error {
	ctx, cancel := Finish(ctx)
	defer cancel()
	pod := newPod(w.Kind, w.Owner, w.Of, w.Namespace, creation)
	made, err := w.Core.Pods(w.Namespace).Create(ctx, pod, metav1.CreateOptions{FieldManager: kinds.FieldManager})
	switch {
	case err == nil:
		o.written(made, 1, 0)
		return nil
	case apierrors.IsAlreadyExists(err):
		return w.meetHolder(ctx, pod, creation, o)
	case namespaceEnds(err):
		return errEnding
	case !answered(err):
		o.unanswered(pod.Name)
	}
	if reason, refused := w.refused(err, o); refused {
		o.refuse(slots.None, reason, fmt.Sprintf("cannot create pod %s: %s", pod.Name, serverWords(err)))
		return errRefused
	}
	return fmt.Errorf("create pod %s: %w", pod.Name, err)
}

// refused reports whether a write will not go through by being repeated at once,
// and gives the condition reason for it. A server that has failed at it often
// enough has as good as refused.
func (w *Work) refused(err error, o *Outcome) (reason string, refused bool) {
	if reason, refused = RefusalReason(err); refused || !serverFailed(err) {
		return reason, refused
	}
	o.fails()
	return "CreateFailed", w.Failing+1 >= w.MaxFailing
}

// meetHolder looks at the pod that has the name of the one to be created. Ours
// is one that an earlier attempt made: the cache has yet to see it. Anybody
// else's is left alone.
func (w *Work) meetHolder(ctx context.Context, want *corev1.Pod, creation plan.Creation, o *Outcome) error {
	pods := w.Core.Pods(w.Namespace)
	holder, err := pods.Get(ctx, want.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("pod %s disappeared while it was being read", want.Name)
	}
	if err != nil {
		return fmt.Errorf("read pod %s, which has the name of a pod to create: %w", want.Name, err)
	}
	ref := metav1.GetControllerOf(holder)
	if ref == nil || ref.UID != w.Owner.UID {
		o.refuse(creation.Slot, "NameTaken", plan.NameTaken(w.Kind.Kind, "pod "+holder.Name, ownedBy(ref)))
		return nil
	}
	o.written(holder, 0, 0)
	return nil
}

// labelPod restores the identity labels of a pod, if it is still as it was seen: it may
// have been released. A refusal does not keep the others from theirs.
func (w *Work) labelPod(ctx context.Context, pod plan.Pod, o *Outcome) error {
	ctx, cancel := Finish(ctx)
	defer cancel()
	labels := Identity(nil, w.Kind, w.Owner, plan.Creation{Slot: pod.Slot, Replaces: pod.Replaces})
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "resourceVersion": pod.ResourceVersion, // preconditions
		"labels": labels,
	}})
	if err != nil {
		return fmt.Errorf("restore the labels of pod %s: %w", pod.Name, err)
	}
	labelled, err := w.Core.Pods(w.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: kinds.FieldManager})
	switch _, refused := RefusalReason(err); {
	case err == nil:
		o.written(labelled, 0, 0)
		return nil
	case apierrors.IsNotFound(err):
		return nil // the cache will say so
	case apierrors.IsConflict(err):
		return ErrConflict
	case refused:
		o.refuseLabel(fmt.Sprintf("restore the labels of pod %s: %s", pod.Name, err))
		return nil
	}
	return fmt.Errorf("restore the labels of pod %s: %w", pod.Name, err)
}

// ownedBy says whose something is, "" for nobody's.
func ownedBy(ref *metav1.OwnerReference) string {
	if ref == nil {
		return ""
	}
	return fmt.Sprintf("owned by %s %s", ref.Kind, ref.Name)
}

// Finish lets a write that has begun come to its end although the loop stops.
func Finish(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
}
