package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/competing"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/words"
)

// Object is the input of a verdict: an object without its pods.
type Object struct {
	Identity
	Counts
	Evidence
	// Pause is the current pause, or nil.
	Pause *Pause
	// SwitchOff is set if the spec has a pause field that is false.
	SwitchOff bool
	// UserPause is the pause in the object's annotations, even after the pause has ended.
	UserPause apis.Pause
	// Parked is the count that an unpark restores, or nil if the object is not parked.
	Parked *apis.ParkedCount

	// interpreted sets claim and objection. claim is the most serious claim in the conditions and the fields. objection
	// describes the first condition that shows that the object is not ready, or is "" if there is none.
	claim     words.Claim
	objection string
}

// Identity identifies an object, its kind, and its owner.
type Identity struct {
	// Type is the singular name with the group, as kubectl prints it. Resource is the plural name with the group.
	Type, Resource, APIVersion, Kind string
	Namespace, Name                  string
	UID                              types.UID
	Labels                           map[string]string
	Created, Deleted                 time.Time // Deleted is zero unless the object is being deleted
	Finalizers                       []string
	// Foreign is set if another program reconciles the kind, and BuiltIn if that is Kubernetes, which counts reliably.
	Foreign, BuiltIn bool
	// Controller is the controlling owner. Source is the tool that sets the count from a repository. Each may be nil.
	Controller *metav1.OwnerReference
	Source     *competing.Writer
	// SetsImage is set if "set image" can find the image field of the pods without the schema.
	SetsImage bool
	// Images maps the names of containers to their images in the pod template.
	Images map[string]string
}

// Counts are the numbers of pods, or of other units, in the spec and in the status.
type Counts struct {
	Desired, Current, Ready int32
	// Updated is the number of pods with the newest template. Available is the number of pods ready for
	// minReadySeconds. Both are nil if the status lacks them. UpdatedWanted is how many must be updated; nil means all.
	Updated, Available, UpdatedWanted *int32
	// Template is the hash of the newest template. It is set only if the kind's status has no count of updated pods.
	Template string
	// ReadyUnknown is set if the number of ready pods is unknown, and NoCount if the desired count is unknown.
	ReadyUnknown, NoCount bool
	// Count is the path of the desired count. Unit is the singular of the counted unit; "" means pods.
	Count, Unit string
	// Several is set if the object has several groups of pods. Total is the number of pods in all groups or shards, or
	// nil if it is unknown.
	Several bool
	Total   *int32
	// Groups are the groups of pods in the spec, and the pairs of counts in the status, if Several or NoCount is set.
	Groups []Group
	// Wanted is the count in the spec. Bounds are the fields that limit this count.
	Wanted int32
	Bounds []Bound
	// ScaleCount is .status.replicas of /scale, in the unit of Desired. Selects is set if /scale has a pod selector.
	ScaleCount *int32
	Selects    bool
}

// Evidence shows whether the controller has acted on the current version of the object.
type Evidence struct {
	// ObservedGeneration is 0 if the status has none. It is -1 if the controller has reported generation 0.
	Generation, ObservedGeneration int64
	// Untracked is set if the controller does not report which generation it has observed.
	Untracked  bool
	Conditions []metav1.Condition
	// Conditioned is set if the schema has conditions, but no .status.observedGeneration. Until such an object has
	// conditions or a phase, no controller has seen it.
	Conditioned bool
	Managers    []metav1.ManagedFieldsEntry
	// OnlyCounted is set if the last change of the spec changed only the count.
	OnlyCounted bool
	// Word is the controller's report. Claims are fields that describe the state. Fields names all status fields.
	Word   Word
	Claims []words.Claim
	Fields []string
	// Exists is why an object that no controller reports on, such as a ConfigMap, is ready. It is "" for others.
	Exists string
}

// Word is a phase and a message that a controller reports.
type Word struct {
	// Phase is a word such as "Running". Message is a sentence.
	Phase, Message string
	// Ready reports whether all ready-when expressions are met, or is nil if none apply. Unmet is an unmet expression.
	Ready *bool
	Unmet string
	// Failed is set if a failed-when expression of the kind is met.
	Failed bool
}

// Pause is a state in which the controller waits for a user or for the end of the pause.
type Pause struct {
	Code problem.Code
	// Why is the reason for the pause. Hint describes how to end the pause.
	Why, Hint string
	// Command replaces Hint if a command ends the pause.
	Command *commandline.Command
	// Template is set if the pause stops only rollouts, so that the count still has an effect. Reported is set if the
	// controller reports the pause in the status. Switch is set if a field of the spec pauses everything.
	Template, Reported, Switch bool
}

func (o Object) argument() string { return ShortType(o.Type) + "/" + o.Name }

// indirect reports whether the count has a unit other than pods, or covers only one of several groups.
func (o Object) indirect() bool { return o.Unit != "" || o.Several }

func (o Object) unit() string { return cmp.Or(o.Unit, "pod") + "s" }

func (o Object) quantity(n int32) string { return problem.Quantity(n, cmp.Or(o.Unit, "pod")) }

