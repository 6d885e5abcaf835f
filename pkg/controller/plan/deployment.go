package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// Deployment is a Deployment that the owner controls, or that bears the name of
// the one that it wants.
type Deployment struct {
	Name            string
	UID             types.UID
	ResourceVersion string
	// Controller is the UID of the object that this program made it for, "" where
	// somebody else made it. OwnedBy says for a person whose it is, "" for nobody's.
	Controller types.UID
	OwnedBy    string
	// Terminating says that it has a deletion timestamp.
	Terminating bool
	// Generation is that of the Deployment, ObservedGeneration the one that the
	// Deployment's own controller speaks of in the status.
	Generation, ObservedGeneration int64
	// Fields are its labels, annotations and spec, as far as an owner may set them.
	Fields map[string]any
	// Current, Updated, Ready and Available are the counts of its status.
	Current, Updated, Ready, Available int32
	// Failure is a condition that says why it does not get on; nil: it does.
	Failure *metav1.Condition
}

// Wanted is the Deployment that an owner wants.
type Wanted struct {
	Name string
	// Fields are those that the owner sets; all others are somebody else's. nil:
	// the owner does not say what its pods are made from.
	Fields map[string]any
}

// Application is one Deployment to write.
type Application struct {
	Wanted
	// UID and ResourceVersion are those of the Deployment as it was seen. ""
	// means that there was none.
	UID             types.UID
	ResourceVersion string
}

// Applied is a Deployment as it was written, and as the server then had it.
type Applied struct {
	Wanted Wanted
	UID    types.UID
	Stored map[string]any
}

// drifted reports whether a Deployment lacks what its owner wants of it. What the
// server made of it when the same was last written is as near as it gets.
func (m Memory) drifted(d *Deployment, wanted Wanted) bool {
	if has(d.Fields, wanted.Fields) {
		return false
	}
	a := m.Applied
	return a == nil || a.UID != d.UID || !reflect.DeepEqual(a.Wanted, wanted) || !reflect.DeepEqual(a.Stored, d.Fields)
}

// has reports whether all that is wanted is there; there may be more. Elements of
// lists that have a name are known by it, others by their place.
func has(there, wanted any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		fields, _ := there.(map[string]any)
		for name, value := range wanted {
			if !has(fields[name], value) {
				return false
			}
		}
		return true
	case []any:
		list, _ := there.([]any)
		for i, element := range wanted {
			if name := nameOf(element); name != "" {
				i = slices.IndexFunc(list, func(e any) bool { return nameOf(e) == name })
			} else if len(list) != len(wanted) {
				return false
			}
			if i < 0 || !has(list[i], element) {
				return false
			}
		}
		return true
	case nil:
		return true
	}
	return reflect.DeepEqual(there, wanted)
}

func nameOf(element any) string {
	fields, _ := element.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}

// Deployments plans an owner that has its pods through one Deployment.
//
//   - The Deployment is written where it lacks what the owner wants of it.
//   - One of its name that somebody else controls is not touched.
//   - Those that the owner has under other names go when the one that it wants
//     is available.
//   - An owner that is being deleted gets nothing.
func Deployments(v View) Actions {
	if v.Owner.Deleting {
		return Actions{Memory: v.Memory}
	}
	if v.Owner.Invalid != "" {
		return invalid(v, deploymentStatus(v, ownDeployment(v)))
	}
	p := Actions{Memory: v.Memory}
	wanted := v.Owner.Wanted
	var live *Deployment
	var others []Deployment
	for i, d := range v.Deployments {
		switch {
		case d.Name == wanted.Name:
			live = &v.Deployments[i]
		case d.Controller == v.Owner.UID && !d.Terminating:
			others = append(others, d)
		}
	}
	foreign := live != nil && live.Controller != v.Owner.UID
	if live != nil {
		wanted = wanted.fitted(live)
	}
	write := wanted.Fields != nil && !foreign && (live == nil || !live.Terminating && v.Memory.drifted(live, wanted))
	switch wait := v.Memory.wait(slots.None, v); {
	case !write:
		p.Memory.Refusals = nil
	case wait > 0:
		p.Recheck = wait
	default:
		p.Apply = &Application{Wanted: wanted}
		if live != nil {
			p.Apply.UID, p.Apply.ResourceVersion = live.UID, live.ResourceVersion
		}
	}
	if foreign {
		p.NameTaken = NameTaken(v.Owner.Kind, "Deployment "+live.Name, live.OwnedBy)
		live = nil
	}
	if available(live, v.Owner.Desired) && p.Apply == nil {
		p.Remove = others
	}
	found := deploymentStatus(v, live)
	ready := readyCondition(found, true)
	if ready.Status == metav1.ConditionTrue && (p.Apply != nil || !available(live, v.Owner.Desired)) {
		ready.Status, ready.Reason = metav1.ConditionFalse, "DeploymentNotReady"
	}
	p.decideStatus(v, found, ready, p.deploymentProgress(v, live, found, len(others)), p.deploymentFailure(v, live))
	return p
}

