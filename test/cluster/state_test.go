package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestStateDirOfAKilledLauncherIsRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	state := func() *stateDir {
		t.Helper()
		s, err := newStateDir()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	exists := func(path string) bool {
		_, err := os.Stat(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
		return err == nil
	}
	running, killed := state(), state()
	for _, s := range []*stateDir{running, killed} {
		if err := os.WriteFile(filepath.Join(s.path, "etcd.log"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	killed.lock.release() // as the kernel does when a launcher is killed

	next := state()
	if exists(killed.path) || !exists(running.path) || !exists(next.path) {
		t.Error("the next launcher did not remove exactly the directory of the killed launcher")
	}
	for _, s := range []*stateDir{running, next} {
		if err := s.remove(); err != nil || exists(s.path) {
			t.Errorf("state directory %s after its removal: exists %v, error %v", s.path, exists(s.path), err)
		}
	}
}

func TestShellQuote(t *testing.T) {
	for text, want := range map[string]string{"/tmp/a b": "'/tmp/a b'", "it's": `'it'\''s'`, "": "''"} {
		if got := shellQuote(text); got != want {
			t.Errorf("shellQuote(%q) = %s, want %s", text, got, want)
		}
	}
}
