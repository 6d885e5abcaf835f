package check

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Each fix contains the flags that select the checked cluster.
func TestFixesReachTheCluster(t *testing.T) {
	t.Parallel()
	c, now := Checker{User: "alice", Namespace: "a", Version: "v1", Commands: commandline.Context{"--context=staging west"}}, time.Now()
	everywhere := c
	everywhere.Namespace = ""
	missing := []Right{{Verb: "list", Resource: "pods"}}
	report := status.Report{Metadata: status.Metadata{Type: "imoocpod", Namespace: "a", Name: "foo"}, Pause: &apis.Pause{Forever: true}}
	refused, over := report, report
	refused.Problems = []problem.Problem{{Code: problem.CodeAdmissionRefused}}
	over.Problems = []problem.Problem{{Code: problem.CodeQuotaExceeded}}
	all := slices.Concat(
		[]Result{c.CRD(kinds.ImoocPod(), &unstructured.Unstructured{}, nil), c.CRD(kinds.ImoocPod(), &unstructured.Unstructured{}, &unstructured.Unstructured{}), c.Deployed(Deployment{Namespace: "a", Everywhere: true, Version: "v0", Desired: 1}), c.Declaration("a.b", "", errors.New("no"))},
		c.Declared(nil, []string{"a.b"}, now), everywhere.Loops(nil, []string{"a.b"}, now),
		[]Result{everywhere.Rights(VerbRights{Verb: "scale", Rights: missing}, map[Right]*bool{missing[0]: new(false)})},
		c.HeldUp([]status.Report{refused, over}), c.Paused([]status.Report{report}, now),
	)
	for _, result := range all {
		if len(result.Fix) == 0 {
			t.Errorf("%s: no fix, want one", result.Name)
		}
		for _, fix := range result.Fix {
			if !strings.HasSuffix(fix, " '--context=staging west'") {
				t.Errorf("%s: fix %q lacks the flags that select the cluster", result.Name, fix)
			}
		}
	}
}