// ownDeployment is the one that the owner wants, if it is there and is its own.
func ownDeployment(v View) *Deployment {
	i := slices.IndexFunc(v.Deployments, func(d Deployment) bool {
		return d.Name == v.Owner.Wanted.Name && d.Controller == v.Owner.UID
	})
	if i < 0 {
		return nil
	}
	return &v.Deployments[i]
}

// NameTaken says of something that has the name of what an object of a kind is to
// own that it is not the object's.
func NameTaken(kind, taken, ownedBy string) string {
	if ownedBy == "" {
		return fmt.Sprintf("%s already exists and is not owned by this %s", taken, kind)
	}
	return fmt.Sprintf("%s already exists and is %s", taken, ownedBy)
}

// fitted is what is wanted of a Deployment that is there. Nobody can change its
// selector, so that stays, and the pods keep all labels that it selects.
func (w Wanted) fitted(d *Deployment) Wanted {
	selector, selects := nested(d.Fields, "spec", "selector")
	if !selects || w.Fields == nil {
		return w
	}
	selected, _ := nested(selector, "matchLabels")
	spec, _ := nested(w.Fields, "spec")
	template, _ := nested(spec, "template")
	metadata, _ := nested(template, "metadata")
	labels, _ := nested(metadata, "labels")
	labels = merged(labels, selected)
	template = merged(template, map[string]any{"metadata": merged(metadata, map[string]any{"labels": labels})})
	spec = merged(spec, map[string]any{"selector": selector, "template": template})
	w.Fields = merged(w.Fields, map[string]any{"spec": spec})
	return w
}

// nested is the object at a path of fields.
func nested(fields map[string]any, path ...string) (object map[string]any, found bool) {
	for _, name := range path {
		if fields, found = fields[name].(map[string]any); !found {
			return nil, false
		}
	}
	return fields, true
}

// merged is a copy of some fields with others in addition or instead.
func merged(fields, others map[string]any) map[string]any {
	all := map[string]any{}
	maps.Copy(all, fields)
	maps.Copy(all, others)
	return all
}

// available says that a Deployment's own controller has seen it as it is, and
// that it has its pods.
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
		if pod.active() && ours {
			found.PodNames = append(found.PodNames, pod.Name)
		}
	}
	slices.Sort(found.PodNames)
	return found
}

func (p *Actions) deploymentProgress(v View, live *Deployment, s Status, others int) metav1.Condition {
	c := metav1.Condition{Type: apis.ConditionProgressing, Status: metav1.ConditionTrue}
	stopped := func(reason, message string) {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, reason, message
	}
	switch name := v.Owner.Wanted.Name; {
	case p.NameTaken != "":
		stopped("NameTaken", "the Deployment is not owned by this object")
	case v.Owner.Problem != "":
		stopped("InvalidTemplate", "cannot create the Deployment")
	case p.Apply != nil:
		c.Reason, c.Message = "WritingDeployment", "writing Deployment "+name
	case len(p.Memory.Refusals) > 0:
		stopped("WaitingAfterRefusal", "cannot write the Deployment; trying again later")
	case live == nil || live.Terminating:
		c.Reason, c.Message = "DeploymentEnding", "waiting for the previous Deployment of this name to be deleted"
	case live.Failure != nil:
		stopped(live.Failure.Reason, live.Failure.Message)
	case live.ObservedGeneration < live.Generation:
		c.Reason, c.Message = "DeploymentWritten", "waiting for the Deployment controller"
	case s.Updated < s.Desired:
		c.Reason, c.Message = "RollingOut", fmt.Sprintf("%d of %d pods updated", s.Updated, s.Desired)
	case s.Current > s.Desired:
		c.Reason, c.Message = "DeletingPods", "removing "+PodCount(int(s.Current-s.Desired))
	case !available(live, s.Desired):
		c.Reason, c.Message = "PodsStarting", "waiting for "+PodCount(int(s.Desired-s.Available))+" to become available"
	case others > 0:
		c.Reason, c.Message = "RemovingDeployment", "deleting the Deployment of the previous name"
	default:
		stopped("Converged", "the Deployment is up to date")
	}
	return c
}

func (p *Actions) deploymentFailure(v View, live *Deployment) metav1.Condition {
	c := failureCondition(p.Memory, v.Owner.Problem)
	switch {
	case p.NameTaken != "":
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, "NameTaken", p.NameTaken
	case c.Status == metav1.ConditionFalse && live != nil && live.Failure != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, live.Failure.Reason, live.Failure.Message
	}
	return c
}
