package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A response without end does not take memory without end.
func TestEndlessResponse(t *testing.T) {
	t.Parallel()
	server := handle(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, err := io.WriteString(w, `{"kind":"`)
		for some := bytes.Repeat([]byte("x"), 1<<20); err == nil && r.Context().Err() == nil; {
			_, err = w.Write(some)
		}
	})
	for _, verb := range []string{"kinds", "status foo", "describe deployment/x"} {
		t.Run(verb, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			program := exec.CommandContext(ctx, os.Args[0], append(strings.Fields(verb), flagsFor(server, t.TempDir())...)...)
			// On a busy machine so much takes longer than a request may by default.
			program.Args = append(program.Args, "--request-timeout", deadline.String())
			program.Env = append(os.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=10")
			var stderr bytes.Buffer
			program.Stderr = &stderr
			err := program.Run()
			if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != exitError {
				t.Errorf("ended with %v", err)
			}
			if !oneError(stderr.String()) || !strings.Contains(stderr.String(), "sent more than 256 MiB") {
				t.Errorf("said %q", stderr.String())
			}
			usage, is := program.ProcessState.SysUsage().(*syscall.Rusage)
			if !is || usage.Maxrss > maxMemory {
				t.Errorf("took %v KiB of memory, want at most %d", usage, maxMemory)
			}
		})
	}
}
