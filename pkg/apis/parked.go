package apis

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// ParkedCount is the value of AnnotationParked: the replica count that "unpark" restores.
type ParkedCount struct {
	// Replicas is the replica count before the object was parked. Path is the replica field.
	Replicas int32  `json:"replicas"`
	Path     string `json:"path"`
	// By is the user who parked the object, or "" if the user is unknown.
	By string    `json:"by,omitempty"`
	At time.Time `json:"at"`
	// Reason is the value of --reason, or "".
	Reason string `json:"reason,omitempty"`
}

// Story describes who parked the object, when, and why, as in "by alice 3h ago (5 replicas): no budget".
func (p ParkedCount) Story(now time.Time) string {
	by := ""
	if p.By != "" {
		by = "by " + p.By + " "
	}
	replicas := "replicas"
	if p.Replicas == 1 {
		replicas = "replica"
	}
	story := fmt.Sprintf("%s%s ago (%d %s)", by, duration.HumanDuration(max(now.Sub(p.At), 0)), p.Replicas, replicas)
	if p.Reason != "" {
		story += ": " + oneLine(p.Reason)
	}
	return story
}
