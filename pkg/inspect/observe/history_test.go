package observe

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// history detects what the controller did between two snapshots, even if the times of writes do not show it.
func TestActed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	written := func(ago time.Duration) []metav1.ManagedFieldsEntry {
		at := metav1.NewTime(now.Add(-ago * time.Second))
		return []metav1.ManagedFieldsEntry{{Manager: "controller", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status", Time: &at}}
	}
	seen := func(change func(*status.Snapshot)) status.Snapshot {
		s := status.Snapshot{
			Object:   status.Object{Identity: status.Identity{UID: "it"}, Counts: status.Counts{Current: 1}, Evidence: status.Evidence{Generation: 2, Managers: written(10)}},
			Children: []status.Child{{UID: "s", Controller: "it", Generation: 1}, {UID: "far", Controller: "s", Generation: 1}},
		}
		change(&s)
		return s
	}
	before := seen(func(*status.Snapshot) {})
	for name, test := range map[string]struct {
		change       func(*status.Snapshot)
		acted, below bool
	}{
		"no change":                         {func(*status.Snapshot) {}, false, false},
		"status written a second later":     {func(s *status.Snapshot) { s.Object.Managers = written(9) }, true, false},
		"status changed in the same second": {func(s *status.Snapshot) { s.Object.Current = 2 }, true, false},
		"phase changed":                     {func(s *status.Snapshot) { s.Object.Word.Phase = "Sailing" }, true, false},
		"child changed":                     {func(s *status.Snapshot) { s.Children[0].Generation = 2 }, true, true},
		"child created":                     {func(s *status.Snapshot) { s.Children = append(s.Children, status.Child{UID: "t", Controller: "it"}) }, true, true},
		"grandchild changed":                {func(s *status.Snapshot) { s.Children[1].Generation = 2 }, false, false},
		"child of another owner created":    {func(s *status.Snapshot) { s.Children = append(s.Children, status.Child{UID: "t", Controller: "other"}) }, false, false},
		"spec and status changed":           {func(s *status.Snapshot) { s.Object.Generation, s.Object.Current = 3, 2 }, false, false},
		"spec and child changed":            {func(s *status.Snapshot) { s.Object.Generation, s.Children[0].Generation = 3, 2 }, false, false},
		"object with another UID":           {func(s *status.Snapshot) { s.Object.UID, s.Object.Current = "that", 2 }, false, false},
		"object with another UID and a child": {func(s *status.Snapshot) {
			s.Object.UID, s.Children[1].Controller, s.Children[1].Generation = "that", "that", 2
		}, false, false},
	} {
		var h history
		h.add(&before)
		now := seen(test.change)
		if h.add(&now); now.Acted != test.acted || now.ActedBelow != test.below {
			t.Errorf("%s: Acted, ActedBelow = %t, %t; want %t, %t", name, now.Acted, now.ActedBelow, test.acted, test.below)
		}
	}
}
