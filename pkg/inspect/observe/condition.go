package observe

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// Condition is the goal of a wait for an object.
type Condition struct {
	// What and Done complete phrases such as "wait for foo to be ready" and "2 of 3 objects are ready".
	What, Done string
	// Tree means that the condition depends on the pods and other children of the object.
	Tree bool
	// FailsFast means that a wait may give up on an object that has failed or is paused.
	FailsFast bool
	// CountOnly means that only the number of pods matters. The condition can be met while a rollout is paused.
	CountOnly bool
	// Absent means that the object need not exist. If Absent is false, a missing object ends the wait.
	Absent bool
	// Met reports whether an observation meets the condition. An error ends the wait.
	Met func(o Observation) (bool, error)
	// Now, if set, describes the current state of an object that exists. See now.
	Now func(o Observation) string
}

// now describes the current state. By default, the description is the verdict and its reason.
func (c Condition) now(o Observation) string {
	if c.Now == nil || o.Object == nil {
		return o.State()
	}
	return c.Now(o)
}

// met reports whether an observation meets the condition. If Absent is false, a missing object is an error, which
// ends the wait. seen means that there was an earlier observation.
func (c Condition) met(o Observation, seen bool) (bool, error) {
	switch {
	case o.Object != nil, c.Absent:
		return c.Met(o)
	case seen:
		return false, fmt.Errorf("%s was %w during the wait", o.Target, outcome.ErrGone)
	}
	return false, apierrors.NewNotFound(o.Kind.Resource.GroupResource(), o.Name)
}

// Ready returns the condition that the verdict on an object is "ready" or "parked".
func Ready() Condition {
	return Condition{What: "to be ready", Done: "ready", Tree: true, FailsFast: true, Met: func(o Observation) (bool, error) {
		return o.Report.Verdict.Settled(), nil
	}}
}

// Scaled returns the condition that an object with the given count is ready, or that exactly this number of pods exist
// and are ready during a pause that does not affect the count. known means that WaitTarget.Check compares the count. If
// known is false, a different count in the report is an error.
func Scaled(replicas int32, known bool) Condition {
	c := Ready()
	c.CountOnly = true
	c.Met = func(o Observation) (bool, error) {
		r := o.Report.Replicas
		if !known && r.Desired != replicas {
			return false, fmt.Errorf("%w: %s was scaled to %d, and someone else set it to %d", outcome.ErrOverwritten, o.Target, replicas, r.Desired)
		}
		waits := o.Report.Verdict == status.Paused && o.Report.Counts && r.Current == r.Desired && r.Ready == r.Desired
		return o.Report.Verdict.Settled() || waits, nil
	}
	return c
}

// Paused returns the condition that an object's controller has seen the pause. If the controller does not write the
// condition Paused, the observed generation must be current, or the verdict must be paused, ready, or parked.
func Paused() Condition {
	return Condition{What: "to be paused by its controller", Done: "paused", Tree: true, Met: func(o Observation) (bool, error) {
		if o.reportsPause() {
			return o.pauseReported(), nil
		}
		seen := o.Report.Metadata
		return seen.ObservedGeneration > 0 && seen.ObservedGeneration >= seen.Generation || o.Report.Verdict == status.Paused || o.Report.Verdict.Settled(), nil
	}}
}

// Resumed returns the condition that an object is ready, and that its controller has seen the end of the pause.
func Resumed() Condition {
	c := Ready()
	c.What = "to be resumed by its controller and ready"
	c.Met = func(o Observation) (bool, error) {
		return o.Report.Verdict.Settled() && (!o.reportsPause() || o.pauseReported()), nil
	}
	return c
}

// reportsPause reports whether the controller of the object writes the condition Paused.
func (o Observation) reportsPause() bool {
	return o.Kind.Reconciled() && len(o.Kind.Mapping.Status.Conditions) > 0
}

// pauseReported reports whether the condition Paused matches the pause annotations. The observed generation would not
// show this, because a change of annotations does not increase the generation. If a pause has an end, the condition may
// be true or false, because the controller decides when the pause ends. Without a pause, the condition may be missing.
func (o Observation) pauseReported() bool {
	pause := apis.ReadPause(o.Object.GetAnnotations())
	c := meta.FindStatusCondition(o.Report.Conditions, apis.ConditionPaused)
	if c == nil {
		return pause == apis.Pause{}
	}
	is := func(want metav1.Condition) bool { return c.Status == want.Status && c.Message == want.Message }
	return is(pause.Condition(true)) || !pause.Forever && is(pause.Condition(false))
}

// WithoutTerminating returns a condition that is met if c is met and no pod of the object is terminating.
func WithoutTerminating(c Condition) Condition {
	both := c
	both.Met = func(o Observation) (bool, error) {
		is, err := c.Met(o)
		return is && terminating(o) == 0, err
	}
	both.Now = func(o Observation) string {
		if n := terminating(o); n > 0 {
			return c.now(o) + "; " + problem.Quantity(n, "pod") + " still terminating"
		}
		return c.now(o)
	}
	return both
}

