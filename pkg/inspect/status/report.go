package status

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/budget"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/competing"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/words"
)

// ReportVersion is the apiVersion of a Report in JSON and YAML.
const ReportVersion = "imoocpod.dev/v1alpha1"

// Report describes one object. All output about the object is based on this report.
type Report struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        Metadata `json:"metadata"`
	Verdict         Verdict  `json:"verdict"`
	// ReasonCode is the reason as a code for scripts. Reason is a text for people. Hint is the next step, if any.
	ReasonCode problem.Code `json:"reasonCode"`
	Reason     string       `json:"reason"`
	Hint       string       `json:"hint,omitempty"`
	// Problems lists problems of the object and its pods, most serious first. A ready object can have some, too.
	Problems []problem.Problem `json:"problems"`
	// Replicas contains the counts in the status or, if the status has none, the counts of the pods. A
	// pod does not count as ready if it has just crashed, or if a failed probe is killing a container.
	Replicas   Replicas           `json:"replicas"`
	Conditions []metav1.Condition `json:"conditions"`
	// Pods are ordered by problem.ComparePods. Tree shows the objects between the object and its pods.
	Pods []problem.Pod `json:"pods"`
	Tree Node          `json:"tree"`
	// Parked is the count that an unpark restores, or nil if the object is not parked.
	Parked *apis.ParkedCount `json:"parked,omitempty"`
	// Reverts lists what may reset the replica count. Budgets lists the pods' disruption budgets, if they were read.
	Reverts    []competing.Writer `json:"reverts,omitempty"`
	Budgets    []budget.Budget    `json:"budgets,omitempty"`
	Reconciler Reconciler         `json:"reconciler"`
	// Events are the events of the object, its children, and some unready pods, in the order of their last occurrence.
	Events []problem.Event `json:"events,omitempty"`
	// Pause is the active pause that "kubectl imoocpod pause" set, or nil. It does not depend on the verdict.
	Pause *apis.Pause `json:"pause,omitempty"`
	// Counts is set if a new count takes effect despite the verdict Paused.
	Counts bool `json:"-"`
	// Recheck is the time after which the verdict may change even if nothing else changes, or zero if it is unknown.
	Recheck time.Duration `json:"-"`
	// object has the pause, and the bounds and the unit of the count.
	object Object
	// Unread lists resources that might explain more, but that the user is not allowed to read.
	Unread []string `json:"unread,omitempty"`
}

// Metadata identifies an object.
type Metadata struct {
	Type               string      `json:"type"`
	Namespace          string      `json:"namespace"`
	Name               string      `json:"name"`
	UID                types.UID   `json:"uid"`
	Generation         int64       `json:"generation"`
	ObservedGeneration int64       `json:"observedGeneration"`
	CreationTimestamp  metav1.Time `json:"creationTimestamp"`
}

// Replicas contains the counts of an object, in pods or in another unit.
type Replicas struct {
	Desired int32 `json:"desired"`
	// If the desired count is unknown, Unknown is set, and Desired is the number of existing pods.
	Unknown bool  `json:"-"`
	Current int32 `json:"current"`
	Ready   int32 `json:"ready"`
	// Updated is the number of pods with the newest template, or nil if it is unknown.
	Updated *int32 `json:"updated,omitempty"`
}

// NewReport returns the report on the object in a snapshot.
func NewReport(s Snapshot) Report {
	allEvents := problem.SortEvents(s.Events)
	events := map[types.UID][]problem.Event{}
	for _, event := range allEvents {
		events[event.About] = append(events[event.About], event)
	}
	pods, ofPods, doubted := judgePods(s, events)
	o := s.counted(pods).labeled(pods)
	var pause *apis.Pause
	if o.UserPause.Active(s.Now) {
		pause = &o.UserPause
		o.Pause = &Pause{Code: problem.CodePausedByUser, Why: pause.Text(s.Now), Command: new(howToResume(o))}
	}
	if doubted {
		o = o.doubted(pods)
	}
	o = o.interpreted()
	s.Object = o
	reference := autoscalingv2.CrossVersionObjectReference{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name}
	r := Report{
		TypeMeta: metav1.TypeMeta{APIVersion: ReportVersion, Kind: "StatusReport"},
		Metadata: Metadata{
			Type: o.Type, Namespace: o.Namespace, Name: o.Name, UID: o.UID,
			Generation: o.Generation, ObservedGeneration: max(o.ObservedGeneration, 0),
			CreationTimestamp: metav1.NewTime(o.Created),
		},
		Problems:   problem.Fold(append(objectProblems(s, events), ofPods...), len(s.Pods)),
		Replicas:   Replicas{Desired: o.Desired, Unknown: o.NoCount, Current: o.Current, Ready: o.Ready, Updated: o.Updated},
		Conditions: append([]metav1.Condition{}, o.Conditions...),
		Pods:       pods,
		Tree:       tree(o, s.Children, s.Pods),
		Parked:     o.Parked,
		Reverts:    competing.Writers(reference, o.Controller, o.Source, s.Autoscalers),
		Budgets:    budget.Of(s.Budgets, s.Pods, s.Neighbors),
		Reconciler: reconcilerOf(s),
		Events:     relevant(allEvents, pods),
		Pause:      pause,
		Unread:     s.Unread,
		object:     o,
	}
	hintImages(s, r.Problems)
	verdict := judge(s, r)
	r.Verdict, r.ReasonCode, r.Reason, r.Hint = verdict.verdict, verdict.code, verdict.reason, verdict.hint
	r.Recheck = verdict.recheck
	if len(r.Problems) > 0 && r.Verdict == Ready && o.claim.Meaning == words.Done {
		r.Problems = []problem.Problem{} // the pods of a completed object have ended
	}
	if left := o.UserPause.Left(s.Now); left > 0 && (r.Recheck == 0 || left < r.Recheck) {
		r.Recheck = left
	}
	r.Counts = r.Verdict == Paused && (o.Pause.Template || o.Pause.Reported)
	return r
}

