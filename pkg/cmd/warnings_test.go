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
		"in its namespace":         {loop(leaserecord.Scope{Namespace: "a"}, time.Second), target, true},
		"in all namespaces":        {loop(leaserecord.Scope{}, time.Second), target, true},
		"in another namespace":     {loop(leaserecord.Scope{Namespace: "b"}, time.Second), target, false},
		"ended":                    {loop(leaserecord.Scope{}, time.Hour), target, false},
		"other kinds":              {loop(leaserecord.Scope{Kinds: []string{"widgets.example.com"}}, time.Second), target, false},
		"its labels":               {loop(leaserecord.Scope{Selector: "tier=front"}, time.Second), target, true},
		"other labels":             {loop(leaserecord.Scope{Selector: "tier=back"}, time.Second), target, false},
		"labels that are not read": {loop(leaserecord.Scope{Selector: "tier=back"}, time.Second), unread, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := covered([]leaserecord.Loop{test.loop}, test.target, now); got != test.want {
				t.Errorf("covered: %t", got)
			}
		})
	}
	if covered([]leaserecord.Loop{}, target, now) {
		t.Error("without a loop it is covered")
	}
	if !covered(nil, target, now) {
		t.Error("it is not covered by loops that may not be read")
	}
}
