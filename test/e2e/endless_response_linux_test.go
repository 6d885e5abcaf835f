package e2e

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// A response without end does not take memory without end.
func TestEndlessResponse(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, err := io.WriteString(w, `{"kind":"`)
		for some := bytes.Repeat([]byte("x"), 1<<20); err == nil && r.Context().Err() == nil; {
			_, err = w.Write(some)
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	maxMemory := int64(1 << 20) // KiB
	if flag.Lookup("race-everywhere").Value.String() == "true" {
		maxMemory *= 4 // the race detector keeps several bytes for each
	}
	for _, verb := range []string{"kinds", "status foo", "describe deployment/x"} {
		// On a busy machine so much takes longer than a request may by default.
		line := verb + " --request-timeout 2m --kubeconfig " + os.DevNull + " --server " + server.URL + " --cache-dir " + t.TempDir()
		program := exec.CommandContext(t.Context(), cluster.PluginDir+"/kubectl-imoocpod", strings.Fields(line)...)
		program.Env = append(cluster.Environment(), "GOGC=100")
		var stderr strings.Builder
		program.Stderr = &stderr
		err := program.Run()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != harness.ExitError {
			t.Errorf("%s ended with %v", verb, err)
		}
		if said := stderr.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "sent more than 256 MiB") {
			t.Errorf("%s said %q", verb, said)
		}
		usage, is := program.ProcessState.SysUsage().(*syscall.Rusage)
		if !is || usage.Maxrss > maxMemory {
			t.Errorf("%s took %v, want at most %d KiB of memory", verb, usage, maxMemory)
		}
	}
}
