package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func TestStateDirOfALivingLauncherIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	state, err := claimStateDir(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	var inUse *inUseError
	if _, err := claimStateDir(t.Context(), path); !errors.As(err, &inUse) || inUse.pid != os.Getpid() {
		t.Errorf("claiming it again: got error %v, want in use by process %d", err, os.Getpid())
	}
	if err := state.release(false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after its release it still exists: %v", err)
	}
}

func TestStateDirThatIsNotOursIsNotTouched(t *testing.T) {
	path := t.TempDir()
	file := filepath.Join(path, "precious")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := claimStateDir(t.Context(), path); err == nil {
		t.Error("a directory with files of others can be claimed")
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

func TestKeptStateDirIsNotRemovedLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	state, err := claimStateDir(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	log := state.file("etcd.log")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := state.release(true); err != nil {
		t.Fatal(err)
	}
	if err := removeStale(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(log); err != nil {
		t.Error(err)
	}
}

func TestWhatADeadLauncherLeftIsCleanedUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	state, err := claimStateDir(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	// Simulate the death of the launcher. The kernel releases its lock, but removes no files.
	state.lock.release()
	stray := startSleeper(t, state.file("data"))
	foreign := startSleeper(t, filepath.Join(t.TempDir(), "data"))
	for name, pid := range map[string]int{etcd: stray.pid, kwok: foreign.pid} {
		if err := os.WriteFile(state.file(name+pidSuffix), []byte(strconv.Itoa(pid)), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	state, err = claimStateDir(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := state.release(false); err != nil {
			t.Error(err)
		}
	})
	select {
	case <-stray.done:
	case <-time.After(10 * time.Second):
		t.Error("a component of the dead launcher still runs")
	}
	select {
	case <-foreign.done:
		t.Error("a process with a reused process ID was stopped")
	default:
	}
}

type sleeper struct {
	pid  int
	done chan struct{}
}

// startSleeper starts a process with arg as one of its arguments.
func startSleeper(t *testing.T, arg string) sleeper {
	t.Helper()
	cmd := exec.Command("sh", "-c", "while :; do sleep 1; done", arg)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := sleeper{pid: cmd.Process.Pid, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // killed
		close(s.done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails if it was already killed
		<-s.done
	})
	return s
}
