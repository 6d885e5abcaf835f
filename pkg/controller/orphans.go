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
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// A pod whose identity labels somebody takes away leaves the loop's sight, but
// it is still ours: the controller reference decides. It is labelled again,
//   - when its slot is to be filled and its name turns out to be taken (create),
//   - when it goes out of sight without having been deleted (checkVanished),
//   - when the pods have been listed anew, for what came and went out of sight
//     while nobody watched (orphan scan).
//
// A wrong value of the label hides nothing: the cache selects by its presence
// and finds pods by their reference. A pod of an owner that is gone is the
// garbage collector's, with the label or without.

// orphanScanPage is how many pods an orphan scan reads at a time.
const orphanScanPage = 500

// relabel gives a pod of an owner its identity labels again. Until the cache has
// seen that, nothing is planned for the owner: the pod is known to be there.
func (c *Controller) relabel(ctx context.Context, pod *corev1.Pod, owner metav1.OwnerReference) (*corev1.Pod, error) {
	o := c.kinds.of(&owner)
	if o == nil {
		return nil, fmt.Errorf("label pod %s again: %s is not reconciled any more", pod.Name, owner.Kind)
	}
	slot, replaces := slotOf(pod, owner)
	creation := plan.Creation{Slot: slot, Replaces: replaces}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":    pod.UID, // a precondition: not another pod of the name
		"labels": identity(nil, o.kind, owner, creation),
	}})
	if err != nil {
		return nil, fmt.Errorf("label pod %s again: %w", pod.Name, err)
	}
	ctx, cancel := finish(ctx)
	defer cancel()
	labelled, err := c.core.Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: kinds.FieldManager})
	if err != nil {
		return nil, fmt.Errorf("label pod %s again: %w", pod.Name, err)
	}
	c.expectations.setLabelled(key{kind: o.kind.CRD(), namespace: pod.Namespace, name: owner.Name}, labelled.ResourceVersion)
	return labelled, nil
}

// unlabelled reports whether a pod is an owner's and lacks the label to be seen by.
func unlabelled(pod *corev1.Pod, owner types.UID) bool {
	ref := metav1.GetControllerOfNoCopy(pod)
	return ref != nil && ref.UID == owner && pod.Labels[apis.LabelOwner] != string(owner)
}

// checkOrphans looks at the pods of an object that went out of sight without
// having been deleted as far as the loop knows. Those it could not look at stay
// to be looked for, when the error has brought the object into the queue again;
// so do those whose labels the server refuses, when that may have changed: of
// these refused tells.
func (c *Controller) checkOrphans(ctx context.Context, k key) (refused string, err error) {
	var mu sync.Mutex
	orphans := c.expectations.takeOrphans(k)
	begun, err := slowStart(ctx, orphans, func() bool { return true }, func(ctx context.Context, r *podRecord) error {
		pod, err := c.core.Pods(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
		switch {
		case err != nil || pod.UID != r.UID || !unlabelled(pod, r.ownerUID()):
		case c.leftAlone(r.Namespace, r.controller()):
			c.expectations.addOrphan(k, r) // until the selector takes the object in again
		default:
			var gone bool
			if gone, err = c.ownerGone(ctx, r.Namespace, r.controller()); gone || err != nil {
				break
			}
			_, err = c.relabel(ctx, pod, *r.controller())
			if _, no := refusalReason(err); no && !apierrors.IsNotFound(err) {
				c.expectations.addOrphan(k, r)
				mu.Lock()
				defer mu.Unlock()
				refused = err.Error()
				return nil // the others may well be labelled
			}
		}
		if err != nil && !apierrors.IsNotFound(err) {
			c.expectations.addOrphan(k, r)
			return fmt.Errorf("look for pod %s: %w", r.Name, err)
		}
		return nil
	})
	for _, r := range orphans[begun:] {
		c.expectations.addOrphan(k, r)
	}
	return refused, err
}

// requestOrphanScan asks for an orphan scan that begins after the call. It may be one that was
// called for before and has not begun.
func (c *Controller) requestOrphanScan() {
	select {
	case c.orphanScans <- struct{}{}:
	default:
	}
}

// scanOrphansOnRequest scans for orphans, one scan at a time, until the context ends.
func (c *Controller) scanOrphansOnRequest(ctx context.Context) {
	var again <-chan time.Time
	for {
		select {
		case <-c.orphanScans:
		case <-again:
		case <-ctx.Done():
			return
		}
		again = nil
		if err := c.scanOrphans(ctx); err != nil && ctx.Err() == nil {
			c.logf("%v; trying again in %s", strings.ReplaceAll(err.Error(), "\n", "; "), lastRetry)
			again = time.After(lastRetry)
		}
	}
}

// scanOrphans labels the pods that lost their labels where the cache could not see
// it. It begins after the cache's list: what loses its label after that list,
// the watch tells of; what lost it before, the orphan scan finds. One that cannot be
// labelled does not keep the others from it.
func (c *Controller) scanOrphans(ctx context.Context) error {
	var errs []error
	opts := metav1.ListOptions{LabelSelector: "!" + apis.LabelOwner, Limit: orphanScanPage}
	for {
		page, err := c.core.Pods(c.namespace).List(ctx, opts)
		if err != nil {
			return errors.Join(append(errs, fmt.Errorf("look for pods without labels: %w", err))...)
		}
		for i := range page.Items {
			pod := &page.Items[i]
			ref := metav1.GetControllerOfNoCopy(pod)
			if ref == nil || c.kinds.ofPod(ref) == nil || c.leftAlone(pod.Namespace, ref) {
				continue
			}
			gone, err := c.ownerGone(ctx, pod.Namespace, ref)
			if !gone && err == nil {
				_, err = c.relabel(ctx, pod, *ref)
			}
			switch _, refused := refusalReason(err); {
			case err == nil, apierrors.IsNotFound(err):
			case refused:
				c.leaveUnlabelled(pod, ref)
			default:
				errs = append(errs, err)
			}
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			return errors.Join(errs...)
		}
	}
}

// leaveUnlabelled leaves a pod that cannot be labelled to the reconciles of its
// owner, which try again now and then.
func (c *Controller) leaveUnlabelled(pod *corev1.Pod, ref *metav1.OwnerReference) {
	o := c.kinds.of(ref)
	trimmed, err := trimPod(pod)
	r, ok := trimmed.(*podRecord)
	if o == nil || err != nil || !ok {
		return
	}
	k := key{kind: o.kind.CRD(), namespace: pod.Namespace, name: ref.Name}
	c.expectations.addOrphan(k, r)
	c.wake(k, "pod", pod.Name, "cannot be labelled")
}

// ownerGone reports whether the object that a reference names is not there any
// more, also where another has its name. The server knows what the cache does not.
func (c *Controller) ownerGone(ctx context.Context, namespace string, ref *metav1.OwnerReference) (bool, error) {
	o := c.kinds.of(ref)
	if o == nil {
		return true, nil
	}
	if cached := o.get(namespace, ref.Name); cached != nil && cached.GetUID() == ref.UID {
		return false, nil
	}
	now, err := o.client.Namespace(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s %s, which a pod without labels names: %w", ref.Kind, ref.Name, err)
	}
	return now.GetUID() != ref.UID, nil
}

// leftAlone says that the selector leaves out the object that a reference names,
// as far as is known.
func (c *Controller) leftAlone(namespace string, ref *metav1.OwnerReference) bool {
	o := c.kinds.of(ref)
	if o == nil {
		return true
	}
	_, synced := o.cached()
	return !c.selector.Empty() && synced && o.get(namespace, ref.Name) == nil
}
