package leaserecord

import (
	"reflect"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

func TestLeaseOfScope(t *testing.T) {
	t.Parallel()
	for want, scope := range map[string]Scope{
		"a/imoocpod-run-controller":               {Namespace: "a"},
		"kube-system/imoocpod-run-controller-all": {},
		"a/imoocpod-run-controller-bc920025":      {Namespace: "a", Kinds: []string{"y.g", "x.g"}},
		"a/imoocpod-run-controller-18dde0c7":      {Namespace: "a", Selector: "tier=front"},
		"a/imoocpod-run-controller-cdbcae15":      {Namespace: "a", Declared: true},
	} {
		if namespace, name := scope.Lease(); namespace+"/"+name != want {
			t.Errorf("the lease of %q is %s/%s, want %s", scope, namespace, name, want)
		}
	}
	one, other := Scope{Kinds: []string{"x.g", "y.g"}}, Scope{Kinds: []string{"y.g", "x.g", "y.g"}}
	_, a := one.Lease()
	if _, b := other.Lease(); a != b {
		t.Errorf("the same kinds in a different order have the leases %s and %s, want one lease", a, b)
	}
}

func TestScopeCoversAndOverlaps(t *testing.T) {
	t.Parallel()
	const imoocpods = "imoocpods.batch.tutorial.kubebuilder.io"
	all, a, b := Scope{}, Scope{Namespace: "a"}, Scope{Namespace: "b"}
	kind := Scope{Namespace: "a", Kinds: []string{imoocpods}}
	front := Scope{Selector: "tier=front"}
	for name, test := range map[string]struct{ got, want bool }{
		"unlimited scope, any object":     {all.Covers("a", imoocpods, nil), true},
		"covers its namespace":            {a.Covers("a", imoocpods, nil), true},
		"covers another namespace":        {b.Covers("a", imoocpods, nil), false},
		"covers its kind":                 {kind.Covers("a", imoocpods, nil), true},
		"covers another kind":             {kind.Covers("a", "y.g", nil), false},
		"covers labels, long selector":    {Scope{Selector: "tier in (front" + strings.Repeat(",a", longestSelector) + ")"}.Covers("a", imoocpods, map[string]string{"tier": "front"}), false},
		"covers matching labels":          {front.Covers("a", imoocpods, map[string]string{"tier": "front"}), true},
		"covers other labels":             {front.Covers("a", imoocpods, map[string]string{"tier": "back"}), false},
		"covers with invalid selector":    {Scope{Selector: "=="}.Covers("a", imoocpods, nil), false},
		"all namespaces overlap one":      {all.Overlaps(a) && a.Overlaps(all), true},
		"two namespaces overlap":          {a.Overlaps(b), false},
		"all kinds overlap one":           {a.Overlaps(kind) && kind.Overlaps(a), true},
		"different kinds overlap":         {kind.Overlaps(Scope{Kinds: []string{"y.g"}}), false},
		"shipped kinds, unshipped kind":   {all.Overlaps(Scope{Kinds: []string{"y.g"}}) || all.Covers("a", "y.g", nil), false},
		"declared kind, shipped group":    {all.Overlaps(Scope{Kinds: []string{"widgets.batch.tutorial.kubebuilder.io"}}) || all.Covers("a", "widgets.batch.tutorial.kubebuilder.io", nil), false},
		"declared kinds include any kind": {Scope{Declared: true}.Overlaps(Scope{Kinds: []string{"y.g"}}) && Scope{Declared: true}.Covers("a", "y.g", nil), true},
		"kinds in common overlap":         {kind.Overlaps(Scope{Kinds: []string{"y.g", imoocpods}}), true},
		"different selectors overlap":     {front.Overlaps(Scope{Selector: "tier=back"}), true},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %v, want the opposite", name, test.got)
		}
	}
}

