package words

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// Conditions returns the valid conditions in a list. It skips other entries, because any program can write a status.
func Conditions(list any) []metav1.Condition {
	var all []metav1.Condition
	for _, content := range fieldpath.Objects(list) {
		text := func(field string) string {
			word, _ := content[field].(string)
			return word
		}
		c := metav1.Condition{Type: text("type"), Status: metav1.ConditionStatus(text("status")), Reason: text("reason"), Message: text("message")}
		c.ObservedGeneration, _ = fieldpath.Integer(content["observedGeneration"])
		if at, err := time.Parse(time.RFC3339, text("lastTransitionTime")); err == nil {
			c.LastTransitionTime = metav1.NewTime(at.Local())
		}
		if content["severity"] == "Error" && c.Reason == "" {
			c.Reason = "Error" // Cluster API conditions have a severity
		}
		if c.Type != "" && c.Status != "" {
			all = append(all, c)
		}
	}
	return all
}

// Condition returns the meaning of a condition:
//
//   - A type such as Ready or FullyApplied means Ready if the condition is true, Broken if it is false
//     and the reason or the message names a fault, and Working otherwise.
//   - A type such as Reconciling, Paused, or FetchFailed means Working, Paused, or Broken if the
//     condition is true, and Nothing otherwise.
//   - A type such as Ready means Paused if the condition is false because of a pause.
//   - For Progressing and Running, the reason decides: a Deployment has Progressing=True both
//     while it is progressing and when it is complete. operator-sdk uses Running in the same way.
func Condition(c metav1.Condition) Meaning {
	words := ofType(c.Type)
	meaning, is := meaningOf(words), c.Status == metav1.ConditionTrue
	switch last := lastOf(words); {
	case among(last, "warning"):
		return Nothing // a ready object can have a warning
	case len(words) == 1 && (words[0] == "progressing" || words[0] == "running"):
		return moving(c)
	case meaning > Done && is:
		if among(last, "ready", "notready", "unready", "available", "unavailable") && blames(c) {
			return Broken // for example NotReady, which does not name the cause
		}
		return meaning
	case meaning == Nothing, meaning > Done:
		return Nothing
	case is && worst(Split(c.Reason)) >= Broken:
		return Broken // for example Complete, with the reason JobFailed
	case is && step(last):
		return Nothing
	case is:
		return meaning
	case among(last, "active"):
		return Nothing // an idle object can be ready
	case c.Status == metav1.ConditionFalse && Overall(c.Reason) && worst(Split(c.Reason)) == Paused:
		return Paused
	case c.Status == metav1.ConditionFalse && blames(c) && !Waits(c):
		return Broken
	}
	return Working
}

// Waits reports whether an object waits to be scheduled. Until then, its conditions can be false without a fault.
func Waits(c metav1.Condition) bool {
	return c.Status == metav1.ConditionFalse && strings.HasSuffix(c.Type, "Scheduled")
}

// Overall reports whether a condition type describes the whole object, such as AllReplicasReady, unlike NetworkReady.
func Overall(conditionType string) bool {
	return !slices.ContainsFunc(ofType(conditionType), func(w string) bool { return !known(w) })
}

// ofType returns the words of a condition type. It ignores a prefix such as "example.com/".
func ofType(name string) []string { return Split(name[strings.LastIndexAny(name, "/.")+1:]) }

// step reports whether a type with this last word, such as PodScheduled, becomes true before the object is ready.
func step(last []string) bool {
	return among(last, "scheduled", "initialized", "configured", "created", "generated", "validated", "valid", "approved",
		"admitted", "started", "submitted", "registered")
}

// meaningOf returns the meaning of the words of a condition type. A word for a failure decides, except before a step
// such as "configured". Otherwise, the last word decides. If the last word has no meaning, as in ResolvedRefs, the type
// means Ready if the previous word does, or Working if the type begins with a word such as "replacing".
func meaningOf(words []string) Meaning {
	whole := worst(words)
	words = without(words, fillers()...)
	switch {
	case len(words) == 0, remote(words):
		return Nothing
	case slices.Contains(words, "degraded"):
		return min(whole, Broken) // a degraded object may still have ready pods
	case step(lastOf(words)):
		return Ready
	case whole >= Broken:
		return whole
	}
	last := cmp.Or(lexicon[strings.Join(words, "")], worst(lastOf(words)))
	if last == Nothing && len(words) > 1 && lexicon[words[len(words)-2]] == Ready {
		last = Ready
	}
	if work := words[0]; last == Nothing && lexicon[work] == Working && strings.HasSuffix(work, "ing") && !strings.HasSuffix(words[len(words)-1], "ed") {
		last = Working
	}
	if last == Done && len(words) > 1 {
		last = Ready
	}
	if (last == Ready || last == Done) && slices.ContainsFunc(words, negates) {
		return Working
	}
	return last
}

func moving(c metav1.Condition) Meaning {
	reason := worst(without(Split(c.Reason), "running"))
	switch {
	case c.Status == metav1.ConditionFalse && reason >= Broken:
		return Broken
	case c.Status == metav1.ConditionFalse, reason == Paused:
		return Nothing
	case c.Status != metav1.ConditionTrue, reason == Nothing:
		return Working
	}
	return min(reason, Working)
}

// blames reports whether the reason or the message of a condition names a fault. If the reason means Working, only the
// first word of the message counts. A message that ends with "yet" rules out a fault.
func blames(c metav1.Condition) bool {
	reason, message := Split(c.Reason), Split(c.Message)
	faulty := wrong(reason) || wrong(message[:min(1, len(message))]) || worst(reason) != Working && wrong(message)
	return faulty && !among(lastOf(message), "yet")
}

// wrong reports whether the words of a reason or a message name a fault.
func wrong(words []string) bool {
	if len(words) > 1 && negates(words[0]) && words[len(words)-1] == "found" {
		return true
	}
	return worst(words) >= Broken || among(words, "cannot", "missing", "notfound", "mismatch", "insufficient", "exceeded",
		"refused", "unsupported", "conflicts", "undefined", "unresolved", "unreachable")
}
