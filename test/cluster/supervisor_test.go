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
			t.Error("starting a running component: got no error, want one")
		}
		if err := s.stop(t.Context(), sleeper.name, syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := s.stop(t.Context(), sleeper.name, syscall.SIGTERM); err == nil {
			t.Error("stopping a stopped component: got no error, want one")
		}
	}
	if ctx.Err() != nil {
		t.Errorf("the supervisor failed after an intended stop: %v", context.Cause(ctx))
	}

	if err := s.start(sleeper); err != nil {
		t.Fatal(err)
	}
	if err := s.start(component{name: "crasher", path: "sh", args: []string{"-c", "echo broken; exit 3"}}); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if err := context.Cause(ctx).Error(); !strings.HasPrefix(err, "crasher ended unexpectedly (exit status 3), ") || !strings.HasSuffix(err, "\nbroken") {
		t.Errorf("failure after an unexpected exit = %q, want one that names the crasher and ends with its log", err)
	}
	if err := s.stopAll(t.Context()); err != nil {
		t.Error(err)
	}
}
