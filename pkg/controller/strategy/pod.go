package strategy

import (
	"context"
	"maps"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// PodSource returns a source that watches all pods, because a pod may have lost its labels.
func PodSource(c Clients) informer.Source {
	s := informer.SourceOf("pods", follow.SourceOf(c.Core.Pods(c.Namespace)), &corev1.Pod{}, trimPod, podsEqual)
	s.Singular = "pod"
	s.Indexers = cache.Indexers{ByOwner: indexByOwner, ByLabel: indexByLabel}
	return s
}

// trimPod returns the cached part of a pod. If the pod might belong to an owner, this is a record of about a tenth of
// the pod's size. Otherwise, it is a stub: only a *metav1.ObjectMeta.
func trimPod(pod *corev1.Pod) any {
	meta := trimMeta(pod)
	if !mayBeOurs(pod) {
		meta.OwnerReferences = nil
		return &meta
	}
	p := plan.Pod{
		Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		Slot:        slots.None,
		Finished:    problem.Finished(pod),
		Terminating: pod.DeletionTimestamp != nil,
		Grace:       time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second,
		Template:    pod.Labels[apis.LabelTemplateHash],
		Label:       types.UID(pod.Labels[apis.LabelOwner]),
	}
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		p.Slot, p.Replaces = slots.OfPod(pod, ref.Name, ref.UID)
		if hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; ref.Kind == "ReplicaSet" && hash != "" {
			p.Deployment, _ = strings.CutSuffix(ref.Name, "-"+hash)
		}
	}
	p.Ready, p.ReadySince = problem.Ready(pod)
	p.FailureCode, p.Failure = problem.Lasting(pod)
	return &Record[plan.Pod]{meta, p}
}

// mayBeOurs reports whether the pod has the owner label or is controlled by a custom resource. It accepts custom
// resources of any kind, because their CRD might declare the kind later.
func mayBeOurs(pod *corev1.Pod) bool {
	if _, labeled := pod.Labels[apis.LabelOwner]; labeled {
		return true
	}
	ref := ptr.Deref(metav1.GetControllerOfNoCopy(pod), metav1.OwnerReference{})
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	return strings.Contains(group, ".") // the group of a CRD always contains a dot
}

// podsEqual reports whether plans and the log can ignore the difference between two states of a pod.
func podsEqual(before, after *Record[plan.Pod]) bool {
	a, b := before.Child, after.Child
	if a.Deployment != "" && a.Deployment == b.Deployment {
		a.Ready, b.Ready = false, false // ready pods are counted in the Deployment's status
	}
	a.ResourceVersion, b.ResourceVersion = "", ""
	a.ReadySince, b.ReadySince = time.Time{}, time.Time{}
	a.Failure, b.Failure = "", "" // the text may change while the code stays
	return a == b && ownerUID(before) == ownerUID(after)
}

func indexByLabel(obj any) ([]string, error) {
	r, ok := obj.(*Record[plan.Pod])
	if !ok || r.Child.Deployment == "" {
		return nil, nil
	}
	return []string{string(r.Child.Label)}, nil
}

// newPod returns a new pod from the owner's template. The controller's labels override the labels of the template.
func (w *Work) newPod(op plan.Operation) *corev1.Pod {
	template := w.Of.Template
	labels := map[string]string{}
	maps.Copy(labels, template.Labels)
	maps.Copy(labels, w.identity(op))
	labels[apis.LabelTemplateHash] = w.Of.TemplateHash
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            op.Name,
			Namespace:       w.Namespace,
			Labels:          labels,
			Annotations:     template.Annotations,
			Finalizers:      template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{w.Owner},
		},
		Spec: template.Spec,
	}
	if op.Node != "" {
		forNode(pod, op.Node)
	}
	return pod
}

// identity returns the labels that users and selectors use to find a pod.
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

func identityFields(w *Work, op plan.Operation) map[string]any {
	var pod unstructured.Unstructured
	pod.SetLabels(w.identity(op))
	return pod.Object
}

// sendPod creates or deletes a pod with the typed client, which uses protobuf. It does not call that
// client's Delete method, because that method does not return the deleted pod.
func (w *Work) sendPod(ctx context.Context, op plan.Operation) (metav1.Object, error) {
	switch options := (metav1.CreateOptions{FieldManager: kinds.FieldManager}); op.Verb {
	case plan.Try:
		options.DryRun = []string{metav1.DryRunAll}
		_, err := w.Core.Pods(w.Namespace).Create(ctx, w.newPod(op), options)
		return nil, err
	case plan.Create:
		return w.Core.Pods(w.Namespace).Create(ctx, w.newPod(op), options)
	}
	pod := &corev1.Pod{}
	return pod, w.Core.RESTClient().Delete().Namespace(w.Namespace).Resource("pods").Name(op.Name).
		Body(&metav1.DeleteOptions{Preconditions: preconditions(op)}).Do(ctx).Into(pod)
}
