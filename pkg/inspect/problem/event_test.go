package problem

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Events of a ReplicaSet that differ only in the name of a pod are merged. Normal events are evidence only if there are
// no warnings, and routine events never are.
func TestEvidence(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	var events []corev1.Event
	add := func(kind, reason, message string, count int32) {
		at := metav1.NewTime(begun.Add(time.Duration(len(events)) * time.Second))
		events = append(events, corev1.Event{
			InvolvedObject: corev1.ObjectReference{Kind: "ReplicaSet", Name: "web"}, Type: kind, Reason: reason, Message: message,
			Count: count, FirstTimestamp: at, LastTimestamp: at,
		})
	}
	add("Normal", "Scheduled", "Successfully assigned team-a/web-1 to node-1", 1)
	for i := range 5 {
		add("Warning", "FailedCreate", fmt.Sprintf(`Error creating: pods "web-%dx" is forbidden: exceeded quota: few, used: pods=2`, i), 2)
	}
	add("Warning", "FailedMount", `MountVolume.SetUp failed for volume "data"`, 1)
	got := evidence(SortEvents(events))
	if len(got) != 2 || got[0].Reason != "FailedCreate" || got[0].Count != 10 || got[1].Reason != "FailedMount" {
		t.Fatalf("evidence = %+v, want 10 times FailedCreate, then FailedMount", got)
	}
	if !got[0].First.Time.Equal(begun.Add(time.Second)) || !got[0].Last.Time.Equal(begun.Add(5*time.Second)) {
		t.Errorf("first and last FailedCreate at %s and %s, want 1s and 5s after the first event", got[0].First, got[0].Last)
	}
	if all := FoldEvents(SortEvents(events)); len(all) != 3 || all[0].Reason != "Scheduled" {
		t.Errorf("FoldEvents() = %+v, want 3 events, Scheduled first", all)
	}
	if got := evidence(SortEvents(events[:1])); len(got) != 0 {
		t.Errorf("evidence = %+v, want none for the routine event Scheduled", got)
	}
	add("Normal", "Pulling", "Pulling image web:v2", 1)
	if got := evidence(SortEvents(events[len(events)-1:])); len(got) != 1 {
		t.Errorf("evidence without warnings = %+v, want the event Pulling", got)
	}
}

// The times and the count of an event are in its series or, for other reporters, in its own fields.
func TestTimesOfEvents(t *testing.T) {
	t.Parallel()
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	series := func(count int32, last int64) *corev1.EventSeries {
		return &corev1.EventSeries{Count: count, LastObservedTime: metav1.NewMicroTime(at(last))}
	}
	created := metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(at(1))}
	for name, test := range map[string]struct {
		event       corev1.Event
		first, last int64
		count       int32
	}{
		"only created":           {corev1.Event{ObjectMeta: created}, 1, 1, 1},
		"its own fields":         {corev1.Event{ObjectMeta: created, FirstTimestamp: metav1.NewTime(at(2)), LastTimestamp: metav1.NewTime(at(3)), Count: 4}, 2, 3, 4},
		"new":                    {corev1.Event{ObjectMeta: created, EventTime: metav1.NewMicroTime(at(5))}, 5, 5, 1},
		"a series":               {corev1.Event{ObjectMeta: created, EventTime: metav1.NewMicroTime(at(5)), Series: series(6, 7)}, 5, 7, 6},
		"a series without times": {corev1.Event{ObjectMeta: created, EventTime: metav1.NewMicroTime(at(5)), Series: &corev1.EventSeries{Count: 2}}, 5, 5, 2},
		"only a series":          {corev1.Event{Series: series(6, 7)}, 7, 7, 6},
	} {
		e := newEvent(test.event)
		if !e.First.Time.Equal(at(test.first)) || !e.Last.Time.Equal(at(test.last)) || e.Count != test.count {
			t.Errorf("%s: %d times from %s to %s; want %d times from %s to %s", name, e.Count, e.First, e.Last, test.count, at(test.first), at(test.last))
		}
	}
}

// Anyone who can create events can create many long ones. The cost of folding events is linear in
// the number of events. The cost of each event is bounded, because long messages are truncated.
func TestCostOfEvents(t *testing.T) { // not parallel, because it counts allocations
	many := func(n int) []corev1.Event {
		events := make([]corev1.Event, n)
		for i := range events {
			words := strings.Repeat("x", i%7) + strings.Repeat("y", i/7)
			events[i] = corev1.Event{Reason: "Odd", Message: "words " + words, Count: math.MaxInt32, LastTimestamp: metav1.Unix(int64(n-i), 0)}
		}
		return events
	}
	size := 100
	before := testing.AllocsPerRun(1, func() { FoldEvents(SortEvents(many(size))) })
	for range 2 {
		size *= 2
		allocations := testing.AllocsPerRun(1, func() {
			if all := FoldEvents(SortEvents(many(size))); len(all) != size || all[0].Count != math.MaxInt32 {
				t.Errorf("FoldEvents() of %d different events returned %d events, or one with a wrong count", size, len(all))
			}
		})
		if allocations > 2.5*before {
			t.Errorf("%d events cost %.0f allocations, want at most 2.5 times the %.0f of half as many", size, allocations, before)
		}
		before = allocations
	}
	alike := SortEvents(append(many(1), many(1)...))
	if all := FoldEvents(alike); len(all) != 1 || all[0].Count != math.MaxInt32 {
		t.Errorf("FoldEvents() of two equal events = %+v, want one event with the maximum count", all)
	}
	long := SortEvents([]corev1.Event{{Message: combined + strings.Repeat("é", maxMessage)}, {Message: strings.Repeat("x", maxMessage)}})
	if got := long[0].Message; len(got) != maxMessage+len("…") || !utf8.ValidString(got) {
		t.Errorf("a long message is shortened to %d bytes, want %d bytes of valid UTF-8", len(got), maxMessage+len("…"))
	}
	if got := long[1].Message; len(got) != maxMessage {
		t.Errorf("a message of the maximum length becomes %d bytes long, want %d", len(got), maxMessage)
	}
}
