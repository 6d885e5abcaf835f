package controller

import (
	"context"
	"fmt"
	"maps"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// deploymentResource is the built-in one. It is read and written as fields:
// what a plan compares and server-side apply sends are fields.
func deploymentResource() schema.GroupVersionResource {
	return appsv1.SchemeGroupVersion.WithResource("deployments")
}

// deploymentRecord is what the loop keeps of a Deployment: of one that is not
// an owner's no more than whose it is.
type deploymentRecord struct {
	metav1.ObjectMeta
	plan plan.Deployment
}

// deploymentInformer watches all Deployments: one that is not ours may have a
// name that we want, until it goes away.
func (c *Controller) deploymentInformer() (cache.SharedIndexInformer, error) {
	deployments := c.dynamic.Resource(deploymentResource()).Namespace(c.namespace)
	return c.informer(informerSource{
		resource: "deployments",
		list: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return deployments.List(ctx, opts)
		},
		watch: deployments.Watch,
	}, c.dynamic, &unstructured.Unstructured{}, trimDeployment, cache.Indexers{byOwner: indexByOwner}, nil)
}

// trimDeployment makes the record of a Deployment before it is stored.
func trimDeployment(obj any) (any, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil // already trimmed, or a tombstone
	}
	return newDeploymentRecord(u)
}

func newDeploymentRecord(u *unstructured.Unstructured) (*deploymentRecord, error) {
	ref := metav1.GetControllerOfNoCopy(u)
	r := &deploymentRecord{
		ObjectMeta: metav1.ObjectMeta{Name: u.GetName(), Namespace: u.GetNamespace(), ResourceVersion: u.GetResourceVersion()},
		plan: plan.Deployment{
			Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(), Whose: belongsTo(ref),
			Terminating: u.GetDeletionTimestamp() != nil,
		},
	}
	if ref == nil {
		return r, nil
	}
	r.OwnerReferences = []metav1.OwnerReference{*ref}
	// The selector, which nobody can change, tells those that this program made,
	// whatever kinds there are.
	selected, _, _ := unstructured.NestedStringMap(u.Object, "spec", "selector", "matchLabels")
	if selected[apis.LabelOwner] != string(ref.UID) {
		r.plan.Whose += ", and was made by somebody else"
		return r, nil
	}
	d := &r.plan
	d.Controller = ref.UID
	// All labels that an owner sets are on the pods, too.
	ours, _, _ := unstructured.NestedMap(u.Object, "spec", "template", "metadata", "labels")
	labels, annotations := map[string]any{}, map[string]any{}
	for name := range ours {
		if value, ok := u.GetLabels()[name]; ok {
			labels[name] = value
		}
	}
	if hash, ok := u.GetAnnotations()[apis.LabelTemplateHash]; ok {
		annotations[apis.LabelTemplateHash] = hash
	}
	d.Fields = map[string]any{
		"metadata": map[string]any{"labels": labels, "annotations": annotations},
		"spec":     u.Object["spec"],
	}
	d.Generation = u.GetGeneration()
	stored, _, err := unstructured.NestedMap(u.Object, "status")
	if err != nil {
		return nil, fmt.Errorf("read the status of deployment %s: %w", u.GetName(), err)
	}
	var status appsv1.DeploymentStatus
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored, &status); err != nil {
		return nil, fmt.Errorf("read the status of deployment %s: %w", u.GetName(), err)
	}
	d.ObservedGeneration = status.ObservedGeneration
	d.Current, d.Updated, d.Ready, d.Available = status.Replicas, status.UpdatedReplicas, status.ReadyReplicas, status.AvailableReplicas
	if d.ObservedGeneration >= d.Generation {
		d.Failure = deploymentFailure(status.Conditions)
	}
	return r, nil
}

