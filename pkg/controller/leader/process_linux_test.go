package leader

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// A process that has ended is dead before its parent has asked for it.
func TestZombieIsDead(t *testing.T) {
	t.Parallel()
	child := exec.Command("sleep", "3600")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Wait() })
	if !alive(child.Process.Pid) || !alive(os.Getpid()) {
		t.Error("a process that runs is taken for dead")
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return !alive(child.Process.Pid), nil
	}); err != nil {
		t.Error("a zombie is taken for alive")
	}
}
