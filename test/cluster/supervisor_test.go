package main

import (
	"context"
	"strings"
	"syscall"
	"testing"
)

func TestSupervisor(t *testing.T) {
	ctx, fail := context.WithCancelCause(t.Context())
	s := &supervisor{dir: t.TempDir(), fail: fail, processes: map[string]*process{}}
	sleeper := component{name: "sleeper", path: "sleep", args: []string{"1000"}}
	for range 2 {
		if err := s.start(sleeper); err != nil {
			t.Fatal(err)
		}
		if err := s.start(sleeper); err == nil {
			t.Error("it was started twice")
		}
		if err := s.stop(t.Context(), sleeper.name, syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := s.stop(t.Context(), sleeper.name, syscall.SIGTERM); err == nil {
			t.Error("it was stopped twice")
		}
	}
	if ctx.Err() != nil {
		t.Errorf("after a stop, it failed: %v", context.Cause(ctx))
	}

	if err := s.start(sleeper); err != nil {
		t.Fatal(err)
	}
	if err := s.start(component{name: "crasher", path: "sh", args: []string{"-c", "echo broken; exit 3"}}); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if err := context.Cause(ctx).Error(); !strings.HasPrefix(err, "crasher ended unexpectedly (exit status 3), ") || !strings.HasSuffix(err, "\nbroken") {
		t.Errorf("after an unexpected exit, it failed with %q", err)
	}
	if err := s.stopAll(t.Context()); err != nil {
		t.Error(err)
	}
}