// deploymentFailure is the condition of a Deployment that says why it does not
// get on, nil if there is none.
func deploymentFailure(conditions []appsv1.DeploymentCondition) *metav1.Condition {
	for _, c := range conditions {
		if (c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue) ||
			(c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse && c.Reason == "ProgressDeadlineExceeded") {
			return &metav1.Condition{Reason: c.Reason, Message: c.Message}
		}
	}
	return nil
}

// differs reports whether a plan could tell the two records apart.
func (r *deploymentRecord) differs(old *deploymentRecord) bool {
	a, b := r.plan, old.plan
	a.ResourceVersion, b.ResourceVersion = "", ""
	return !reflect.DeepEqual(a, b)
}

// wantedFields are those of the Deployment that an object wants. Its pods carry
// the owner's label, by which they are found; its selector, which nobody can
// change once it is there, holds the owner's UID and nothing that could change:
// no Deployment that was made for anything else has it.
// The template becomes a part of them.
func wantedFields(kind kinds.Kind, obj *unstructured.Unstructured, desired int32, template map[string]any) (map[string]any, error) {
	ours := map[string]any{apis.LabelOwner: string(obj.GetUID())}
	labels := maps.Clone(ours)
	if kind.Mapping.NameLabel != "" {
		labels[kind.Mapping.NameLabel] = obj.GetName()
	}
	for name, value := range labels {
		if err := unstructured.SetNestedField(template, value, "metadata", "labels", name); err != nil {
			return nil, fmt.Errorf("read the pod template of %s: %w", obj.GetName(), err)
		}
	}
	return map[string]any{
		"metadata": map[string]any{
			"labels":      labels,
			"annotations": map[string]any{apis.LabelTemplateHash: kinds.TemplateHash(kind, obj)},
		},
		"spec": map[string]any{
			"replicas": int64(desired),
			"selector": map[string]any{"matchLabels": ours},
			"template": template,
		},
	}, nil
}

// deploymentName is the name of the Deployment that an object wants.
func deploymentName(kind kinds.Kind, obj *unstructured.Unstructured) (string, error) {
	if path := kind.Mapping.DeploymentNamePath; len(path) > 0 {
		name, _, err := unstructured.NestedString(obj.Object, path...)
		if err != nil {
			return "", fmt.Errorf("read the name of the Deployment of %s: %w", obj.GetName(), err)
		}
		if name != "" {
			return name, nil
		}
	}
	return obj.GetName(), nil
}

// apply writes the plan's Deployment, by server-side apply with the fields that
// are ours and no others. One that was seen must be as it was seen. Where none
// was, one of somebody else may have come meanwhile: its selector is another,
// and as that cannot be changed, the server refuses the whole of the write.
func (w *work) apply(ctx context.Context, o *outcome) error {
	a := w.plan.Apply
	if a == nil || !w.current() {
		return nil
	}
	ctx, cancel := finish(ctx)
	defer cancel()
	deployments := w.c.dynamic.Resource(deploymentResource()).Namespace(w.namespace)
	obj := (&unstructured.Unstructured{Object: a.Fields}).DeepCopy()
	obj.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	obj.SetName(a.Name)
	obj.SetUID(a.UID)
	obj.SetResourceVersion(a.ResourceVersion)
	obj.SetOwnerReferences([]metav1.OwnerReference{w.owner})
	now, err := deployments.Apply(ctx, a.Name, obj, metav1.ApplyOptions{FieldManager: kinds.FieldManager, Force: true})
	switch {
	case err == nil:
		record, err := newDeploymentRecord(now)
		if err != nil {
			return err
		}
		o.applied = &plan.Applied{Wanted: a.Wanted, UID: now.GetUID(), Stored: record.plan.Fields}
		o.deploymentWritten = now.GetResourceVersion()
		return nil
	case apierrors.IsConflict(err):
		return errConflict
	case namespaceEnds(err):
		return errEnding
	}
	reason, refused := w.refused(err, o)
	if !refused {
		return fmt.Errorf("write deployment %s: %w", a.Name, err)
	}
	message := fmt.Sprintf("cannot write deployment %s: %s", a.Name, serverWords(err))
	if holder, err := deployments.Get(ctx, a.Name, metav1.GetOptions{}); err == nil {
		if r, err := newDeploymentRecord(holder); err == nil && r.plan.Controller != w.owner.UID {
			reason, message = "NameTaken", fmt.Sprintf("deployment %s is wanted, but the one of that name is %s", a.Name, r.plan.Whose)
		}
	}
	o.refuse(plan.NoSlot, reason, message)
	return nil
}

