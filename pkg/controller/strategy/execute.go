package strategy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

const (
	// writeTimeout is the time limit of one write. A write that has started is not canceled when the controller stops.
	writeTimeout = 30 * time.Second
	// Slice is the time limit for the execution of one plan. A long slice delays retries and, if all
	// workers are busy, other objects. Short slices waste time: after each slice, SlowStart begins again
	// with one write, and the cache must catch up, which takes almost a second on a busy server.
	Slice = 15 * time.Second
	// sliceLeast is the number of writes in each batch that can start even after the end of the slice,
	// so that SlowStart can add parallel writes on a slow server.
	sliceLeast = 2 * maxBatch
)

// ErrConflict means that the object or a child has changed since the plan read it.
var ErrConflict = errors.New("the object has changed")

// errStopped ends a batch of operations. The Outcome contains the reason.
var errStopped = errors.New("stopped")

// Work executes the plan of one object.
type Work struct {
	Clients
	Clock clock.PassiveClock
	Kind  kinds.Kind
	// Owner is the controller reference to Object. Of is the owner in the view of the plan.
	Owner  metav1.OwnerReference
	Object *unstructured.Unstructured
	Of     plan.Owner
	Plan   plan.Actions
	// LastTry means that the next failure of the server counts as a refusal.
	LastTry bool
	// Current reports whether the plan still matches the owner.
	Current func() bool

	end time.Time // after this time, only the first sliceLeast operations of a batch start
}

// child describes how children of one kind are written.
type child struct {
	resource schema.GroupVersionResource
	// kind is the kind in manifests and messages. Pods use it only in messages, because a typed client creates them.
	kind string
	// fields returns the fields to create, apply, or patch, without the name, the owner, and the preconditions.
	fields func(*Work, plan.Operation) map[string]any
}

func describeOwner(ref *metav1.OwnerReference) string {
	if ref == nil {
		return ""
	}
	return fmt.Sprintf("owned by %s %s", ref.Kind, ref.Name)
}

// Execute runs the plan's operations in order, batch by batch, and waits for all. done is true if none was skipped.
func (w *Work) Execute(ctx context.Context) (o *Outcome, done bool, err error) {
	o = &Outcome{Written: map[string]string{}, Refused: map[slots.Slot]plan.Refusal{}, Declined: map[plan.Kind]string{}}
	w.end = w.Clock.Now().Add(Slice)
	done = true
	for operations := w.Plan.Operations; len(operations) > 0; {
		first := operations[0]
		// A batch has the operations at the start of the list that have the same verb and kind. They run in parallel.
		n := slices.IndexFunc(operations, func(o plan.Operation) bool { return o.Verb != first.Verb || o.Kind != first.Kind })
		if n < 0 {
			n = len(operations)
		}
		begun, err := SlowStart(ctx, operations[:n], w.proceed, func(ctx context.Context, op plan.Operation) error {
			return w.write(ctx, op, o)
		})
		done = done && begun == n
		if err != nil && !errors.Is(err, errStopped) {
			o.failures = append(o.failures, err)
		}
		if !first.Optional && (err != nil || begun < n) {
			done = done && n == len(operations)
			break
		}
		operations = operations[n:]
	}
	return o, done, errors.Join(o.failures...)
}

// proceed reports whether another operation of a batch may start, after begun operations have started.
func (w *Work) proceed(begun int) bool {
	return (begun < sliceLeast || w.Clock.Now().Before(w.end)) && w.Current()
}

func (w *Work) write(ctx context.Context, op plan.Operation, o *Outcome) error {
	declined := false
	o.note(func() { declined = op.Kind == plan.KindRevision && o.Declined[op.Kind] != "" })
	if declined {
		return nil
	}
	ctx, cancel := Finish(ctx)
	defer cancel()
	written, err := w.send(ctx, op)
	switch {
	case apierrors.IsAlreadyExists(err):
		return w.meetHolder(ctx, op, o)
	case err != nil:
		return w.failed(ctx, op, err, o)
	}
	o.succeeded(op, written)
	return nil
}

