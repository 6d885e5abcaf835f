package facts

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/words"
)

// pause sets o.Pause if the object is paused or waits for a user. For an ordinal partition, it may set o.UpdatedWanted.
func (f Facts) pause(o *status.Object, obj map[string]any) {
	for _, e := range f.PausedWhen {
		if holdsOf(e, obj) && !timedPause(obj) {
			o.Pause = &status.Pause{Code: problem.CodePaused, Why: "it is paused" + cmp.Or(pauseNote(obj, e), ": "+e.String())}
			o.Pause.Hint, o.Pause.Command = pausedBy(f, *o, e)
			// A pause of a pod template does not stop scaling.
			o.Pause.Reported = ofStatus(e)
			o.Pause.Template = strings.HasPrefix(fieldOf(e), ".spec.paused") && !o.NoCount && len(f.Updated) > 0 && hasContainers(obj)
			o.Pause.Switch = !o.Pause.Reported && !o.Pause.Template
			if o.Word.Message != "" {
				o.Pause.Why = "it is paused: " + o.Word.Message
			}
			if strings.Contains(o.Word.Message, "BlueGreenPause") || strings.Contains(o.Word.Message, "CanaryPauseStep") {
				// The controller is Argo Rollouts.
				o.Pause.Code, o.Pause.Why = problem.CodeWaitingForPromotion, "it is waiting for a promotion: "+o.Word.Message
			}
			return
		}
	}
	for _, path := range []string{".spec.updateStrategy.paused", ".spec.updateStrategy.rollingUpdate.paused"} {
		if valueAt(obj, path) == true {
			o.Pause = &status.Pause{Code: problem.CodePaused, Why: "its rollout is paused: " + path + " is true", Hint: "unset " + path + " to continue", Template: true}
			return
		}
	}
	f.reportedPause(o, obj)
	switch starting := !f.Ordinal && !o.ReadyUnknown && o.Ready < o.Desired; {
	case o.Pause != nil, o.Updated == nil, *o.Updated >= o.Desired, starting:
		// It is paused, no pods are known to be outdated, or some pods are not ready yet.
	case textAt(obj, f.OnDelete) == "OnDelete":
		o.Pause = &status.Pause{Code: problem.CodeOnDelete, Why: "its strategy is OnDelete", Hint: "delete the pods of the old template", Template: true}
	default:
		f.partition(o, obj)
	}
}

// pauseNote describes who paused an object and why, or returns "" if neither is known. The "pause" command writes both
// to annotations, which are stale if another manager owns the pause field.
func pauseNote(obj map[string]any, e fieldpath.Expression) string {
	u := &unstructured.Unstructured{Object: obj}
	annotations := u.GetAnnotations()
	path, err := fieldpath.ParsePath(e.Path)
	if err != nil {
		return ""
	}
	switchedBy, _ := path.Manager(u)
	for _, key := range []string{apis.AnnotationPausedBy, apis.AnnotationPausedReason} {
		if notedBy, _ := fieldpath.Annotation(key).Manager(u); annotations[key] != "" && notedBy != switchedBy {
			return ""
		}
	}
	return apis.Pause{By: annotations[apis.AnnotationPausedBy], Reason: annotations[apis.AnnotationPausedReason]}.Note()
}

// reportedPause sets o.Pause if a condition or another field of the status reports a pause. If a pause field of the
// spec is false, it sets only o.SwitchOff.
func (f Facts) reportedPause(o *status.Object, obj map[string]any) {
	if slices.ContainsFunc(f.PausedWhen, ofStatus) || o.BuiltIn || timedPause(obj) {
		return // the kind reports pauses in another way, or the pause ends by itself
	}
	o.SwitchOff = slices.ContainsFunc([]string{".spec.paused", ".spec.pause", ".spec.suspend"}, func(path string) bool { return valueAt(obj, path) == false })
	if o.SwitchOff {
		return // the pause in the status is stale
	}
	var why string
	conditions := o.Newest()
	paused := slices.IndexFunc(conditions, func(c metav1.Condition) bool { return words.Condition(c) == words.Paused })
	claim := slices.IndexFunc(o.Claims, func(c words.Claim) bool { return c.Meaning == words.Paused && !c.Part })
	switch {
	case paused >= 0:
		c := conditions[paused]
		why = cmp.Or(problem.Joined(c.Reason, c.Message), problem.ConditionSays(c))
	case claim >= 0:
		why = o.Claims[claim].String()
	default:
		return
	}
	o.Pause = &status.Pause{Code: problem.CodePaused, Why: "it is paused: " + why, Hint: "find out who paused " + o.Type + "/" + o.Name, Reported: true}
}

