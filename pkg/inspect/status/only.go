package status

import (
	"fmt"
	"slices"
	"strings"
)

// Only selects objects by their state. An empty list selects all objects.
type Only []string

// The states of Only. OnlyPaused includes ready and failed objects that are paused. OnlyNotReady excludes parked ones.
const (
	OnlyFailed   = "failed"
	OnlyPaused   = "paused"
	OnlyParked   = "parked"
	OnlyNotReady = "not-ready"
)

// States returns the states of Only, for help and completion.
func States() []string { return []string{OnlyFailed, OnlyPaused, OnlyParked, OnlyNotReady} }

// Wants reports whether Only selects the object of a report.
func (o Only) Wants(r Report) bool {
	is := map[string]bool{
		OnlyFailed:   r.Verdict == Failed,
		OnlyPaused:   r.object.Pause != nil,
		OnlyParked:   r.Parked != nil,
		OnlyNotReady: !r.Verdict.Settled(),
	}
	return len(o) == 0 || slices.ContainsFunc(o, func(state string) bool { return is[state] })
}

// None returns the message for n objects that have none of the states.
func (o Only) None(n int) string {
	switch one := n == 1; {
	case one && slices.Equal(o, Only{OnlyNotReady}):
		return "the object is ready"
	case slices.Equal(o, Only{OnlyNotReady}):
		return fmt.Sprintf("all %d objects are ready", n)
	case one:
		return "the object is not " + strings.Join(o, " or ")
	}
	return fmt.Sprintf("none of %d objects is %s", n, strings.Join(o, " or "))
}
