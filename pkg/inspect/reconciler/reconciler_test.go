package reconciler

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

func lookedAt() time.Time { return time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC) }

// A controller that wrote a status within the last seconds is active, whether or not it has a
// lease.
func TestActive(t *testing.T) {
	t.Parallel()
	for ago, want := range map[time.Duration]bool{4 * time.Second: true, 5 * time.Second: false} {
		r := New(Object{Now: lookedAt()}, nil)
		r.Status = &fieldpath.Write{Time: metav1.NewTime(lookedAt().Add(-ago))}
		if got := r.Active(5 * time.Second); got != want {
			t.Errorf("written %s ago: active is %t", ago, got)
		}
	}
	if New(Object{Now: lookedAt()}, nil).Active(5 * time.Second) {
		t.Error("without a status it is active")
	}
}

// Unanswered explains why the status does not show that a change was seen.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	write := func(ago time.Duration) *fieldpath.Write {
		return &fieldpath.Write{Time: metav1.NewTime(lookedAt().Add(-ago))}
	}
	for want, r := range map[string]Reconciler{
		"has never been written":                       {Spec: write(0)},
		"the time of the change is unknown":            {Status: write(0)},
		"was written in the same second as the change": {Spec: write(0), Status: write(0)},
		"was last written before the change":           {Spec: write(0), Status: write(1)},
	} {
		if got := r.Unanswered(); !strings.HasSuffix(got, want) {
			t.Errorf("%q, want one that ends in %q", got, want)
		}
	}
}
