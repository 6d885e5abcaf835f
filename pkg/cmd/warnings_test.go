package cmd

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

func TestCovered(t *testing.T) {
	t.Parallel()
	now := time.Now()
	front := &unstructured.Unstructured{}
	front.SetLabels(map[string]string{"tier": "front"})
	loop := func(scope leaserecord.Scope, renewed time.Duration) leaserecord.Loop {
		return leaserecord.Loop{Holder: "someone", Scope: scope, Renewed: now.Add(-renewed)}
	}
	target := observe.Target{Kind: kinds.ImoocPod(), Namespace: "a", Name: "foo", Object: front}
	unread := target
	unread.Object = nil
	for name, test := range map[string]struct {
		loop   leaserecord.Loop
		target observe.Target
		want   bool
	}{
		"loop of its namespace":             {loop(leaserecord.Scope{Namespace: "a"}, time.Second), target, true},
		"loop of all namespaces":            {loop(leaserecord.Scope{}, time.Second), target, true},
		"loop of another namespace":         {loop(leaserecord.Scope{Namespace: "b"}, time.Second), target, false},
		"loop that has ended":               {loop(leaserecord.Scope{}, time.Hour), target, false},
		"loop of other kinds":               {loop(leaserecord.Scope{Kinds: []string{"widgets.example.com"}}, time.Second), target, false},
		"selector that matches":             {loop(leaserecord.Scope{Selector: "tier=front"}, time.Second), target, true},
		"selector that does not match":      {loop(leaserecord.Scope{Selector: "tier=back"}, time.Second), target, false},
		"object whose labels were not read": {loop(leaserecord.Scope{Selector: "tier=back"}, time.Second), unread, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := covered([]leaserecord.Loop{test.loop}, test.target, now); got != test.want {
				t.Errorf("covered = %t, want %t", got, test.want)
			}
		})
	}
	if covered([]leaserecord.Loop{}, target, now) {
		t.Error("covered without loops = true, want false")
	}
	if !covered(nil, target, now) {
		t.Error("covered without permission to read the loops = false, want true")
	}
}