func TestLoopFromLease(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	want := Loop{
		Holder: "alice_laptop_4711_abcd", User: "alice", Host: "laptop", Machine: "m1", PID: 4711, Version: "v1",
		Scope: Scope{Namespace: "a", Kinds: []string{"x.g", "y.g"}, Selector: "tier in (front, back)"},
		Since: since, Renewed: since.Add(time.Minute),
	}
	everything := Loop{Scope: Scope{Declared: true}}
	if read := LoopOf(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Annotations: everything.Annotations()}}); !reflect.DeepEqual(read.Scope, everything.Scope) {
		t.Errorf("scope %q: read back as %#v", everything.Scope, read.Scope)
	}
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Annotations: want.Annotations()},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &want.Holder, LeaseDurationSeconds: ptr.To[int32](15),
			AcquireTime: &metav1.MicroTime{Time: want.Since}, RenewTime: &metav1.MicroTime{Time: want.Renewed},
		},
	}
	got := LoopOf(lease)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("LoopOf = %#v, want %#v", got, want)
	}
	if s := got.String(); s != "alice on laptop (process 4711), since 2026-01-02 15:04:05 UTC" {
		t.Errorf("String() of the loop = %q, want alice on laptop (process 4711), since 2026-01-02 15:04:05 UTC", s)
	}
	if s := got.Scope.String(); s != "x.g, y.g in namespace a, where tier in (front, back)" {
		t.Errorf("String() of the scope = %q, want x.g, y.g in namespace a, where tier in (front, back)", s)
	}
	if !got.Live(want.Renewed.Add(Longest-1)) || got.Live(want.Renewed.Add(Longest)) {
		t.Error("the loop must be live until a minute after its last renewal, and not after that")
	}
	// A lease is for its own namespace. Only a lease in kube-system can be for all namespaces.
	for namespace, annotated := range map[string]string{"a": "b", "kube-system": "kube-system", "b": ""} {
		lease.Namespace, lease.Annotations[apis.AnnotationNamespace] = namespace, annotated
		if got := LoopOf(lease).Scope.Namespace; got != namespace {
			t.Errorf("lease in namespace %q, annotated with %q: the scope has namespace %q, want that of the lease", namespace, annotated, got)
		}
	}
	// An invalid lease is decoded as far as possible.
	holder := "somebody"
	foreign := LoopOf(&coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}})
	if foreign.String() != "somebody" || foreign.Live(since) {
		t.Errorf("lease with only a holder: LoopOf = %#v, want the name of the holder, and not live", foreign)
	}
	if LoopOf(&coordinationv1.Lease{}).Live(time.Time{}) {
		t.Error("a lease without a holder is reported as live")
	}
}

func TestLive(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, test := range map[string]struct {
		loop Loop
		want bool
	}{
		"just renewed":                  {Loop{Holder: "h", Renewed: now}, true},
		"lease released":                {Loop{Renewed: now}, false},
		"process ended":                 {Loop{Holder: "h", Renewed: now, Ended: true}, false},
		"renewed 16 seconds ago":        {Loop{Holder: "h", Renewed: now.Add(-16 * time.Second)}, true},
		"renewed too long ago":          {Loop{Holder: "h", Renewed: now.Add(-Longest)}, false},
		"renewed in the near future":    {Loop{Holder: "h", Renewed: now.Add(Longest - time.Second)}, true},
		"renewed too far in the future": {Loop{Holder: "h", Renewed: now.Add(Longest + time.Second)}, false},
	} {
		if got := test.loop.Live(now); got != test.want {
			t.Errorf("%s: Live = %t, want the opposite", name, got)
		}
	}
}

// String includes the user, the host, and the process only if all three are known.
func TestLoopString(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		loop Loop
		want string
	}{
		{Loop{Holder: "h", User: "alice", Host: "laptop", PID: 4711}, "alice on laptop (process 4711)"},
		{Loop{Holder: "h", User: "alice", Host: "laptop"}, "h"},
		{Loop{Holder: "h", User: "alice", PID: 4711}, "h"},
		{Loop{Holder: "h", Host: "laptop", PID: 4711}, "h"},
	} {
		if got := test.loop.String(); got != test.want {
			t.Errorf("%#v: String() = %q, want %q", test.loop, got, test.want)
		}
	}
}

// LoopOf accepts any text in the annotations of a lease.
func FuzzLoopOf(f *testing.F) {
	f.Add("", "", "", "", "")
	f.Add("a", "", "imoocpods.batch.tutorial.kubebuilder.io", "tier=front", "12")
	f.Add(apis.LeaseNamespaceForAll, "", "*", "tier in (a,b", "-1")
	f.Fuzz(func(t *testing.T, namespace, of, kinds, selector, pid string) {
		lease := &coordinationv1.Lease{}
		lease.Namespace = namespace
		lease.Annotations = map[string]string{
			apis.AnnotationNamespace: of, apis.AnnotationKinds: kinds, apis.AnnotationSelector: selector, apis.AnnotationPID: pid,
		}
		loop := LoopOf(lease)
		if loop.Scope.Namespace != namespace && namespace != apis.LeaseNamespaceForAll {
			t.Errorf("a lease in namespace %q has a scope in namespace %q, want the same namespace", namespace, loop.Scope.Namespace)
		}
		if !loop.Scope.Overlaps(loop.Scope) && len(loop.Scope.Kinds) == 0 {
			t.Errorf("the scope %q does not overlap with itself", loop.Scope)
		}
		_ = loop.Scope.Covers(namespace, "pods", map[string]string{"tier": "front"}) // does not panic
	})
}