// judgePods returns the pods with the reasons why they are not ready, and these reasons as problems. doubted means that
// the ready count in the status may be too high: a pod with a problem is reported as ready, or a problem is fatal.
func judgePods(s Snapshot, events map[types.UID][]problem.Event) (pods []problem.Pod, found []problem.Problem, doubted bool) {
	pods = make([]problem.Pod, len(s.Pods))
	in := problem.Context{Now: s.Now, Nodes: s.Nodes, Events: events, Commands: s.Commands}
	in.Logs = commandline.Plugin("logs", s.Object.argument()).In(s.Object.Namespace)
	for i, pod := range s.Pods {
		model := &pods[i]
		*model = *pod
		if pod.Sound && len(events[model.UID]) == 0 {
			continue
		}
		if p, is := problem.OfPod(pod.Object, model.Ended(), in); is {
			doubted = doubted || model.Ready || p.Fatal
			model.Ready = false
			model.Code = p.Code
			if p.Code != problem.CodePodEnded { // the status of the pod already shows this
				model.Reason = problem.OneLine(p.Message)
			}
			found = append(found, p)
		}
	}
	return pods, found, doubted
}

// unreadyShown is the maximum number of unready pods whose events are shown. They usually have the same problem.
const unreadyShown = 5

// relevant merges the events of the object, its children, and the first few pods that are not ready.
func relevant(events []problem.Event, pods []problem.Pod) []problem.Event {
	if len(events) == 0 {
		return nil // there may be very many pods
	}
	hidden, shown := sets.New[types.UID](), 0
	for _, pod := range pods {
		if pod.Ready || shown == unreadyShown {
			hidden.Insert(pod.UID)
		} else {
			shown++
		}
	}
	return problem.FoldEvents(slices.DeleteFunc(slices.Clone(events), func(e problem.Event) bool { return hidden.Has(e.About) }))
}

// Failure returns the reason why an object has failed, and a line for each event of the most serious problem.
func (r Report) Failure(now time.Time) string {
	lines := []string{escape.Line(strings.TrimSpace(r.Reason))}
	if len(r.Problems) > 0 {
		for _, e := range r.Problems[0].Events {
			times := ""
			if e.Count > 1 {
				times = fmt.Sprintf(", %d times", e.Count)
			}
			lines = append(lines, escape.Line(fmt.Sprintf("  %s: %s %s: %s (%s ago%s)", strings.ToLower(e.Object), e.Type, e.Reason,
				problem.OneLine(e.Message), duration.HumanDuration(now.Sub(e.Last.Time)), times)))
		}
	}
	return strings.Join(lines, "\n")
}

// Warnings returns the reasons why a new count is risky or might not last: the writers that reset
// it, the bound that it violates, and the budgets that it breaks. It checks only budgets that
// require a fixed number of pods, because the others require fewer pods if the count is lower.
func (r Report) Warnings(count int32) []string {
	var all []string
	for _, revert := range r.Reverts {
		all = append(all, revert.Message)
	}
	if bound := violated(r.object.Bounds, count); bound != "" {
		all = append(all, "its controller may not use a count of "+strconv.Itoa(int(count))+": "+bound)
	}
	if count >= r.Replicas.Desired {
		return all
	}
	for _, b := range r.Budgets {
		left := max(0, b.Pods-r.Removes(r.Replicas.Desired, count))
		if !r.object.indirect() {
			left = max(left, count) // the count may remove only pods that do not exist yet
		}
		least, err := strconv.ParseInt(b.MinAvailable, 10, 32)
		if err == nil && int64(left) < least {
			all = append(all, fmt.Sprintf("PodDisruptionBudget/%s requires at least %d available pods, and only %d would be left", b.Name, least, left))
		}
	}
	return all
}

// Removes returns the number of pods that a lower count removes. If the count has another unit, such as shards, it
// assumes that all units have the same number of pods.
func (r Report) Removes(from, to int32) int32 {
	if r.object.Unit == "" {
		return from - to
	}
	all := int64(from)
	return int32((int64(from-to)*int64(r.ActivePods()) + all - 1) / all) //nolint:gosec // at most the number of pods
}

// Gone returns the report for a deleted object.
func (r Report) Gone() Report {
	r.Verdict, r.ReasonCode, r.Reason, r.Hint = Deleted, problem.CodeDeleted, "it was deleted", ""
	r.Problems, r.Pause = []problem.Problem{}, nil
	return r
}

// ActivePods returns the number of pods that have not finished and are not being deleted.
func (r Report) ActivePods() int32 { return problem.Count(r.Pods, problem.Pod.Active) }

// ReadyPods returns the number of pods that are ready.
func (r Report) ReadyPods() int32 {
	return problem.Count(r.Pods, func(pod problem.Pod) bool { return pod.Ready })
}