// send sends the request of an operation and returns the child in the response, if any. A delete
// has the UID as a precondition, so it cannot delete a later child with the same name.
func (w *Work) send(ctx context.Context, op plan.Operation) (metav1.Object, error) {
	if op.Kind == plan.KindPod && op.Verb != plan.Patch {
		return w.sendPod(ctx, op)
	}
	c := children()[op.Kind]
	client := w.client(op.Kind)
	if op.Verb == plan.Delete {
		background := metav1.DeletePropagationBackground
		return nil, client.Delete(ctx, op.Name, metav1.DeleteOptions{Preconditions: preconditions(op), PropagationPolicy: &background})
	}
	obj := &unstructured.Unstructured{Object: c.fields(w, op)}
	obj.SetUID(op.UID)
	obj.SetResourceVersion(op.ResourceVersion)
	if op.Verb == plan.Patch {
		body, _ := json.Marshal(obj.Object) // cannot fail, because the fields consist of JSON values
		return client.Patch(ctx, op.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: kinds.FieldManager})
	}
	obj.SetAPIVersion(c.resource.GroupVersion().String())
	obj.SetKind(c.kind)
	obj.SetName(op.Name)
	obj.SetOwnerReferences([]metav1.OwnerReference{w.Owner})
	if op.Verb == plan.Create {
		return client.Create(ctx, obj, metav1.CreateOptions{FieldManager: kinds.FieldManager})
	}
	return client.Apply(ctx, op.Name, obj, metav1.ApplyOptions{FieldManager: kinds.FieldManager, Force: true})
}

func preconditions(op plan.Operation) *metav1.Preconditions {
	p := metav1.NewUIDPreconditions(string(op.UID))
	if op.ResourceVersion != "" {
		p.ResourceVersion = &op.ResourceVersion
	}
	return p
}

// meetHolder handles a create whose name is taken. If the owner controls the existing child, that child counts as
// written, although the cache lacks it. Otherwise, the create counts as refused, and the child is not touched.
func (w *Work) meetHolder(ctx context.Context, op plan.Operation, o *Outcome) error {
	holder, err := w.client(op.Kind).Get(ctx, op.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return ErrConflict // the child was deleted in the meantime
	case err != nil:
		return w.failed(ctx, op, fmt.Errorf("read %s %s, which has the name of one to create: %w", op.Kind, op.Name, err), o)
	}
	if taken := w.takenBy(op, holder); taken != "" {
		if stopped := o.refuse(op, op.Slot, "NameTaken", taken); op.Verb == plan.Try {
			return stopped
		}
		return nil // creates with other names may succeed
	}
	if _, labeled := holder.GetLabels()[apis.LabelOwner]; op.Kind == plan.KindRevision && !labeled {
		// The cache selects revisions by this label, so add the label.
		op.Verb, op.UID, op.ResourceVersion = plan.Patch, holder.GetUID(), holder.GetResourceVersion()
		op.Number = max(op.Number, revisionNumber(holder))
		return w.write(ctx, op, o)
	}
	o.wrote(op.Kind, holder)
	return nil
}

// takenBy returns a message if the child with the wanted name belongs to someone else, or "".
func (w *Work) takenBy(op plan.Operation, holder *unstructured.Unstructured) string {
	if ownerUID(holder) == w.Owner.UID {
		return ""
	}
	return plan.NameTaken(w.Kind.Kind, children()[op.Kind].kind+" "+op.Name, describeOwner(metav1.GetControllerOfNoCopy(holder)))
}

