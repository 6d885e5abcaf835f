package operators

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// result is what a command line came to, and between which times.
type result struct {
	line           string
	stdout, stderr string
	code           int
	begun, ended   time.Time
}

func (r result) String() string {
	return r.line + ": exit code " + string(rune('0'+r.code)) + "\n" + strings.TrimSpace(r.stdout+r.stderr)
}

// kubectl runs a real kubectl, which finds the plugin on PATH.
func kubectl(t *testing.T, namespace string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	at := 1
	if args[0] == "imoocpod" {
		at = 2
	}
	args = append(append(append([]string{}, args[:at]...), "-n", namespace), args[at:]...)
	cmd := exec.CommandContext(ctx, plane.Bin+"/kubectl", args...)
	cmd.Env = environment()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	r := result{line: "kubectl " + strings.Join(args, " "), begun: time.Now()}
	err := cmd.Run()
	r.ended, r.stdout, r.stderr = time.Now(), stdout.String(), stderr.String()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		r.code = exit.ExitCode()
	case err != nil:
		t.Fatalf("%s: %v", r.line, err)
	}
	return r
}

func imoocpod(t *testing.T, namespace string, args ...string) result {
	t.Helper()
	return kubectl(t, namespace, append([]string{"imoocpod"}, args...)...)
}

// said is what "status -o json" says of an object.
type said struct {
	Verdict    string `json:"verdict"`
	ReasonCode string `json:"reasonCode"`
	Reason     string `json:"reason"`
	Hint       string `json:"hint"`
}

func statusOf(t *testing.T, s *subject) (said, result) {
	t.Helper()
	r := imoocpod(t, s.namespace, "status", s.ref(), "-o", "json")
	var report said
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		t.Fatalf("%s\n%v", r, err)
	}
	return report, r
}
