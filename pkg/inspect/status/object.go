package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// Object is what a verdict reads of a replica resource.
type Object struct {
	// Type is the singular with its group, as kubectl prints it; Resource is the
	// plural with its group. APIVersion and Kind are those of its manifest.
	Type, Resource   string
	APIVersion, Kind string
	Namespace, Name  string
	UID              types.UID
	Labels           map[string]string
	Created          time.Time
	// Controller refers to the object that controls this one, if one does.
	Controller *metav1.OwnerReference
	// Source is the tool that sets its count from a repository; nil where none does.
	Source *CompetingWriter
	// Managers are those who wrote its fields.
	Managers []metav1.ManagedFieldsEntry
	// Deleted is when the object was told to go; zero where it was not.
	Deleted    time.Time
	Finalizers []string

	Generation, ObservedGeneration int64
	Desired, Current, Ready        int32
	// Updated is how many pods are made from the newest template, and Available
	// how many have been ready for long enough; nil where the status does not
	// tell. UpdatedWanted is how many of the newest template are enough: nil is
	// all that are wanted.
	Updated, Available, UpdatedWanted *int32
	Conditions                        []metav1.Condition

	// Foreign says that another program's controller reconciles the kind,
	// Untracked that it does not say which generation it saw, Uncounted that it
	// does not say how many pods are ready, NoCount that nothing says how many are
	// wanted.
	Foreign, Untracked, Uncounted, NoCount bool
	// BuiltIn says that the controller is Kubernetes' own, whose counts of pods
	// are believed.
	BuiltIn bool
	// SetsImage says that the object has the image of its pods in a field that "set
	// image" is known to find.
	SetsImage bool
	// Images are the images in its pod template, by the names of the containers.
	Images map[string]string
	// Conditioned says that the kind's controller writes conditions, by the
	// schema: where there are none, it has not seen the object.
	Conditioned bool

	// Count is the path of the desired count. Unit is what there are so many of;
	// empty means pods. Beside are the other counts of the spec.
	Count  string
	Unit   string
	Beside []Beside
	// Several says that other groups of pods have counts of their own, so that
	// pods in all are no measure of this count. Total is the sum of the counts of
	// all groups, where it is known.
	Several bool
	Total   *int32
	// Told is the count that /scale reports, in the unit of the desired count; nil
	// where there is none. Selects says that the status tells a selector of pods.
	Told    *int32
	Selects bool
	// OnlyCounted says that the last change of the spec touched nothing but the
	// count.
	OnlyCounted bool
	// Word is what the controller itself says in a field of the status.
	Word Word
	// Pause is what keeps the controller from going on; nil where nothing does.
	Pause *Pause
	// UserPause is what the annotations say of a pause of an object that this
	// program reconciles. It may be over.
	UserPause apis.Pause
	// Template is what the label of pods says that are made from the newest template;
	// empty where Updated comes from the status.
	Template string
	// Parked is the count to go back to while the count is zero for a time; nil where
	// it is not.
	Parked *ParkedCount
}

// Beside is a count of the spec beside the one that is scaled.
type Beside struct {
	Path  string `json:"path"`
	Value int64  `json:"value"`
}

// Word is what a controller says of an object in its own words.
type Word struct {
	// Phase is a word such as "Running", Message a sentence.
	Phase, Message string
	// Ready reports whether what the kind declares as ready holds; nil where it
	// declares nothing. Unmet is the first expression of that which does not hold.
	// Failed says that what it declares as failed does, Unsettled that the phase is one
	// of work that is not done.
	Ready     *bool
	Unmet     string
	Failed    bool
	Unsettled bool
}

// Pause is a wait for a person.
type Pause struct {
	Code problem.Code
	// Why says what is paused, Hint who must act.
	Why, Hint string
	// Command takes the place of Hint where a command ends the pause.
	Command *commandline.Command
	// Template says that only pods of a newer template are held back: the count
	// still has an effect. Told says that the controller says so in the status.
	Template, Told bool
}

// argument is the object as it is written on a command line.
func (o Object) argument() string { return ShortType(o.Type) + "/" + o.Name }

