package status

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Event is an event as a report has it.
type Event struct {
	// Object is what it is about, such as "Pod/foo-0".
	Object  string      `json:"object"`
	Type    string      `json:"type"`
	Reason  string      `json:"reason"`
	Message string      `json:"message"`
	Count   int32       `json:"count"`
	First   metav1.Time `json:"first,omitzero"`
	Last    metav1.Time `json:"last,omitzero"`
	// Source is the component that told it.
	Source string `json:"source,omitempty"`
}

func newEvent(e corev1.Event) Event {
	return Event{
		Object: e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name,
		Type:   e.Type, Reason: e.Reason, Message: withoutJSON(e.Message), Count: times(e),
		First: metav1.NewTime(firstSeen(e)), Last: metav1.NewTime(lastSeen(e)),
		Source: cmp.Or(e.Source.Component, e.ReportingController),
	}
}

// evidenceEvents is how many of the last events a problem shows.
const evidenceEvents = 5

// evidence are the last of some events that tell about a problem: warnings, or else
// what may go on for too long. What is done and went well is none.
func evidence(events []corev1.Event) []Event {
	events = slices.DeleteFunc(slices.Clone(events), func(e corev1.Event) bool {
		return e.Type == corev1.EventTypeNormal && slices.Contains([]string{"Scheduled", "Pulled", "Created", "Started"}, e.Reason)
	})
	warnings := slices.DeleteFunc(slices.Clone(events), func(e corev1.Event) bool { return e.Type == corev1.EventTypeNormal })
	if len(warnings) > 0 {
		events = warnings
	}
	all := foldEvents(events)
	return all[max(0, len(all)-evidenceEvents):]
}

// foldEvents makes one event of those that differ in nothing but numbers and the
// names of pods, as those of the pods that a quota refuses: the last one, with the
// count of all. They come in the order in which they last happened, and stay in it.
func foldEvents(events []corev1.Event) []Event {
	var all []Event
	for _, e := range events {
		event := newEvent(e)
		alike := slices.IndexFunc(all, func(o Event) bool { return o.key() == event.key() })
		if alike >= 0 {
			before := all[alike]
			event.Count += before.Count
			if before.First.Before(&event.First) {
				event.First = before.First
			}
			all = slices.Delete(all, alike, alike+1)
		}
		all = append(all, event)
	}
	return all
}

// key is the same for events that are folded.
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
