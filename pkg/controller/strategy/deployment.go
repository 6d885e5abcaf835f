package strategy

import (
	"fmt"
	"maps"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/informer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// deployment keeps one Deployment, which has the pods.
func deployment() *Strategy {
	return &Strategy{
		Plan: plan.Deployments, PodIndex: ByLabel,
		Beside: &Beside{
			Source: deploymentSource, Written: true,
			Differs:  deploymentDiffers,
			Released: deploymentReleased,
			Why:      whyDeployment,
			Concerns: deploymentConcerns,
			OwnerIndex: func(kind kinds.Kind, obj *unstructured.Unstructured) string {
				name, _ := deploymentName(kind, obj) // without a name it wants none
				return obj.GetNamespace() + "/" + name
			},
			read: readDeployments,
		},
		complete: completeDeployment,
	}
}

// completeDeployment says which Deployment an object wants.
func completeDeployment(v *plan.Owner, kind kinds.Kind, obj *unstructured.Unstructured, template map[string]any) {
	var err error
	hashTemplate(v, kind, obj, template)
	if v.Problem == "" {
		if v.Wanted.Fields, err = wantedFields(kind, obj, v.Desired, template, v.TemplateHash); err != nil {
			v.Problem = err.Error()
		}
	}
	if v.Wanted.Name, err = deploymentName(kind, obj); err != nil {
		v.Invalid = err.Error()
	}
}

// DeploymentResource is the built-in one. It is read and written as fields:
// what a plan compares and server-side apply sends are fields.
func DeploymentResource() schema.GroupVersionResource {
	return appsv1.SchemeGroupVersion.WithResource("deployments")
}

// deploymentRecord is what the loop keeps of a Deployment: of one that is not
// an owner's no more than whose it is.
type deploymentRecord struct {
	metav1.ObjectMeta
	plan plan.Deployment
}

// deploymentSource watches all Deployments: one that is not ours may have a name
// that we want, until it goes away.
func deploymentSource(c Clients) informer.Source {
	deployments := c.Dynamic.Resource(DeploymentResource()).Namespace(c.Namespace)
	return informer.Source{
		Resource: "deployments",
		List:     informer.Lists(deployments.List),
		Watch:    deployments.Watch,
		Client:   c.Dynamic, Example: &unstructured.Unstructured{}, Trim: trimDeployment,
		Indexers: cache.Indexers{ByOwner: IndexByOwner},
	}
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
			Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(), OwnedBy: describeOwner(ref),
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
		r.plan.OwnedBy += ", but was not created by this program"
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
		return nil, fmt.Errorf("read the status of Deployment %s: %w", u.GetName(), err)
	}
	var status appsv1.DeploymentStatus
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored, &status); err != nil {
		return nil, fmt.Errorf("read the status of Deployment %s: %w", u.GetName(), err)
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

// deploymentDiffers reports whether a plan could tell the two records apart.
func deploymentDiffers(before, after any) bool {
	old, ok := before.(*deploymentRecord)
	now, ok2 := after.(*deploymentRecord)
	if !ok || !ok2 {
		return true
	}
	a, b := now.plan, old.plan
	a.ResourceVersion, b.ResourceVersion = "", ""
	return !reflect.DeepEqual(a, b)
}

// deploymentReleased reports whether a Deployment is another owner's than it was.
func deploymentReleased(before, after any) bool {
	old, ok := before.(*deploymentRecord)
	now, ok2 := after.(*deploymentRecord)
	return ok && ok2 && old.plan.Controller != now.plan.Controller
}

func whyDeployment(obj any, how string) []string {
	r, ok := obj.(*deploymentRecord)
	if !ok {
		return nil
	}
	return []string{"deployment", r.Name, how}
}

// deploymentConcerns says whose plans look at a Deployment: its owner's, and that
// of whoever wants its name.
func deploymentConcerns(obj any) Concern {
	r, ok := obj.(*deploymentRecord)
	if !ok {
		return Concern{}
	}
	return Concern{Owner: metav1.GetControllerOfNoCopy(r), Namespace: r.Namespace, Indexed: r.Namespace + "/" + r.Name}
}

// wantedFields are those of the Deployment that an object wants. Its pods carry
// the owner's label, by which they are found; its selector, which nobody can
// change once it is there, holds the owner's UID and nothing that could change:
// no Deployment that was made for anything else has it.
// The template becomes a part of them.
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

// deploymentName is the name of the Deployment that an object wants.
func deploymentName(kind kinds.Kind, obj *unstructured.Unstructured) (string, error) {
	if path := kind.Mapping.DeploymentNamePath; len(path) > 0 {
		name, _, err := unstructured.NestedString(obj.Object, path...)
		if err != nil {
			return "", fmt.Errorf("read the Deployment name of %s: %w", obj.GetName(), err)
		}
		if name != "" {
			return name, nil
		}
	}
	return obj.GetName(), nil
}

// deploymentFields returns the fields to apply.
func deploymentFields(_ *Work, op plan.Operation) (map[string]any, error) {
	return runtime.DeepCopyJSON(op.Fields), nil
}

// readDeployment reads whose a Deployment is, and the fields that plans compare.
func readDeployment(obj metav1.Object) (owner types.UID, ownedBy string, fields map[string]any, err error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return "", "", nil, fmt.Errorf("read a Deployment: unexpected %T", obj)
	}
	r, err := newDeploymentRecord(u)
	if err != nil {
		return "", "", nil, err
	}
	return r.plan.Controller, r.plan.OwnedBy, r.plan.Fields, nil
}

// readDeployments puts those into a view that a plan may know of: those that an
// object controls, and that of the name it wants.
func readDeployments(v *plan.View, object *unstructured.Unstructured, store cache.Indexer) error {
	owner := object.GetUID()
	owned, err := store.ByIndex(ByOwner, string(owner))
	if err != nil {
		return fmt.Errorf("find Deployments: %w", err)
	}
	for _, obj := range owned {
		if r, ok := obj.(*deploymentRecord); ok && r.Namespace == object.GetNamespace() && r.plan.Controller == owner {
			v.Deployments = append(v.Deployments, r.plan)
		}
	}
	obj, found, err := store.GetByKey(cache.NewObjectName(object.GetNamespace(), v.Owner.Wanted.Name).String())
	if r, ok := obj.(*deploymentRecord); err == nil && found && ok && r.plan.Controller != owner {
		v.Deployments = append(v.Deployments, r.plan)
	}
	return nil
}