// Replaced returns the condition that none of the old pods exist, and that the object is ready.
func Replaced(old []problem.Pod) Condition {
	c := Ready()
	c.What, c.Done = "to have new pods", "ready with new pods"
	c.Met = func(o Observation) (bool, error) {
		// A changed annotation does not increase the generation, but new pods prove that the controller has seen it.
		return left(old, o) == 0 && (o.Report.Verdict.Settled() || len(old) > 0 && o.Report.ReasonCode == problem.CodeChangeNotSeen), nil
	}
	c.Now = func(o Observation) string {
		if n := left(old, o); n > 0 && o.Report.Verdict.Settled() {
			return o.State() + "; " + problem.Quantity(n, "pod") + " not yet replaced"
		}
		return o.State()
	}
	return c
}

func terminating(o Observation) int32 {
	return problem.Count(o.Report.Pods, func(pod problem.Pod) bool { return pod.Ending })
}

func left(old []problem.Pod, o Observation) int32 {
	return problem.Count(o.Report.Pods, func(pod problem.Pod) bool {
		return slices.ContainsFunc(old, func(p problem.Pod) bool { return p.UID == pod.UID })
	})
}

// Gone returns the condition that an object does not exist.
func Gone() Condition {
	return Condition{What: "to be gone", Done: "gone", Absent: true,
		Met: func(o Observation) (bool, error) { return o.Object == nil, nil },
		Now: func(o Observation) string {
			if o.Object.GetDeletionTimestamp() == nil {
				return "it is not being deleted"
			}
			return o.State()
		},
	}
}

// Created returns the condition that an object exists.
func Created() Condition {
	return Condition{What: "to be created", Done: "there", Absent: true, Met: func(o Observation) (bool, error) { return o.Object != nil, nil }}
}

// ConditionForm is one of the forms of a --for value, such as condition=NAME.
type ConditionForm struct {
	// Name is the value or, if it ends with an equal sign, the prefix of the value.
	Name string
	// Usage is the value with its argument, as shown in the help.
	Usage string

	parse func(argument string) (Condition, error)
}

// ConditionForms returns "ready" and the forms of "kubectl wait --for", for help, completion, and errors.
func ConditionForms() []ConditionForm {
	plain := func(condition Condition) func(string) (Condition, error) {
		return func(string) (Condition, error) { return condition, nil }
	}
	return []ConditionForm{
		{"ready", "ready", plain(Ready())},
		{"create", "create", plain(Created())},
		{"delete", "delete", plain(Gone())},
		{"condition=", "condition=NAME[=VALUE]", parseStatusCondition},
		{"jsonpath=", "jsonpath=EXPRESSION[=VALUE]", parseJSONPath},
	}
}

// ParseCondition parses a value of --for.
func ParseCondition(word string) (Condition, error) {
	var usages []string
	for _, form := range ConditionForms() {
		usages = append(usages, form.Usage)
		argument, is := strings.CutPrefix(word, form.Name)
		if is && strings.HasSuffix(form.Name, "=") || strings.EqualFold(word, form.Name) {
			return form.parse(argument)
		}
	}
	last := len(usages) - 1
	return Condition{}, fmt.Errorf("cannot wait for %q: must be %s or %s", word, strings.Join(usages[:last], ", "), usages[last])
}

// parseStatusCondition parses NAME[=VALUE], the type and the value of a status condition. The value is true by
// default. A status condition of an older generation does not count.
func parseStatusCondition(argument string) (Condition, error) {
	name, value, given := strings.Cut(argument, "=")
	if !given {
		value = "true"
	}
	if name == "" || value == "" {
		return Condition{}, fmt.Errorf("a condition has a name and a value, and %q lacks one: use condition=NAME[=VALUE]", "condition="+argument)
	}
	what := "to have the condition " + name
	if !strings.EqualFold(value, "true") {
		what += "=" + value
	}
	return Condition{What: what, Done: "so", Now: conditionsNow, Met: func(o Observation) (bool, error) {
		return slices.ContainsFunc(o.Report.Conditions, func(c metav1.Condition) bool {
			return strings.EqualFold(c.Type, name) && strings.EqualFold(string(c.Status), value) && !stale(o.Object, c)
		}), nil
	}}, nil
}

func conditionsNow(o Observation) string {
	var all []string
	for _, c := range o.Report.Conditions {
		now := fmt.Sprintf("%s=%s", c.Type, c.Status)
		if stale(o.Object, c) {
			now += " (of an earlier generation)"
		}
		all = append(all, now)
	}
	if len(all) == 0 {
		return "it has no conditions"
	}
	return "its conditions are " + strings.Join(all, ", ")
}

// stale reports whether a status condition describes an older generation of the object.
func stale(obj *unstructured.Unstructured, c metav1.Condition) bool {
	seen, found := c.ObservedGeneration, c.ObservedGeneration > 0
	if !found {
		seen, found = fieldpath.Integer(fieldpath.Object(obj.Object, "status")["observedGeneration"])
	}
	return found && seen < obj.GetGeneration()
}

// parseJSONPath parses EXPRESSION[=VALUE]. The condition is met if the expression finds the value or, if no
// value is given, any result.
func parseJSONPath(word string) (Condition, error) {
	expression, err := fieldpath.ParseExpression(word)
	return Condition{What: "to have " + expression.String(), Done: "so",
		Met: func(o Observation) (bool, error) { return expression.Holds(o.Object.Object) },
		Now: func(o Observation) string { return expression.Now(o.Object.Object) },
	}, err
}
