package plan

import (
	"fmt"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// Deployment is a Deployment that the owner controls, or whose name the owner wants.
type Deployment struct {
	Name            string
	UID             types.UID
	ResourceVersion string
	// Controller is the UID of the object for which this program created the Deployment, or "" for a foreign
	// Deployment. OwnedBy describes the object that controls it, or is "" if there is none.
	Controller types.UID
	OwnedBy    string
	// Terminating means that the Deployment has a deletion timestamp.
	Terminating bool
	// Generation is the current generation. ObservedGeneration is the generation that the status describes.
	Generation, ObservedGeneration int64
	// Fields holds the spec, and the labels and annotations that the owner sets.
	Fields map[string]any
	// Current, Updated, Ready, and Available are the counts in the status.
	Current, Updated, Ready, Available int32
	// Failure is the reason why the Deployment makes no progress, or nil.
	Failure *metav1.Condition
}

// Wanted is the desired Deployment of an owner.
type Wanted struct {
	Name string
	// Fields holds only the fields that the owner sets. Fields is nil if the owner's template is invalid.
	Fields map[string]any
}

// Applied is the last applied Deployment, as sent by the controller and as stored by the server.
type Applied struct {
	Wanted Wanted
	UID    types.UID
	Stored map[string]any
}

// drifted reports whether a patch with the wanted fields would change the Deployment. It returns false if neither the
// Deployment nor the wanted fields have changed since the last apply, because another apply would change nothing. For
// example, a webhook that changed the image during the last apply would change it again.
func (m Memory) drifted(d *Deployment, wanted Wanted) bool {
	patched, err := strategicpatch.StrategicMergeMapPatch(runtime.DeepCopyJSON(d.Fields), wanted.Fields, appsv1.Deployment{})
	if err == nil && (reflect.DeepEqual(map[string]any(patched), d.Fields) || sameFields(patched, d.Fields)) {
		return false
	}
	a := m.Applied
	return a == nil || a.UID != d.UID || !reflect.DeepEqual(a.Wanted, wanted) || !reflect.DeepEqual(a.Stored, d.Fields)
}

// sameFields reports whether two Deployments differ only in notation: 1024Mi is equal to 1Gi, and an empty list to
// none. It returns false if a field is unknown, because the server may be newer than this program.
func sameFields(a, b map[string]any) bool {
	var first, second appsv1.Deployment
	convert := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation
	return convert(a, &first, true) == nil && convert(b, &second, true) == nil && equality.Semantic.DeepEqual(first, second)
}

// Deployments returns the plan for an owner whose pods belong to one Deployment. The owner's Deployments
// with other names are deleted when the wanted Deployment is available.
func Deployments(v View) Actions {
	live, foreign, others := v.deployments()
	if v.Owner.Invalid != "" {
		return invalid(v, deploymentStatus(v, live))
	}
	a := Actions{Memory: v.Memory}
	wanted := v.Owner.Wanted
	apply := Operation{Verb: Apply, Kind: KindDeployment, Name: wanted.Name}
	if live != nil {
		wanted = wanted.withSelectorOf(live)
		apply.UID, apply.ResourceVersion = live.UID, live.ResourceVersion
	}
	apply.Fields = wanted.Fields
	needed := wanted.Fields != nil && foreign == nil && (live == nil || !live.Terminating && v.Memory.drifted(live, wanted))
	switch wait := v.Memory.wait(slots.None, v); {
	case !needed:
		a.Memory.Refusals = nil
	case wait > 0:
		a.Recheck = wait
	default:
		a.Operations = append(a.Operations, apply)
	}
	if foreign != nil {
		a.NameTaken = NameTaken(v.Owner.Kind, "Deployment "+foreign.Name, foreign.OwnedBy)
		a.Recheck = maxRefusalDelay // deleting that Deployment does not trigger a plan for this owner
	}
	complete := !needed && available(live, v.Owner.Desired)
	others = slices.DeleteFunc(others, func(d Deployment) bool { return d.Terminating })
	if complete {
		for _, d := range others {
			a.Operations = append(a.Operations, Operation{Verb: Delete, Kind: KindDeployment, Name: d.Name, UID: d.UID, Optional: true})
		}
	}
	found := deploymentStatus(v, live)
	ready := readyCondition(found, true)
	if ready.Status == metav1.ConditionTrue && !complete {
		ready.Status, ready.Reason = metav1.ConditionFalse, "DeploymentNotReady"
	}
	a.decideStatus(v, found, ready, a.deploymentProgress(v, live, found, len(others)), a.failureCondition(v, live))
	return a
}

// deployments returns the owner's Deployment with the wanted name, a foreign Deployment with this name, and the owner's
// other Deployments. live and foreign are nil if they do not exist.
func (v View) deployments() (live, foreign *Deployment, others []Deployment) {
	for i, d := range v.Deployments {
		switch {
		case d.Name == v.Owner.Wanted.Name && d.Controller == v.Owner.UID:
			live = &v.Deployments[i]
		case d.Name == v.Owner.Wanted.Name:
			foreign = &v.Deployments[i]
		case d.Controller == v.Owner.UID:
			others = append(others, d)
		}
	}
	return live, foreign, others
}

// NameTaken returns a message about a child that has a wanted name but belongs to someone else.
func NameTaken(kind, child, ownedBy string) string {
	if ownedBy == "" {
		return fmt.Sprintf("%s already exists and is not owned by this %s", child, kind)
	}
	return fmt.Sprintf("%s already exists and is %s", child, ownedBy)
}

// withSelectorOf returns w with the immutable selector of d, and with the pod labels that this selector requires.
func (w Wanted) withSelectorOf(d *Deployment) Wanted {
	selector, selects, _ := unstructured.NestedMap(d.Fields, "spec", "selector")
	if !selects || w.Fields == nil {
		return w
	}
	w.Fields = runtime.DeepCopyJSON(w.Fields)
	_ = unstructured.SetNestedMap(w.Fields, selector, "spec", "selector")
	labels, _, _ := unstructured.NestedMap(selector, "matchLabels")
	for name, value := range labels {
		_ = unstructured.SetNestedField(w.Fields, value, "spec", "template", "metadata", "labels", name)
	}
	return w
}

func available(d *Deployment, desired int32) bool {
	return d != nil && !d.Terminating && d.ObservedGeneration >= d.Generation &&
		d.Current == desired && d.Updated == desired && d.Available == desired
}

func deploymentStatus(v View, live *Deployment) Status {
	found := Status{Desired: v.Owner.Desired}
	if live != nil {
		found.Current, found.Updated, found.Ready, found.Available = live.Current, live.Updated, live.Ready, live.Available
	}
	for _, pod := range v.Pods {
		ours := slices.ContainsFunc(v.Deployments, func(d Deployment) bool {
			return d.Controller == v.Owner.UID && d.Name == pod.Deployment
		})
		if pod.Active() && ours {
			found.PodNames = append(found.PodNames, pod.Name)
		}
	}
	slices.Sort(found.PodNames)
	return found
}

func (a *Actions) deploymentProgress(v View, live *Deployment, s Status, others int) metav1.Condition {
	switch name := v.Owner.Wanted.Name; {
	case a.NameTaken != "":
		return stopped("NameTaken", "the Deployment is not owned by this object")
	case v.Owner.Problem != "":
		return stopped("InvalidTemplate", "cannot create the Deployment")
	case a.isNew(Apply, v):
		return progressing("WritingDeployment", "writing Deployment "+name)
	case len(a.Memory.Refusals) > 0:
		return stopped("WaitingAfterRefusal", "cannot write the Deployment; trying again later")
	case live == nil || live.Terminating:
		return progressing("DeploymentEnding", "waiting for the previous Deployment of this name to be deleted")
	case live.Failure != nil:
		return stopped(live.Failure.Reason, live.Failure.Message)
	case live.ObservedGeneration < live.Generation:
		return progressing("DeploymentWritten", "waiting for the Deployment controller")
	case s.Updated < s.Desired:
		return progressing("RollingOut", fmt.Sprintf("%d of %d pods updated", s.Updated, s.Desired))
	case s.Current > s.Desired:
		return progressing("DeletingPods", "removing "+problem.Quantity(s.Current-s.Desired, "pod"))
	case !available(live, s.Desired):
		return progressing("PodsStarting", "waiting for "+problem.Quantity(s.Desired-s.Available, "pod")+" to become available")
	case others > 0:
		return progressing("RemovingDeployment", "deleting the Deployment of the previous name")
	}
	return stopped("Converged", "the Deployment is up to date")
}
