package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/expectations"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/queue"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// A pod whose identity labels somebody takes away leaves the loop's sight, but
// it is still ours: the controller reference decides. It is labelled again,
//   - when its slot is to be filled and its name turns out to be taken (create),
//   - when it goes out of sight without having been deleted (check),
//   - when the pods have been listed anew, for what came and went out of sight
//     while nobody watched (scan).
//
// While the owner is paused, it waits for the end of that.
//
// A wrong value of the label hides nothing: the cache selects by its presence
// and finds pods by their reference. A pod of an owner that is gone is the
// garbage collector's, with the label or without.

// orphanScanPage is how many pods an orphan scan reads at a time.
const orphanScanPage = 500

// orphanScanner finds the pods that lost their labels, and labels them again.
type orphanScanner struct {
	*loop
	requests chan struct{} // holds at most one request for a scan
}

// relabel gives a pod of an owner its identity labels again. Until the cache has
// seen that, nothing is planned for the owner: the pod is known to be there.
func (s *orphanScanner) relabel(ctx context.Context, pod *corev1.Pod, owner metav1.OwnerReference) (*corev1.Pod, error) {
	o := s.kinds.of(&owner)
	if o == nil {
		return nil, fmt.Errorf("restore the labels of pod %s: %s is no longer reconciled", pod.Name, owner.Kind)
	}
	slot, replaces := slots.OfPod(pod, owner.Name, owner.UID)
	creation := plan.Creation{Slot: slot, Replaces: replaces}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":    pod.UID, // a precondition: not another pod of the name
		"labels": strategy.Identity(nil, o.kind, owner, creation),
	}})
	if err != nil {
		return nil, fmt.Errorf("restore the labels of pod %s: %w", pod.Name, err)
	}
	ctx, cancel := strategy.Finish(ctx)
	defer cancel()
	labelled, err := s.Core.Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: kinds.FieldManager})
	if err != nil {
		return nil, fmt.Errorf("restore the labels of pod %s: %w", pod.Name, err)
	}
	s.expectations.Orphans.SetLabelled(o.keyOf(pod.Namespace, owner.Name), labelled.ResourceVersion)
	return labelled, nil
}