func ofStatus(e fieldpath.Expression) bool { return strings.HasPrefix(fieldOf(e), ".status.") }

// partition sets o.UpdatedWanted if f.Ordinal is true, or else o.Pause if only the partition keeps pods outdated.
func (f Facts) partition(o *status.Object, obj map[string]any) {
	path, value := f.Partition, valueAt(obj, f.Partition)
	if value == nil && !f.Ordinal {
		path, value = partitionIn(fieldpath.Object(obj, "spec"), ".spec", false)
	}
	groups, several := value.(map[string]any) // the partitions by group
	if !several {
		groups = map[string]any{"": value}
	}
	kept := int32(0)
	for _, partition := range groups {
		n, is := keeps(partition, o.Desired)
		if !is {
			return
		}
		kept = min(o.Desired, kept+n)
	}
	if kept == 0 {
		return
	}
	wanted := o.Desired - kept
	switch {
	case o.Updated == nil:
	case f.Ordinal:
		o.UpdatedWanted = &wanted
	case *o.Updated >= wanted:
		o.Pause = &status.Pause{
			Code: problem.CodePartitioned, Template: true,
			Why:  path + " keeps " + strconv.Itoa(int(kept)) + " pods of the older template",
			Hint: "lower " + path + " to continue",
		}
	}
}

// partitionIn returns the path and the value of a field "partition" below a field such as updateStrategy.
func partitionIn(content map[string]any, at string, strategy bool) (string, any) {
	for _, name := range slices.Sorted(maps.Keys(content)) {
		path, value := at+"."+name, content[name]
		if strategy && name == "partition" {
			return path, value
		}
		below, _ := value.(map[string]any)
		if path, value := partitionIn(below, path, strategy || strings.HasSuffix(strings.ToLower(name), "strategy")); value != nil {
			return path, value
		}
	}
	return "", nil
}

// keeps returns the number of desired pods that a partition keeps on the old revision, and whether the partition is
// valid. As in OpenKruise, a percentage is rounded up, but unless it is 100%, at least one pod is replaced.
func keeps(value any, desired int32) (int32, bool) {
	var partition intstr.IntOrString
	switch value := value.(type) {
	case int64:
		partition = intstr.FromInt32(Pods(min(value, int64(desired))))
	case string:
		partition = intstr.Parse(value)
	default:
		return 0, false
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(&partition, int(desired), true)
	if err != nil {
		return 0, false
	}
	if partition.Type == intstr.String && partition.StrVal != "100%" && n >= int(desired) {
		n = int(desired) - 1
	}
	return int32(max(0, min(n, int(desired)))), true //nolint:gosec // between two 32-bit counts
}

// timedPause reports whether the current pause of an Argo Rollout, if any, ends by itself after some time.
func timedPause(obj map[string]any) bool {
	if valueAt(obj, ".spec.paused") == true {
		return false
	}
	if seconds, _ := wholeAt(obj, ".spec.strategy.blueGreen.autoPromotionSeconds"); seconds > 0 {
		return true
	}
	index, found := wholeAt(obj, ".status.currentStepIndex")
	steps, _ := valueAt(obj, ".spec.strategy.canary.steps").([]any)
	if !found || index < 0 || int(index) >= len(steps) {
		return false
	}
	step, _ := steps[index].(map[string]any)
	return fieldpath.Object(step, "pause")["duration"] != nil
}
