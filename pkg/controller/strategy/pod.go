package strategy

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// PodRecord is what the loop keeps of a pod that it may have to do with: a tenth of
// the object. Of any other pod it keeps a stub, a *metav1.ObjectMeta.
type PodRecord struct {
	metav1.ObjectMeta
	finished   bool
	ready      bool
	readySince time.Time
	slot       slots.Slot
	replaces   types.UID
	template   string
	// unlabelled says that the pod lacks the identity label of its controller.
	unlabelled bool
	// Label is the UID in the identity label, and Deployment the name of the
	// one that has the pod through a ReplicaSet; "": none has.
	Label      types.UID
	Deployment string
	// Failure says why the pod will not become ready without help, FailureCode is
	// that in a word; "": it may.
	Failure     string
	FailureCode problem.Code
}

// ByOwner and ByLabel are the indexes of pods: by their controller's UID, and, of those of Deployments,
// by the UID in the identity label.
const (
	ByOwner = "owner"
	ByLabel = "label"
)

// PodSource watches all pods: no label can hide one from its owner.
func PodSource(c Clients) informer.Source {
	pods := c.Core.Pods(c.Namespace)
	return informer.Source{
		Resource: "pods",
		List:     informer.Lists(pods.List),
		Watch:    pods.Watch,
		Client:   c.Core, Example: &corev1.Pod{}, Trim: TrimPod,
		Indexers: cache.Indexers{ByOwner: IndexByOwner, ByLabel: IndexByLabel},
	}
}

// TrimPod makes the record or the stub of a pod before it is stored.
func TrimPod(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil // already trimmed, or a tombstone
	}
	if !mayBeOurs(pod) {
		return &metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, ResourceVersion: pod.ResourceVersion}, nil
	}
	r := &PodRecord{
		ObjectMeta: metav1.ObjectMeta{
			Name:              pod.Name,
			Namespace:         pod.Namespace,
			UID:               pod.UID,
			ResourceVersion:   pod.ResourceVersion,
			DeletionTimestamp: pod.DeletionTimestamp,

			DeletionGracePeriodSeconds: pod.DeletionGracePeriodSeconds,
		},
		finished: problem.Finished(pod),
		slot:     slots.None,
		template: pod.Labels[apis.LabelTemplateHash],
		Label:    types.UID(pod.Labels[apis.LabelOwner]),
	}
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		r.OwnerReferences = []metav1.OwnerReference{*ref}
		r.slot, r.replaces = slots.OfPod(pod, ref.Name, ref.UID)
		r.unlabelled = r.Label != ref.UID
		if hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; ref.Kind == "ReplicaSet" && hash != "" {
			r.Deployment, _ = strings.CutSuffix(ref.Name, "-"+hash)
		}
	}
	if ready, since := problem.Ready(pod); ready {
		r.ready, r.readySince = true, since
	}
	r.FailureCode, r.Failure = problem.Lasting(pod)
	return r, nil
}

// mayBeOurs reports whether a custom resource controls the pod, or the pod has the
// identity label. CRDs may be declared while the loop runs, so the kind is not compared.
func mayBeOurs(pod *corev1.Pod) bool {
	if _, labelled := pod.Labels[apis.LabelOwner]; labelled {
		return true
	}
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return false
	}
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	return strings.Contains(group, ".") // that of a CRD has a dot
}

// Counts reports whether the pod is there to stay, and whether it is ready.
func (r *PodRecord) Counts() (active, ready bool) {
	active = !r.finished && r.DeletionTimestamp == nil
	return active, active && r.ready
}

// Controller is the pod's controller reference, nil if it has none.
func (r *PodRecord) Controller() *metav1.OwnerReference {
	if len(r.OwnerReferences) == 0 {
		return nil
	}
	return &r.OwnerReferences[0]
}

// Differs reports whether a plan or the log could tell the two records apart.
func (r PodRecord) Differs(old PodRecord) bool {
	if r.Deployment != "" && r.Deployment == old.Deployment {
		r.ready, old.ready = false, false // that is the Deployment's to tell
	}
	return r.UID != old.UID || r.finished != old.finished || r.ready != old.ready || r.template != old.template || r.replaces != old.replaces || r.unlabelled != old.unlabelled || r.FailureCode != old.FailureCode ||
		(r.DeletionTimestamp == nil) != (old.DeletionTimestamp == nil) || r.OwnerUID() != old.OwnerUID()
}

