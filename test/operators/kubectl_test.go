package operators

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// result is the output of a command line, with the times of its start and exit.
type result struct {
	harness.Result
	begun, ended time.Time
}

func (r result) String() string {
	return fmt.Sprintf("%s: exit code %d\n%s", r.Line, r.Code, strings.TrimSpace(r.Stdout+r.Stderr))
}

func imoocpod(t *testing.T, namespace string, args ...string) result {
	t.Helper()
	r := result{begun: time.Now()}
	r.Result = plane.Kubectl(t, namespace, append([]string{"imoocpod"}, args...)...)
	r.ended = time.Now()
	return r
}

// said is the output of "status -o json".
type said struct {
	Verdict    string `json:"verdict"`
	ReasonCode string `json:"reasonCode"`
	Hint       string `json:"hint"`
}

func statusOf(t *testing.T, s *subject) (said, result) {
	t.Helper()
	r := imoocpod(t, s.namespace, "status", s.ref(), "-o", "json")
	var report said
	if err := json.Unmarshal([]byte(r.Stdout), &report); err != nil {
		t.Fatalf("%s\n%v", r, err)
	}
	return report, r
}
