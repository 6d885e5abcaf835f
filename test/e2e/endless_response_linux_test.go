package e2e

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// An endless response does not use unlimited memory.
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
		maxMemory *= 4 // the race detector multiplies memory use
	}
	for _, verb := range []string{"kinds", "status foo", "describe deployment/x"} {
		// On a busy machine, reading this much takes longer than the default request
		// timeout.
		line := verb + " --request-timeout 2m --kubeconfig " + os.DevNull + " --server " + server.URL + " --cache-dir " + t.TempDir()
		program := exec.CommandContext(t.Context(), cluster.PluginDir+"/kubectl-imoocpod", strings.Fields(line)...)
		program.Env = append(cluster.Environment(), "GOGC=100")
		var stderr strings.Builder
		program.Stderr = &stderr
		if err := program.Start(); err != nil {
			t.Fatal(err)
		}
		most := make(chan int64, 1)
		go func() { most <- peakMemory(program.Process.Pid) }()
		err := program.Wait()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != harness.ExitError {
			t.Errorf("%s ended with %v", verb, err)
		}
		if said := stderr.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "sent more than 256 MiB") {
			t.Errorf("%s said %q", verb, said)
		}
		if took := <-most; took == 0 || took > maxMemory {
			t.Errorf("%s took %d KiB of memory, want at most %d", verb, took, maxMemory)
		}
	}
}

// peakMemory returns the maximum resident memory of a process, in KiB, once it has
// ended. The accounting at exit is no use: it includes the memory of this process at the
// fork.
func peakMemory(pid int) (most int64) {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for range ticker.C {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, rest, alive := strings.Cut(string(text), "VmHWM:")
		if err != nil || !alive {
			return most
		}
		if n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64); err == nil {
			most = max(most, n)
		}
	}
	return most
}
