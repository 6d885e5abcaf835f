package status

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conditions that operators use speak against an object whose counts are right, and
// others do not.
func TestContradiction(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind    string
		status  metav1.ConditionStatus
		desired int32
		against bool
	}{
		{"Ready", metav1.ConditionTrue, 3, false},
		{"Ready", metav1.ConditionUnknown, 3, true},
		{"Synced", metav1.ConditionFalse, 3, true},
		{"Healthy", metav1.ConditionFalse, 0, true},
		{"AllReplicasReady", metav1.ConditionTrue, 3, false},
		{"NotReady", metav1.ConditionTrue, 3, true},
		{"NotReady", metav1.ConditionFalse, 3, false},
		{"Degraded", metav1.ConditionTrue, 3, true},
		{"RollingOut", metav1.ConditionTrue, 3, true},
		{"RollingUpdate", metav1.ConditionUnknown, 3, false},
		{"Available", metav1.ConditionFalse, 3, true},
		{"Available", metav1.ConditionFalse, 0, false},
		{"Progressing", metav1.ConditionTrue, 3, false},
		{"Progressing", metav1.ConditionFalse, 3, false},
	} {
		o := Object{Counts: Counts{Desired: test.desired}, Evidence: Evidence{Conditions: []metav1.Condition{{Type: "Other", Status: metav1.ConditionFalse}, {Type: test.kind, Status: test.status}}}}
		if c, against := contradiction(o); against != test.against || against && c.Type != test.kind {
			t.Errorf("%s is %s: %t (%s)", test.kind, test.status, against, c.Type)
		}
	}
}
