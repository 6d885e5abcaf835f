package plan

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// DryRun describes what the controller would do for an object.
type DryRun struct {
	// Pods is the number of active pods. Desired is the number that the object wants, or Pods if the object is invalid.
	Pods    int   `json:"pods"`
	Desired int32 `json:"desired"`
	// Create lists the pods to create, and Label lists the pods whose labels are restored.
	Create []string    `json:"create"`
	Delete []DryDelete `json:"delete"`
	Label  []string    `json:"label,omitempty"`
	// Apply is the name of the Deployment to write. Remove lists the Deployments to delete.
	Apply  string   `json:"apply,omitempty"`
	Remove []string `json:"remove,omitempty"`
	// History describes the writes of revisions, such as "create revision 3".
	History     string `json:"history,omitempty"`
	WriteStatus bool   `json:"writeStatus"`
	// Blocked is the reason why the object does not get its desired state, such as a Deployment name that is taken.
	Blocked string `json:"blocked,omitempty"`

	// others describes the operations on Deployments and revisions.
	others []string
}

// DryDelete is a pod to delete, with a one-word reason.
type DryDelete struct {
	Name string `json:"name"`
	Why  Reason `json:"why"`
}

// NewDryRun describes the operations of a plan.
func NewDryRun(v View, a Actions) *DryRun {
	d := &DryRun{Pods: Active(v.Pods), Desired: a.Status.Desired, WriteStatus: a.WriteStatus, Create: []string{}, Delete: []DryDelete{}}
	d.Blocked = cmp.Or(v.Owner.Invalid, a.NameTaken, v.Owner.Problem)
	if v.Owner.Invalid != "" {
		d.Desired = int32(d.Pods) //nolint:gosec // an invalid object keeps its pods
	}
	if v.Paused() {
		d.Blocked = v.Owner.Pause.String()
	}
	var history []string
	for _, op := range a.Operations {
		switch {
		case op.Kind == KindRevision:
			history = append(history, op.String())
		case op.Verb == Create:
			d.Create = append(d.Create, op.Name)
		case op.Verb == Patch:
			d.Label = append(d.Label, op.Name)
		case op.Verb == Delete && op.Kind == KindPod:
			d.Delete = append(d.Delete, DryDelete{op.Name, op.Reason})
		case op.Verb == Apply:
			d.Apply = op.Name
			d.others = append(d.others, op.String())
		case op.Verb == Delete:
			d.Remove = append(d.Remove, op.Name)
			d.others = append(d.others, op.String())
		}
	}
	d.History = strings.Join(history, "; ")
	d.others = append(d.others, history...)
	return d
}

// String returns the description in one line, such as "1 → 2 pods: create a-1".
func (d DryRun) String() string {
	var deeds []string
	if len(d.Create) > 0 {
		deeds = append(deeds, "create "+strings.Join(d.Create, ", "))
	}
	for _, pod := range d.Delete {
		deeds = append(deeds, fmt.Sprintf("delete %s (%s)", pod.Name, pod.Why))
	}
	if len(d.Label) > 0 {
		deeds = append(deeds, "restore the labels of "+strings.Join(d.Label, ", "))
	}
	deeds = append(deeds, d.others...)
	if d.WriteStatus {
		deeds = append(deeds, "write the status")
	}
	if d.Blocked != "" {
		deeds = append(deeds, "blocked: "+d.Blocked)
	}
	switch {
	case len(deeds) == 0:
		return "nothing to do"
	case d.Pods == int(d.Desired) && d.Blocked != "" && len(deeds) == 1:
		return deeds[0]
	}
	return fmt.Sprintf("%d → %s: %s", d.Pods, problem.Quantity(d.Desired, "pod"), strings.Join(deeds, "; "))
}
