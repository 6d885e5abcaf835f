package cmd

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// A target is covered by a loop that is alive and whose scope has it.
func TestCovered(t *testing.T) {
	t.Parallel()
	now := time.Now()
	front := &unstructured.Unstructured{}
	front.SetLabels(map[string]string{"tier": "front"})
	loop := func(scope status.Scope, renewed time.Duration) status.Loop {
		return status.Loop{Holder: "someone", Scope: scope, Renewed: now.Add(-renewed), For: 15 * time.Second}
	}
	target := observe.Target{Kind: kinds.ImoocPod(), Namespace: "a", Name: "foo", Object: front}
	unread := target
	unread.Object = nil
	for name, test := range map[string]struct {
		loop   status.Loop
		target observe.Target
		want   bool
	}{
		"in its namespace":         {loop(status.Scope{Namespace: "a"}, time.Second), target, true},
		"in all namespaces":        {loop(status.Scope{}, time.Second), target, true},
		"in another namespace":     {loop(status.Scope{Namespace: "b"}, time.Second), target, false},
		"ended":                    {loop(status.Scope{}, time.Hour), target, false},
		"other kinds":              {loop(status.Scope{Kinds: []string{"widgets.example.com"}}, time.Second), target, false},
		"its labels":               {loop(status.Scope{Selector: "tier=front"}, time.Second), target, true},
		"other labels":             {loop(status.Scope{Selector: "tier=back"}, time.Second), target, false},
		"labels that are not read": {loop(status.Scope{Selector: "tier=back"}, time.Second), unread, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := covered([]status.Loop{test.loop}, test.target, now); got != test.want {
				t.Errorf("covered: %t", got)
			}
		})
	}
	if covered(nil, target, now) {
		t.Error("without a loop it is covered")
	}
}