// OwnerUID is the UID of the pod's controller, "" if it has none.
func (r *PodRecord) OwnerUID() types.UID {
	if ref := r.Controller(); ref != nil {
		return ref.UID
	}
	return ""
}

// IndexByOwner indexes objects by the UID of their controller.
func IndexByOwner(obj any) ([]string, error) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return nil, fmt.Errorf("index an object by its owner: unexpected %T", obj)
	}
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return []string{string(ref.UID)}, nil
	}
	return nil, nil
}

// IndexByLabel indexes the pods of Deployments by the UID in the identity label.
func IndexByLabel(obj any) ([]string, error) {
	r, ok := obj.(*PodRecord)
	if !ok || r.Deployment == "" {
		return nil, nil
	}
	return []string{string(r.Label)}, nil
}

// podView is what the plan reads of a pod.
func (r *PodRecord) podView() plan.Pod {
	p := plan.Pod{
		Name:       r.Name,
		UID:        r.UID,
		Slot:       r.slot,
		Replaces:   r.replaces,
		Finished:   r.finished,
		Ready:      r.ready,
		ReadySince: r.readySince,
		Template:   r.template,
		Unlabelled: r.unlabelled,
		Deployment: r.Deployment,

		ResourceVersion: r.ResourceVersion,
	}
	if r.DeletionTimestamp != nil {
		p.Terminating = true
		if r.DeletionGracePeriodSeconds != nil {
			p.Grace = time.Duration(*r.DeletionGracePeriodSeconds) * time.Second
		}
	}
	return p
}

// newPod returns the pod to create, made from the owner's template.
func (w *Work) newPod(op plan.Operation) *corev1.Pod {
	template := w.Of.Template
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            op.Name,
			Namespace:       w.Namespace,
			Labels:          w.identity(op),
			Annotations:     template.Annotations,
			Finalizers:      template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{w.Owner},
		},
		Spec: template.Spec,
	}
	for name, value := range template.Labels {
		if _, ours := pod.Labels[name]; !ours {
			pod.Labels[name] = value
		}
	}
	if w.Of.TemplateHash != "" {
		pod.Labels[apis.LabelTemplateHash] = w.Of.TemplateHash
	}
	if op.Node != "" {
		forNode(pod, op.Node)
	}
	return pod
}

// identity returns the labels by which people and selectors find a pod.
func (w *Work) identity(op plan.Operation) map[string]string {
	labels := map[string]string{}
	if name := w.Kind.Mapping.NameLabel; name != "" {
		labels[name] = w.Owner.Name
	}
	labels[apis.LabelOwner] = string(w.Owner.UID)
	if op.Slot != slots.None {
		labels[apis.LabelSlot] = op.Slot.String()
	}
	if op.Replaces != "" {
		labels[apis.LabelReplaces] = string(op.Replaces)
	}
	return labels
}

// identityFields returns the patch that restores the identity labels of a pod.
func identityFields(w *Work, op plan.Operation) (map[string]any, error) {
	labels := map[string]any{}
	for name, value := range w.identity(op) {
		labels[name] = value
	}
	return map[string]any{"metadata": map[string]any{"labels": labels}}, nil
}

// sendPod creates or deletes a pod by the typed client, which speaks protobuf. Its
// own Delete does not return the pod.
func (w *Work) sendPod(ctx context.Context, op plan.Operation) (metav1.Object, error) {
	if op.Verb == plan.Create {
		return w.Core.Pods(w.Namespace).Create(ctx, w.newPod(op), metav1.CreateOptions{FieldManager: kinds.FieldManager})
	}
	pod := &corev1.Pod{}
	return pod, w.Core.RESTClient().Delete().Namespace(w.Namespace).Resource("pods").Name(op.Name).
		Body(&metav1.DeleteOptions{Preconditions: preconditions(op)}).Do(ctx).Into(pod)
}
