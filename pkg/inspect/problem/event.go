package problem

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Event is an event in a report.
type Event struct {
	// Object is the involved object, such as "Pod/foo-0".
	Object  string      `json:"object"`
	Type    string      `json:"type"`
	Reason  string      `json:"reason"`
	Message string      `json:"message"`
	Count   int32       `json:"count"`
	First   metav1.Time `json:"first,omitzero"`
	Last    metav1.Time `json:"last,omitzero"`
	// Source is the component that reported the event.
	Source string `json:"source,omitempty"`
}

func newEvent(e corev1.Event) Event {
	return Event{
		Object: e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name,
		Type:   e.Type, Reason: e.Reason, Message: withoutJSON(e.Message), Count: times(e),
		First: metav1.NewTime(firstSeen(e)), Last: metav1.NewTime(LastSeen(e)),
		Source: cmp.Or(e.Source.Component, e.ReportingController),
	}
}

// evidenceEvents is the maximum number of events of a problem.
const evidenceEvents = 5

// RoutineReasons returns the reasons of events of a normal pod start. Such events only repeat the status of the pod.
func RoutineReasons() []string { return []string{"Scheduled", "Pulled", "Created", "Started"} }

// evidence returns the latest warnings or, if there are none, the latest normal events that are not routine.
func evidence(events []corev1.Event) []Event {
	events = slices.DeleteFunc(slices.Clone(events), func(e corev1.Event) bool {
		return e.Type == corev1.EventTypeNormal && slices.Contains(RoutineReasons(), e.Reason)
	})
	warnings := slices.DeleteFunc(slices.Clone(events), func(e corev1.Event) bool { return e.Type == corev1.EventTypeNormal })
	if len(warnings) > 0 {
		events = warnings
	}
	all := FoldEvents(events)
	return all[max(0, len(all)-evidenceEvents):]
}

// FoldEvents merges events that differ only in numbers and quoted names, such as events about pods that a quota
// rejects. The last of the merged events remains, with the total count. The events must be in the order of SortEvents.
func FoldEvents(events []corev1.Event) []Event {
	all := make([]Event, 0, len(events))
	last := map[string]int{}
	for _, e := range events {
		event := newEvent(e)
		key := event.key()
		if i, folded := last[key]; folded {
			before := &all[i]
			event.Count += min(before.Count, math.MaxInt32-event.Count)
			if before.First.Before(&event.First) {
				event.First = before.First
			}
			before.Count = 0
		}
		last[key] = len(all)
		all = append(all, event)
	}
	return slices.DeleteFunc(all, func(e Event) bool { return e.Count == 0 })
}

// combined is the prefix of the message of an aggregated event (k8s.io/client-go/tools/record).
const combined = "(combined from similar events): "

// maxMessage is the maximum number of bytes of an event's message. Anyone who can create events can write more.
const maxMessage = 16 << 10

// SortEvents returns events ordered by their last occurrence, with shortened messages.
func SortEvents(events []corev1.Event) []corev1.Event {
	all := slices.SortedStableFunc(slices.Values(events), func(a, b corev1.Event) int { return LastSeen(a).Compare(LastSeen(b)) })
	for i := range all {
		message := strings.TrimPrefix(all[i].Message, combined)
		if len(message) > maxMessage {
			message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
		}
		all[i].Message = message
	}
	return all
}

// key returns a string that is the same for all events that FoldEvents merges.
func (e Event) key() string {
	words := strings.Fields(e.Message)
	for i, word := range words {
		if strings.HasPrefix(word, "\"") {
			words[i] = "" // a name
		}
	}
	return strings.Join([]string{e.Object, e.Type, e.Reason, e.Source, withoutDigits(strings.Join(words, " "))}, "\x00")
}

func withoutDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, s)
}

// LastSeen returns when an event last occurred. Several fields may contain this time.
func LastSeen(e corev1.Event) time.Time {
	if e.Series != nil && !e.Series.LastObservedTime.IsZero() {
		return e.Series.LastObservedTime.Time
	}
	return cmp.Or(e.LastTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time)
}

func firstSeen(e corev1.Event) time.Time {
	return cmp.Or(e.FirstTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time, LastSeen(e))
}

func times(e corev1.Event) int32 {
	if e.Series != nil {
		return max(e.Series.Count, 1)
	}
	return max(e.Count, 1)
}
