package controller

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// podRecord is what the loop keeps of a pod: a tenth of the object. It keeps
// the resourceVersion, by which the cache tells how far it has come.
type podRecord struct {
	metav1.ObjectMeta
	finished   bool
	ready      bool
	readySince time.Time
	slot       plan.Slot
	replaces   types.UID
	template   string
	// label is the UID in the identity label, and deployment the name of the
	// Deployment that has the pod through a ReplicaSet; "": none has.
	label      types.UID
	deployment string
}

// The indexes of pods: by their controller's UID, and, of those of Deployments,
// by the UID in the identity label.
const (
	byOwner = "owner"
	byLabel = "label"
)

// podInformer watches the pods that carry the loop's identity label.
func (c *Controller) podInformer() (cache.SharedIndexInformer, error) {
	pods := c.core.Pods(c.namespace)
	return c.informer(informerSource{
		resource: "pods",
		list: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			opts.LabelSelector = apis.LabelOwner
			return pods.List(ctx, opts)
		},
		watch: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			opts.LabelSelector = apis.LabelOwner
			return pods.Watch(ctx, opts)
		},
		listed: c.requestOrphanScan,
	}, c.core, &corev1.Pod{}, trimPod, cache.Indexers{byOwner: indexByOwner, byLabel: indexByLabel}, nil)
}

// trimPod makes the record of a pod before it is stored.
func trimPod(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil // already trimmed, or a tombstone
	}
	r := &podRecord{
		ObjectMeta: metav1.ObjectMeta{
			Name:              pod.Name,
			Namespace:         pod.Namespace,
			UID:               pod.UID,
			ResourceVersion:   pod.ResourceVersion,
			DeletionTimestamp: pod.DeletionTimestamp,

			DeletionGracePeriodSeconds: pod.DeletionGracePeriodSeconds,
		},
		finished: pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
		slot:     plan.NoSlot,
		template: pod.Labels[apis.LabelTemplateHash],
		label:    types.UID(pod.Labels[apis.LabelOwner]),
	}
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		r.OwnerReferences = []metav1.OwnerReference{*ref}
		r.slot, r.replaces = slotOf(pod, *ref)
		if hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; ref.Kind == "ReplicaSet" && hash != "" {
			r.deployment, _ = strings.CutSuffix(ref.Name, "-"+hash)
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			r.ready, r.readySince = true, c.LastTransitionTime.Time
		}
	}
	return r, nil
}

// slotOf is the slot that a pod's name stands for, and the lost pod that it
// replaces. Anybody may write the label that tells of one; the name, which nobody
// can change, decides whether it is true.
func slotOf(pod *corev1.Pod, owner metav1.OwnerReference) (plan.Slot, types.UID) {
	replaces := types.UID(pod.Labels[apis.LabelReplaces])
	if slot := plan.SlotOf(pod.Name, owner.Name, owner.UID, replaces); slot != plan.NoSlot {
		return slot, replaces
	}
	return plan.SlotOf(pod.Name, owner.Name, owner.UID, ""), ""
}

// controller is the pod's controller reference, nil if it has none.
func (r *podRecord) controller() *metav1.OwnerReference {
	if len(r.OwnerReferences) == 0 {
		return nil
	}
	return &r.OwnerReferences[0]
}

// differs reports whether a plan could tell the two records apart.
func (r podRecord) differs(old podRecord) bool {
	if r.deployment != "" && r.deployment == old.deployment {
		r.ready, old.ready = false, false // that is the Deployment's to tell
	}
	return r.UID != old.UID || r.finished != old.finished || r.ready != old.ready || r.template != old.template || r.replaces != old.replaces ||
		(r.DeletionTimestamp == nil) != (old.DeletionTimestamp == nil) || r.ownerUID() != old.ownerUID()
}

func (r *podRecord) ownerUID() types.UID {
	if ref := r.controller(); ref != nil {
		return ref.UID
	}
	return ""
}

func indexByOwner(obj any) ([]string, error) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return nil, fmt.Errorf("index an object by its owner: unexpected %T", obj)
	}
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return []string{string(ref.UID)}, nil
	}
	return nil, nil
}

func indexByLabel(obj any) ([]string, error) {
	r, ok := obj.(*podRecord)
	if !ok {
		return nil, fmt.Errorf("index a pod by its label: unexpected %T", obj)
	}
	if r.deployment == "" {
		return nil, nil
	}
	return []string{string(r.label)}, nil
}

// podView is what the plan reads of a pod.
func (r *podRecord) podView() plan.Pod {
	p := plan.Pod{
		Name:       r.Name,
		UID:        r.UID,
		Slot:       r.slot,
		Replaces:   r.replaces,
		Finished:   r.finished,
		Ready:      r.ready,
		ReadySince: r.readySince,
		Template:   r.template,
		Deployment: r.deployment,
	}
	if r.DeletionTimestamp != nil {
		p.Terminating = true
		if r.DeletionGracePeriodSeconds != nil {
			p.Grace = time.Duration(*r.DeletionGracePeriodSeconds) * time.Second
		}
	}
	return p
}

// newPod makes a pod from the owner's template.
func newPod(kind kinds.Kind, owner metav1.OwnerReference, of plan.Owner, namespace string, c plan.Creation) *corev1.Pod {
	template := of.Template
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            plan.PodName(owner.Name, owner.UID, c.Replaces, c.Slot),
			Namespace:       namespace,
			Labels:          identity(template.Labels, kind, owner, c),
			Annotations:     template.Annotations,
			Finalizers:      template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: template.Spec,
	}
	if of.TemplateHash != "" {
		pod.Labels[apis.LabelTemplateHash] = of.TemplateHash
	}
	if c.Node != "" {
		forNode(pod, c.Node)
	}
	return pod
}

// identity adds the labels by which the loop finds a pod to those of the template.
func identity(labels map[string]string, kind kinds.Kind, owner metav1.OwnerReference, c plan.Creation) map[string]string {
	all := make(map[string]string, len(labels)+3)
	maps.Copy(all, labels)
	if kind.Mapping.NameLabel != "" {
		all[kind.Mapping.NameLabel] = owner.Name
	}
	all[apis.LabelOwner] = string(owner.UID)
	if c.Slot != plan.NoSlot {
		all[apis.LabelSlot] = c.Slot.String()
	}
	if c.Replaces != "" {
		all[apis.LabelReplaces] = string(c.Replaces)
	}
	return all
}