// failed handles the error of an operation: a change since the plan, a terminating namespace, a refusal,
// or a failure that is worth an early retry. It returns nil if the batch can continue.
func (w *Work) failed(ctx context.Context, op plan.Operation, err error, o *Outcome) error {
	creates := op.Verb == plan.Create || op.Verb == plan.Apply
	reason, refused := RefusalReason(err)
	switch {
	case op.Verb == plan.Delete && apierrors.IsNotFound(err):
		return nil // the child is already gone
	case op.Verb == plan.Try && reason == "QuotaExceeded":
		return nil // the deletion of the pod to replace makes room
	case namespaceEnds(err):
		o.note(func() { o.Ending = true })
		return errStopped
	case op.Verb != plan.Create && (apierrors.IsConflict(err) || apierrors.IsNotFound(err)):
		return ErrConflict
	case op.Verb == plan.Create && op.Kind == plan.KindPod && !answered(err):
		o.note(func() { o.Unanswered = append(o.Unanswered, op.Name) })
	}
	if serverFailed(err) && creates || op.Kind == plan.KindRevision && !answered(err) {
		o.note(func() { o.Failing = true })
		reason, refused = "CreateFailed", w.LastTry
	}
	switch {
	case !refused:
		return fmt.Errorf("%s: %w", op, err)
	case op.Verb == plan.Delete && op.Kind != plan.KindRevision:
		o.note(func() { o.failures = append(o.failures, fmt.Errorf("%s: %w", op, err)) }) // other deletions may succeed
		return nil
	}
	message := cmp.Or(statusOf(err).Message, err.Error())
	if op.Kind != plan.KindRevision {
		message = fmt.Sprintf("cannot %s: %s", op, message)
	}
	if op.Verb == plan.Apply {
		if holder, err := w.client(op.Kind).Get(ctx, op.Name, metav1.GetOptions{}); err == nil {
			if taken := w.takenBy(op, holder); taken != "" {
				reason, message = "NameTaken", taken
			}
		}
	}
	return o.refuse(op, slots.None, reason, message)
}

func (w *Work) client(kind plan.Kind) dynamic.ResourceInterface {
	return w.Dynamic.Resource(children()[kind].resource).Namespace(w.Namespace)
}

// Finish returns a context that expires after writeTimeout. It lets a started write finish when the controller stops.
func Finish(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
}

// maxBatch is the maximum number of parallel writes. On a busy server, it determines the controller's share of the
// requests, relative to the scheduler and kubelets. The ReplicaSet controller deletes up to 500 pods at once. An HTTP/2
// connection allows 100 requests at once, so 128 writes need two. Higher values used more resources but were no faster.
const maxBatch = 128

// SlowStart calls do for each item in parallel. It starts with one call and allows one more after each success, so the
// number of calls doubles in the time of one call. It starts no call after the first error, after ctx is done, or while
// proceed returns false. It waits for the calls in flight, and returns the number of calls and the first error.
func SlowStart[T any](
	ctx context.Context, items []T, proceed func(begun int) bool, do func(context.Context, T) error,
) (begun int, err error) {
	results := make(chan error)
	size, running := 1, 0
	for {
		for begun < len(items) && running < size && err == nil && ctx.Err() == nil && proceed(begun) {
			item := items[begun]
			begun, running = begun+1, running+1
			go func() { results <- Recover(ctx, func() error { return do(ctx, item) }) }()
		}
		if running == 0 {
			return begun, err
		}
		failure := <-results
		running--
		switch {
		case failure == nil:
			size = min(size+1, maxBatch)
		case err == nil:
			err = failure
		}
	}
}

// Recover calls do and converts a panic to an error, so that a problem with one object does not stop the controller.
func Recover(ctx context.Context, do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Panicked(ctx, p)
		}
	}()
	return do()
}

// Panicked logs a panic and returns it as an error.
func Panicked(ctx context.Context, p any) error {
	klog.FromContext(ctx).Error(nil, "Reconcile panicked", "panic", p, "stack", string(debug.Stack()))
	return fmt.Errorf("internal error: %v", p)
}
