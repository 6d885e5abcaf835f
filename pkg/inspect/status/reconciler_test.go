package status

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// A controller is considered active for the given duration after it writes a status, even without a lease.
func TestActive(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	for ago, want := range map[time.Duration]bool{4 * time.Second: true, 5 * time.Second: false} {
		r := Reconciler{Status: &fieldpath.Write{Time: metav1.NewTime(now.Add(-ago))}}
		if got := r.active(5*time.Second, now); got != want {
			t.Errorf("status written %s ago: active() = %t, want %t", ago, got, want)
		}
	}
	if (Reconciler{}).active(5*time.Second, now) {
		t.Error("a reconciler that has never written a status is active")
	}
}

func TestUnanswered(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	write := func(ago time.Duration) *fieldpath.Write {
		return &fieldpath.Write{Time: metav1.NewTime(now.Add(-ago))}
	}
	for want, r := range map[string]Reconciler{
		"has never been written":                       {Spec: write(0)},
		"the time of the change is unknown":            {Status: write(0)},
		"was written in the same second as the change": {Spec: write(0), Status: write(0)},
		"was last written before the change":           {Spec: write(0), Status: write(1)},
	} {
		if got := r.unanswered(); !strings.HasSuffix(got, want) {
			t.Errorf("unanswered() = %q, want an explanation that ends in %q", got, want)
		}
	}
}

// Live run-controllers come before the others, and in both groups, the latest renewal comes first. Run-controllers
// that do not cover the object, or that released their lease, are omitted.
func TestReconcilerOf(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	loop := func(who string, renewed time.Duration) leaserecord.Loop {
		return leaserecord.Loop{Holder: who, Renewed: now.Add(-renewed)}
	}
	other, elsewhere, stopped := loop("other", 0), loop("elsewhere", 0), loop("", time.Minute)
	other.Scope.Selector, elsewhere.Scope.Namespace = "tier=back", "other"
	loops := []leaserecord.Loop{
		loop("dead long ago", time.Hour), loop("dead", time.Minute), loop("live", 10*time.Second), loop("livelier", time.Second), other, elsewhere, stopped,
	}
	at := metav1.NewTime(now)
	var o Object
	o.Namespace, o.Resource, o.Labels = "shop", "imoocpods.batch.tutorial.kubebuilder.io", map[string]string{"tier": "front"}
	o.Managers = []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: "Apply", Time: &at}, {Manager: "loop", Operation: "Update", Subresource: "status", Time: &at}}
	r := reconcilerOf(Snapshot{Object: o, Loops: loops, Now: now})
	var order []string
	for _, seen := range r.Loops {
		order = append(order, fmt.Sprintf("%s of %s, live: %t", seen.Who, seen.Scope, seen.Live))
	}
	const scope = " of the shipped kinds in all namespaces, live: "
	if want := []string{"livelier" + scope + "true", "live" + scope + "true", "dead" + scope + "false", "dead long ago" + scope + "false"}; !slices.Equal(order, want) {
		t.Errorf("run-controllers = %q, want %q", order, want)
	}
	if r.Status.Manager != "loop" || r.Spec.Manager != "kubectl" || r.Spec.Operation != "Apply" {
		t.Errorf("last writes: status %+v, spec %+v; want status by loop, spec applied by kubectl", r.Status, r.Spec)
	}
}
