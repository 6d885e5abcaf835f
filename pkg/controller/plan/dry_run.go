package plan

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// DryRun is what the loop would do for an object, as a dry run tells it.
type DryRun struct {
	// Pods is how many there are, without those that are ending or have ended;
	// Desired how many are wanted.
	Pods    int   `json:"pods"`
	Desired int32 `json:"desired"`
	// Create lists the names of the pods to be made.
	Create []string         `json:"create"`
	Delete []PlannedPodGone `json:"delete"`
	// Label lists the names of the pods whose labels would be restored.
	Label []string `json:"label,omitempty"`
	// Apply names the Deployment to be written, Remove those to be deleted.
	Apply  string   `json:"apply,omitempty"`
	Remove []string `json:"remove,omitempty"`
	// History says what would be done with the revisions, such as "create revision 3".
	History string `json:"history,omitempty"`
	// WriteStatus says that the status would be written.
	WriteStatus bool `json:"writeStatus"`
	// Blocked says what keeps the object from getting what it asks for, such as a
	// Deployment of its name that is not its own.
	Blocked string `json:"blocked,omitempty"`
}

// PlannedPodGone is a pod to be deleted, and why in a word.
type PlannedPodGone struct {
	Name string `json:"name"`
	Why  Reason `json:"why"`
}

// NewDryRun describes the operations of a plan.
func NewDryRun(v View, p Actions) *DryRun {
	told := &DryRun{Pods: Active(v.Pods), Desired: p.Status.Desired, WriteStatus: p.WriteStatus, Create: []string{}, Delete: []PlannedPodGone{}}
	told.Blocked = cmp.Or(v.Owner.Invalid, p.NameTaken, v.Owner.Problem)
	if v.Paused() {
		told.Blocked = v.Owner.Pause.String()
	}
	var history []string
	for _, op := range p.Operations {
		switch {
		case op.Kind == KindRevision:
			history = append(history, op.String())
		case op.Verb == Create:
			told.Create = append(told.Create, op.Name)
		case op.Verb == Patch:
			told.Label = append(told.Label, op.Name)
		case op.Verb == Apply:
			told.Apply = op.Name
		case op.Kind == KindPod:
			told.Delete = append(told.Delete, PlannedPodGone{op.Name, op.Reason})
		default:
			told.Remove = append(told.Remove, op.Name)
		}
	}
	told.History = strings.Join(history, "; ")
	return told
}

// String tells it in a line, such as "1 → 2 pods: create a-1; write the status".
func (p DryRun) String() string {
	var deeds []string
	if len(p.Create) > 0 {
		deeds = append(deeds, "create "+strings.Join(p.Create, ", "))
	}
	for _, d := range p.Delete {
		deeds = append(deeds, fmt.Sprintf("delete %s (%s)", d.Name, d.Why))
	}
	if len(p.Label) > 0 {
		deeds = append(deeds, "restore the labels of "+strings.Join(p.Label, ", "))
	}
	if p.Apply != "" {
		deeds = append(deeds, "write Deployment "+p.Apply)
	}
	for _, name := range p.Remove {
		deeds = append(deeds, "delete Deployment "+name)
	}
	if p.History != "" {
		deeds = append(deeds, p.History)
	}
	if p.WriteStatus {
		deeds = append(deeds, "write the status")
	}
	if p.Blocked != "" {
		deeds = append(deeds, "blocked: "+p.Blocked)
	}
	switch {
	case len(deeds) == 0:
		return "nothing to do"
	case p.Pods == int(p.Desired) && p.Blocked != "" && len(deeds) == 1:
		return deeds[0]
	}
	return fmt.Sprintf("%d → %s: %s", p.Pods, problem.Quantity(p.Desired, "pod"), strings.Join(deeds, "; "))
}
