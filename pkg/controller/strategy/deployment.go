package strategy

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// deployment returns the strategy that keeps one Deployment for each object.
func deployment() *Strategy {
	return &Strategy{
		Plan: plan.Deployments, PodIndex: ByLabel,
		Input: deploymentSource, Read: readDeployments, complete: completeDeployment,
	}
}

func deploymentFields(_ *Work, op plan.Operation) map[string]any {
	return runtime.DeepCopyJSON(op.Fields)
}

// completeDeployment sets the Deployment that an object wants. If that fails, it sets Problem or Invalid.
func completeDeployment(o *plan.Owner, kind kinds.Kind, obj *unstructured.Unstructured, template map[string]any) {
	var err error
	if o.Problem == "" {
		if o.Wanted.Fields, err = wantedFields(kind, obj, o.Desired, template, o.TemplateHash); err != nil {
			o.Problem = err.Error()
		}
	}
	if path := kind.Mapping.DeploymentNamePath; len(path) > 0 {
		if o.Wanted.Name, _, err = unstructured.NestedString(obj.Object, path...); err != nil {
			o.Invalid = fmt.Sprintf("read the Deployment name of %s: %v", o.Name, err)
			return
		}
	}
	o.Wanted.Name = cmp.Or(o.Wanted.Name, o.Name)
	if why := apis.NameProblem(o.Wanted.Name); why != "" && o.Invalid == "" {
		o.Invalid = fmt.Sprintf("the Deployment name %.40q is invalid: %s", o.Wanted.Name, why)
	}
}

// deploymentSource returns a source of all Deployments, because someone else's Deployment may have a wanted name.
func deploymentSource(c Clients) informer.Source {
	return childSource(c, plan.KindDeployment, "deployment", deploymentOf, deploymentsEqual)
}

// deploymentOf returns the part of a Deployment that plans read, without fields and status if it is someone else's.
func deploymentOf(u *unstructured.Unstructured) plan.Deployment {
	ref := metav1.GetControllerOfNoCopy(u)
	d := plan.Deployment{
		Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
		OwnedBy: describeOwner(ref), Terminating: u.GetDeletionTimestamp() != nil,
	}
	if ref == nil {
		return d
	}
	// The selector is immutable, so its label shows whether this program created the Deployment.
	selected, _, _ := unstructured.NestedStringMap(u.Object, "spec", "selector", "matchLabels")
	if selected[apis.LabelOwner] != string(ref.UID) {
		d.OwnedBy += ", but was not created by this program"
		return d
	}
	d.Controller = ref.UID
	// Keep only the labels and annotations that this program sets, and not, for example, the annotation
	// deployment.kubernetes.io/revision. This program sets only labels that are also in the pod template.
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
	var status appsv1.DeploymentStatus
	stored, _ := u.Object["status"].(map[string]any)
	// The conversion cannot fail, because the server checks the types of the fields.
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(stored, &status)
	d.Generation, d.ObservedGeneration = u.GetGeneration(), status.ObservedGeneration
	d.Current, d.Updated, d.Ready, d.Available = status.Replicas, status.UpdatedReplicas, status.ReadyReplicas, status.AvailableReplicas
	if d.ObservedGeneration >= d.Generation {
		d.Failure = deploymentFailure(status.Conditions)
	}
	return d
}

// deploymentFailure returns the reason why a Deployment makes no progress, or nil.
func deploymentFailure(conditions []appsv1.DeploymentCondition) *metav1.Condition {
	for _, c := range conditions {
		if (c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue) ||
			(c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse && c.Reason == "ProgressDeadlineExceeded") {
			return &metav1.Condition{Reason: c.Reason, Message: c.Message}
		}
	}
	return nil
}

func deploymentsEqual(a, b plan.Deployment) bool {
	a.ResourceVersion, b.ResourceVersion = "", ""
	return reflect.DeepEqual(a, b)
}

// wantedFields returns the fields of the Deployment that an object wants. It adds to template the labels that identify
// the owner's pods. The selector is immutable, so it contains only the owner's UID, which never changes and is unique.
func wantedFields(kind kinds.Kind, obj *unstructured.Unstructured, desired int32, template map[string]any, hash string) (map[string]any, error) {
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
			"annotations": map[string]any{apis.LabelTemplateHash: hash},
		},
		"spec": map[string]any{
			"replicas": int64(desired),
			"selector": map[string]any{"matchLabels": ours},
			"template": template,
		},
	}, nil
}

// readDeployments adds to a view the Deployments created for the object, and any other with the wanted name.
func readDeployments(v *plan.View, object *unstructured.Unstructured, store cache.Indexer) {
	foreign := func(d plan.Deployment) bool { return d.Controller != object.GetUID() }
	v.Deployments = slices.DeleteFunc(childrenOf[plan.Deployment](object, store, ByOwner), foreign)
	obj, _, _ := store.GetByKey(cache.NewObjectName(object.GetNamespace(), v.Owner.Wanted.Name).String())
	if r, ok := obj.(*Record[plan.Deployment]); ok && foreign(r.Child) {
		v.Deployments = append(v.Deployments, r.Child)
	}
}
