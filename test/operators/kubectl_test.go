package operators

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
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

func statusOf(t *testing.T, s *subject) (report status.Report, r result) {
	t.Helper()
	r = s.run(t, "status", "-o", "json")
	if err := json.Unmarshal([]byte(r.Stdout), &report); err != nil {
		t.Fatalf("%s\ncannot parse the output: %v", r, err)
	}
	return report, r
}