// counted returns the object with the counts that the status lacks. It counts the pods or units. If the object has no
// visible pods or workloads, and no pod selector, it uses the count that /scale reports.
func (s Snapshot) counted(pods []problem.Pod) Object {
	o, makers := s.Object, workloads(s.Children)
	current := problem.Count(pods, problem.Pod.Active)
	ready := problem.Count(pods, func(pod problem.Pod) bool { return pod.Active() && pod.Ready })
	switch {
	case o.Unit != "" && o.ReadyUnknown:
		o.Current, o.Ready = o.inUnits(makers)
	case !o.ReadyUnknown:
	case current == 0 && len(makers) == 0 && o.ScaleCount != nil && !o.Selects:
		o.Current, o.Ready = *o.ScaleCount, *o.ScaleCount
	default:
		o.Current, o.Ready = current, ready
		o.Several = o.Several || o.Foreign && int(o.above(makers))+len(o.sorts(pods)) > 1
	}
	if o.NoCount {
		// The desired count is unknown, so all existing pods are desired, including failed ones.
		o.Desired = o.Current + problem.Count(pods, func(pod problem.Pod) bool {
			return pod.Phase == corev1.PodFailed && !pod.Ending && pod.Owner == o.UID
		})
	}
	if o.Template != "" && s.Pods != nil {
		// Like the controller, count pods without the template hash label as updated.
		o.Updated = new(problem.Count(pods, func(pod problem.Pod) bool {
			template := pod.Object.Labels[apis.LabelTemplateHash]
			return pod.Active() && (template == "" || template == o.Template)
		}))
	}
	return o
}

// doubted returns the object with its ready counts limited to the number of ready pods, and with a note in the
// conditions Ready and Available if they are true. The status may be older than the pods.
func (o Object) doubted(pods []problem.Pod) Object {
	ready := Report{Pods: pods}.ReadyPods()
	if o.indirect() || o.Ready <= ready {
		return o
	}
	are := "are"
	if o.Ready-ready == 1 {
		are = "is"
	}
	note := fmt.Sprintf(", but %d of its pods %s no longer ready, or not yet for minReadySeconds", o.Ready-ready, are)
	o.Ready = ready
	if o.Available != nil {
		o.Available = new(min(*o.Available, ready))
	}
	o.Conditions = slices.Clone(o.Conditions)
	for i, c := range o.Conditions {
		if c.Status == metav1.ConditionTrue && (c.Type == apis.ConditionReady || c.Type == availableCondition) {
			o.Conditions[i].Message = strings.TrimSuffix(c.Message, ".") + note
		}
	}
	return o
}

func howToResume(o Object) commandline.Command {
	return commandline.Plugin("resume", o.argument()).In(o.Namespace)
}

// above returns the number of direct children that desire pods.
func (o Object) above(children []Child) int32 {
	return problem.Count(children, func(c Child) bool { return c.Controller == o.UID && *c.Desired > 0 })
}

// inUnits counts units other than pods. If the number of direct children that desire pods is the desired count, each of
// these children is a unit. Otherwise, /scale counts the units. If all of these children are settled, all units are
// ready, and there are at least as many units as children, up to the desired count. If not, no unit is ready.
func (o Object) inUnits(children []Child) (current, ready int32) {
	current = ptr.Deref(o.ScaleCount, 0)
	top := o.above(children)
	done := problem.Count(children, func(c Child) bool {
		return c.Controller == o.UID && *c.Desired > 0 && c.unsettled() == ""
	})
	switch {
	case top > 0 && top == o.Desired:
		return top, done
	case top == 0:
		return current, current
	case done == top:
		return max(current, min(top, o.Desired)), max(current, min(top, o.Desired))
	}
	return current, 0
}

// Newest returns the conditions that are not older than the observed generation. If the phase is the type of a true
// condition, the conditions can be a history of phases. Newest then also omits earlier true conditions that mean
// Working, or that have a lower-case type and mean that the object is not ready.
func (o Object) Newest() []metav1.Condition {
	var since *metav1.Time
	for _, c := range o.Conditions {
		if c.Status == metav1.ConditionTrue && strings.EqualFold(c.Type, o.Word.Phase) {
			since = &c.LastTransitionTime
		}
	}
	return slices.DeleteFunc(slices.Clone(o.Conditions), func(c metav1.Condition) bool {
		over := since != nil && c.Status == metav1.ConditionTrue && c.LastTransitionTime.Before(since)
		meaning := words.Condition(c)
		return over && (meaning == words.Working || meaning > words.Done && c.Type == strings.ToLower(c.Type)) || c.ObservedGeneration > 0 && c.ObservedGeneration < o.ObservedGeneration
	})
}

// String returns the phase and the message, in one line.
func (w Word) String() string { return problem.Joined(w.Phase, problem.OneLine(w.Message)) }

// ShortType shortens a type, such as "imoocpod.batch.tutorial.kubebuilder.io" to "imoocpod". It does not
// shorten a type such as "statefulset.apps.kruise.io", because the result would name a built-in type.
func ShortType(long string) string {
	short, group, _ := strings.Cut(long, ".")
	kubernetes := []string{
		"pod", "service", "node", "replicationcontroller", "deployment", "replicaset", "statefulset", "daemonset", "job", "cronjob",
	}
	if strings.Contains(group, ".") && slices.Contains(kubernetes, short) {
		return long
	}
	return short
}
