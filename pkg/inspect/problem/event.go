package problem

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Event is the model of an event. Rules read it, and reports show it.
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
	// About is the UID of the involved object. Field is the path of its involved part, such as a container, or "".
	About types.UID `json:"-"`
	Field string    `json:"-"`
}

// combined is the prefix of the message of an aggregated event (k8s.io/client-go/tools/record).
const combined = "(combined from similar events): "

// maxMessage is the maximum number of bytes of an event's message. Anyone who can create events can write more.
const maxMessage = 16 << 10

// newEvent returns the model of an event. Several fields may contain its times and its count.
func newEvent(e corev1.Event) Event {
	series := ptr.Deref(e.Series, corev1.EventSeries{})
	last := cmp.Or(series.LastObservedTime.Time, e.LastTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time)
	first := cmp.Or(e.FirstTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time, last)
	message := strings.TrimPrefix(e.Message, combined)
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	return Event{
		Object: e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name,
		Type:   e.Type, Reason: e.Reason, Message: message, Count: max(cmp.Or(series.Count, e.Count), 1),
		First: metav1.NewTime(first), Last: metav1.NewTime(last),
		Source: cmp.Or(e.Source.Component, e.ReportingController),
		About:  e.InvolvedObject.UID, Field: e.InvolvedObject.FieldPath,
	}
}

// SortEvents returns the models of events, ordered by their last occurrence.
func SortEvents(events []corev1.Event) []Event {
	all := make([]Event, 0, len(events))
	for _, e := range events {
		all = append(all, newEvent(e))
	}
	slices.SortStableFunc(all, func(a, b Event) int { return a.Last.Compare(b.Last.Time) })
	return all
}

// evidenceEvents is the maximum number of events of a problem.
const evidenceEvents = 5

// RoutineReasons returns the reasons of events of a normal pod start. Such events only repeat the status of the pod.
func RoutineReasons() []string { return []string{"Scheduled", "Pulled", "Created", "Started"} }

// evidence returns the latest warnings or, if there are none, the latest normal events that are not routine.
func evidence(events []Event) []Event {
	warned := slices.ContainsFunc(events, func(e Event) bool { return e.Type != corev1.EventTypeNormal })
	all := FoldEvents(slices.DeleteFunc(slices.Clone(events), func(e Event) bool {
		return e.Type == corev1.EventTypeNormal && (warned || slices.Contains(RoutineReasons(), e.Reason))
	}))
	return all[max(0, len(all)-evidenceEvents):]
}

// FoldEvents merges events that differ only in numbers and quoted names, such as events about pods that a quota
// rejects. The last of the merged events remains, with the total count. The events must be in the order of SortEvents.
func FoldEvents(events []Event) []Event {
	all := make([]Event, 0, len(events))
	last := map[string]int{}
	for _, event := range events {
		event.Message = withoutJSON(event.Message)
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