// remove deletes a Deployment, and only that one, with its pods.
func (w *work) remove(ctx context.Context, d plan.Deployment, o *outcome) error {
	ctx, cancel := finish(ctx)
	defer cancel()
	background := metav1.DeletePropagationBackground
	err := w.c.dynamic.Resource(deploymentResource()).Namespace(w.namespace).Delete(ctx, d.Name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(d.UID)), PropagationPolicy: &background,
	})
	switch {
	case apierrors.IsNotFound(err):
		return nil // gone already; the cache will say so
	case err != nil:
		return fmt.Errorf("delete deployment %s: %w", d.Name, err)
	}
	o.remove(d.Name)
	return nil
}

// deploymentsOf collects the Deployments that a plan may know of: those that an
// object controls, and that of the name it wants.
func (c *Controller) deploymentsOf(namespace string, owner types.UID, wanted string) ([]plan.Deployment, error) {
	store := c.deployments.informer.GetIndexer()
	owned, err := store.ByIndex(byOwner, string(owner))
	if err != nil {
		return nil, fmt.Errorf("find deployments: %w", err)
	}
	var list []plan.Deployment
	for _, obj := range owned {
		if r, ok := obj.(*deploymentRecord); ok && r.Namespace == namespace && r.plan.Controller == owner {
			list = append(list, r.plan)
		}
	}
	obj, found, err := store.GetByKey(cache.NewObjectName(namespace, wanted).String())
	if r, ok := obj.(*deploymentRecord); err == nil && found && ok && r.plan.Controller != owner {
		list = append(list, r.plan)
	}
	return list, nil
}

// deploymentEvents puts the owner of a Deployment into the queue, and whoever
// wants its name.
func (c *Controller) deploymentEvents() cache.ResourceEventHandler {
	enqueue := func(obj any, changed bool, how string) {
		r, ok := untombed(obj).(*deploymentRecord)
		if !ok {
			return
		}
		for _, k := range c.interestedIn(r) {
			if changed || c.expectations.isWaiting(k) {
				c.wake(k, "deployment", r.Name, how)
			}
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { enqueue(obj, true, added) },
		UpdateFunc: func(old, obj any) {
			before, ok := old.(*deploymentRecord)
			after, ok2 := obj.(*deploymentRecord)
			changed := !ok || !ok2 || after.differs(before)
			enqueue(obj, changed, updated)
			if changed && ok && ok2 && before.plan.Controller != after.plan.Controller {
				enqueue(old, true, "was released")
			}
		},
		DeleteFunc: func(obj any) { enqueue(obj, true, deleted) },
	}
}

// interestedIn lists the objects whose plans look at a Deployment.
func (c *Controller) interestedIn(r *deploymentRecord) []key {
	var keys []key
	if ref := metav1.GetControllerOfNoCopy(r); ref != nil {
		if o := c.kinds.of(ref); o != nil && o.kind.Mapping.Strategy == kinds.StrategyDeployment {
			keys = append(keys, key{kind: o.kind.CRD(), namespace: r.Namespace, name: ref.Name})
		}
	}
	for _, o := range c.kinds.by(kinds.StrategyDeployment) {
		for _, obj := range o.find(byDeployment, r.Namespace+"/"+r.Name) {
			keys = append(keys, key{kind: o.kind.CRD(), namespace: r.Namespace, name: obj.GetName()})
		}
	}
	return keys
}