// indirect reports whether the number of pods says nothing about the count.
func (o Object) indirect() bool { return o.Unit != "" || o.Several }

// unit is the plural of what is counted.
func (o Object) unit() string {
	if o.Unit == "" {
		return "pods"
	}
	return o.Unit + "s"
}

// quantity is a number of what is counted: "1 pod", "2 pods".
func (o Object) quantity(n int32) string {
	return problem.Quantity(n, strings.TrimSuffix(o.unit(), "s"))
}

// counted takes the counts that the object's status does not tell from the pods
// themselves, or from what its /scale reports where no pods are to be seen.
func (o Object) counted(pods []Pod, children []Child) Object {
	current, ready := int32(0), int32(0)
	for _, pod := range pods {
		if !pod.live() {
			continue
		}
		current++
		if pod.Ready {
			ready++
		}
	}
	makers := workloads(children)
	switch {
	case o.Unit != "" && o.Uncounted:
		o.Current, o.Ready = o.inUnits(makers)
	case !o.Uncounted:
	case current == 0 && len(makers) == 0 && o.Told != nil && !o.Selects:
		o.Current, o.Ready = *o.Told, *o.Told
	default:
		o.Current, o.Ready = current, ready
		o.Several = o.Several || o.Foreign && o.above(makers) > 1
	}
	if o.NoCount {
		// Where nothing says how many are wanted, it is those that are there.
		o.Desired = o.Current
	}
	return o
}

// updatedOf counts the pods of the newest template where the status does not: a pod that
// does not say what it was made from counts, as it does for the controller.
func (o Object) updatedOf(pods Pods) Object {
	n := int32(0)
	for _, pod := range pods {
		if pod.live && (pod.template == "" || pod.template == o.Template) {
			n++
		}
	}
	o.Updated = &n
	return o
}

// doubted counts only pods as ready that are believed to be, and says so where the
// object says otherwise. Whoever counted them has the word of their kubelets, and
// does not look back.
func (o Object) doubted(pods []Pod) Object {
	if o.indirect() {
		return o
	}
	ready := int32(0)
	for _, pod := range pods {
		if pod.Ready {
			ready++
		}
	}
	if o.Ready <= ready {
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
		if c.Status == metav1.ConditionTrue && (c.Type == readyCondition || c.Type == availableCondition) {
			o.Conditions[i].Message = strings.TrimSuffix(c.Message, ".") + note
		}
	}
	return o
}

// above is how many of some children stand right below the object and want pods.
func (o Object) above(children []Child) int32 {
	n := int32(0)
	for _, c := range children {
		if c.Controller == o.UID && *c.Desired > 0 {
			n++
		}
	}
	return n
}

// inUnits counts units that are not pods: one for each child where there are as
// many children as units, else as the status tells.
func (o Object) inUnits(children []Child) (current, ready int32) {
	if o.Told != nil {
		current = *o.Told
	}
	top, done := o.above(children), int32(0)
	for _, c := range children {
		if _, unsettled := c.unsettled(); c.Controller == o.UID && *c.Desired > 0 && !unsettled {
			done++
		}
	}
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

// newest are the conditions but those that an older generation left behind.
func (o Object) newest() []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(o.Conditions), func(c metav1.Condition) bool {
		return c.ObservedGeneration > 0 && c.ObservedGeneration < o.ObservedGeneration
	})
}

// tracked takes the generation that the controller saw from the conditions where
// nothing else tells it.
func (o Object) tracked() Object {
	if !o.Untracked {
		return o
	}
	for _, c := range o.Conditions {
		if c.ObservedGeneration > 0 {
			o.Untracked, o.ObservedGeneration = false, max(o.ObservedGeneration, c.ObservedGeneration)
		}
	}
	return o
}

// String returns the phase and the sentence.
func (w Word) String() string {
	switch {
	case w.Phase == "":
		return problem.OneLine(w.Message)
	case w.Message == "":
		return w.Phase
	}
	return w.Phase + ": " + problem.OneLine(w.Message)
}