// check looks at the pods of an object that went out of sight without
// having been deleted as far as the loop knows. Those it could not look at stay
// to be looked for, when the error has brought the object into the queue again;
// so do those whose labels the server refuses, when that may have changed: of
// these refused tells.
func (s *orphanScanner) check(ctx context.Context, k expectations.Key) (refused string, err error) {
	var mu sync.Mutex
	orphans := s.expectations.Orphans.Take(k)
	begun, err := strategy.SlowStart(ctx, orphans, func() bool { return true }, func(ctx context.Context, r *strategy.PodRecord) error {
		pod, err := s.Core.Pods(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
		switch {
		case err != nil || pod.UID != r.UID || !metav1.IsControlledBy(pod, &metav1.ObjectMeta{UID: r.OwnerUID()}):
			// It is gone or released: the cache hears no more of it.
		case !strategy.Unlabelled(pod, r.OwnerUID()): // perhaps by this loop, and the answer was lost
			s.expectations.Orphans.SetLabelled(k, pod.ResourceVersion)
		case s.leftAlone(r.Namespace, r.Controller()):
			s.expectations.Orphans.Add(k, r) // until the selector takes the object in again
		default:
			err = s.restore(ctx, pod, r.Controller())
			if errors.Is(err, errOwnerPaused) {
				s.expectations.Orphans.Add(k, r) // until the pause ends
				return nil
			}
			if _, no := strategy.RefusalReason(err); no && !apierrors.IsNotFound(err) {
				s.expectations.Orphans.Add(k, r)
				mu.Lock()
				defer mu.Unlock()
				refused = err.Error()
				return nil // the others may well be labelled
			}
		}
		if err != nil && !apierrors.IsNotFound(err) {
			s.expectations.Orphans.Add(k, r)
			return fmt.Errorf("find pod %s: %w", r.Name, err)
		}
		return nil
	})
	for _, r := range orphans[begun:] {
		s.expectations.Orphans.Add(k, r)
	}
	return refused, err
}

// request asks for an orphan scan that begins after the call. It may be one that was
// called for before and has not begun.
func (s *orphanScanner) request() {
	select {
	case s.requests <- struct{}{}:
	default:
	}
}

// run scans for orphans, one scan at a time, until the context ends.
func (s *orphanScanner) run(ctx context.Context) {
	var again <-chan time.Time
	for {
		select {
		case <-s.requests:
		case <-again:
		case <-ctx.Done():
			return
		}
		again = nil
		if err := s.scan(ctx); err != nil && ctx.Err() == nil {
			s.report.Logf("%v; trying again in %s", strings.ReplaceAll(err.Error(), "\n", "; "), queue.LastRetry)
			again = time.After(queue.LastRetry)
		}
	}
}

// scan labels the pods that lost their labels where the cache could not see
// it. It begins after the cache's list: what loses its label after that list,
// the watch tells of; what lost it before, the orphan scan finds. One that cannot be
// labelled does not keep the others from it.
func (s *orphanScanner) scan(ctx context.Context) error {
	opts := metav1.ListOptions{LabelSelector: "!" + apis.LabelOwner, Limit: orphanScanPage}
	for {
		page, err := s.Core.Pods(s.Namespace).List(ctx, opts)
		if err != nil {
			return fmt.Errorf("find pods without labels: %w", err)
		}
		for i := range page.Items {
			pod := &page.Items[i]
			ref := metav1.GetControllerOfNoCopy(pod)
			if ref == nil || s.kinds.ofPod(ref) == nil || s.leftAlone(pod.Namespace, ref) {
				continue
			}
			if err := s.restore(ctx, pod, ref); err != nil && !apierrors.IsNotFound(err) {
				s.leaveUnlabelled(pod, ref)
			}
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			return nil
		}
	}
}

// errOwnerPaused says that the labels of a pod stay as they are until a pause ends.
var errOwnerPaused = errors.New("the owner is paused")

// restore labels a pod again, unless its owner is gone or paused.
func (s *orphanScanner) restore(ctx context.Context, pod *corev1.Pod, ref *metav1.OwnerReference) error {
	owner, err := s.owner(ctx, pod.Namespace, ref)
	if owner == nil || err != nil {
		return err
	}
	if owner.GetDeletionTimestamp() == nil && apis.ReadPause(owner.GetAnnotations()).Active(s.Clock.Now()) {
		return errOwnerPaused
	}
	_, err = s.relabel(ctx, pod, *ref)
	return err
}

// leaveUnlabelled leaves a pod that may not have been labelled to the reconciles of its
// owner, which look at it first, and try again.
func (s *orphanScanner) leaveUnlabelled(pod *corev1.Pod, ref *metav1.OwnerReference) {
	o := s.kinds.of(ref)
	trimmed, err := strategy.TrimPod(pod)
	r, ok := trimmed.(*strategy.PodRecord)
	if o == nil || err != nil || !ok {
		return
	}
	k := o.keyOf(pod.Namespace, ref.Name)
	s.expectations.Orphans.Add(k, r)
	s.queue.Wake(k, "pod", pod.Name, "cannot be labeled")
}

// owner is the object that a reference names, nil where it is not there any more, also
// where another has its name. The server knows what the cache does not.
func (s *orphanScanner) owner(ctx context.Context, namespace string, ref *metav1.OwnerReference) (*unstructured.Unstructured, error) {
	o := s.kinds.of(ref)
	if o == nil {
		return nil, nil //nolint:nilnil // its kind is not reconciled
	}
	if cached := o.get(namespace, ref.Name); cached != nil && cached.GetUID() == ref.UID {
		return cached, nil
	}
	now, err := o.client.Namespace(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && now.GetUID() != ref.UID {
		return nil, nil //nolint:nilnil // it is gone
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s, the owner of a pod without labels: %w", ref.Kind, ref.Name, err)
	}
	return now, nil
}

// leftAlone says that the selector leaves out the object that a reference names,
// as far as is known.
func (s *orphanScanner) leftAlone(namespace string, ref *metav1.OwnerReference) bool {
	o := s.kinds.of(ref)
	if o == nil {
		return true
	}
	_, synced := o.cached()
	return !s.Selector.Empty() && synced && o.get(namespace, ref.Name) == nil
}
