package apis

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pause is a pause that the annotations of an object describe. During the pause, the controller writes only
// the status of the object. Pauses can be compared with ==, because Until is in UTC.
type Pause struct {
	// Until is the end of the pause in UTC. It is zero if the pause is forever, invalid, or absent.
	Until time.Time `json:"until,omitzero"`
	// Forever means that the pause lasts until a user ends it.
	Forever bool `json:"forever,omitempty"`
	// By is the user who paused the object, and Reason is the reason. Both may be "".
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Invalid explains why the end cannot be parsed, or is "". An invalid pause is ignored, because it would never end.
	Invalid string `json:"-"`
}

// ReadPause returns the pause in the annotations of an object, or a zero Pause if there is none.
func ReadPause(annotations map[string]string) Pause {
	end, found := annotations[AnnotationPausedUntil]
	if !found {
		return Pause{}
	}
	p := Pause{By: annotations[AnnotationPausedBy], Reason: annotations[AnnotationPausedReason]}
	switch until, err := time.Parse(time.RFC3339, end); {
	case end == PausedForever:
		p.Forever = true
	case err != nil:
		p.Invalid = fmt.Sprintf("the annotation %s is %.40q: it must be %q or a time such as 2006-01-02T15:04:05Z", AnnotationPausedUntil, end, PausedForever)
	default:
		p.Until = until.UTC()
	}
	return p
}

// Active reports whether the object is paused at the given time.
func (p Pause) Active(now time.Time) bool { return p.Forever || now.Before(p.Until) }

// Left returns the remaining time of the pause, or zero if the pause is forever, over, invalid, or absent.
func (p Pause) Left(now time.Time) time.Duration { return max(0, p.Until.Sub(now)) }

// The reasons of the condition Paused.
const (
	ReasonPaused       = "Paused"
	ReasonInvalidPause = "InvalidPause"
	ReasonPauseEnded   = "PauseEnded"
	ReasonResumed      = "Resumed"
)

// Condition returns the condition Paused that the controller writes. active means that the object is paused.
func (p Pause) Condition(active bool) metav1.Condition {
	c := metav1.Condition{Type: ConditionPaused, Status: metav1.ConditionFalse}
	switch {
	case active:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, ReasonPaused, p.String()
	case p.Invalid != "":
		c.Reason, c.Message = ReasonInvalidPause, p.Invalid
	case !p.Until.IsZero():
		c.Reason, c.Message = ReasonPauseEnded, "the pause ended at "+p.Until.Format(time.RFC3339)
	default:
		c.Reason, c.Message = ReasonResumed, "the object is not paused"
	}
	return c
}

// String describes the pause: its end in UTC, the user, and the reason.
func (p Pause) String() string { return p.Describe(p.Until.Format(time.RFC3339)) }

// Text is like String, but formats the end with Clock, as in "paused until 14:05 by alice: INC-7".
func (p Pause) Text(now time.Time) string { return p.Describe(Clock(p.Until, now)) }

// Describe is like String, but with another text for the end. It ignores this text if the pause is forever.
func (p Pause) Describe(until string) string {
	text := "paused forever"
	if !p.Forever {
		text = "paused until " + until
	}
	return text + p.Note()
}

// Note returns who paused the object and why, such as " by alice: INC-7".
func (p Pause) Note() string {
	text := ""
	if by := oneLine(p.By); by != "" {
		text += " by " + by
	}
	if why := oneLine(p.Reason); why != "" {
		text += ": " + why
	}
	return text
}

// Clock formats t as hour and minute in the time zone of now. If t is on another day, it adds the date.
func Clock(t, now time.Time) string {
	t = t.In(now.Location())
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format("2006-01-02 15:04")
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
