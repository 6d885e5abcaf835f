package apiserver_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver/play"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// TestPauseOfAnObjectThatIsNotReady checks that pause --wait ends when the controller has observed
// the pause, even if pods are not ready. Without a controller, the command must time out.
func TestPauseOfAnObjectThatIsNotReady(t *testing.T) {
	for _, image := range []string{"pull:1", "never:1", "slow:10m"} {
		bubble.Test(t, func(t *testing.T) {
			s := cluster(t, deployment("web", "example.com/"+image, 3))
			if _, stderr, err := run(t, s, "pause deployment/web --for forever --wait --timeout 1m"); err != nil {
				t.Errorf("%s: %v, it printed %q", image, err, stderr)
			}
			play.SetFate(s, play.Away)
			if _, _, err := run(t, s, "resume deployment/web"); err != nil {
				t.Fatal(err)
			}
			if _, _, err := run(t, s, "pause deployment/web --for forever --wait --timeout 1m"); !errors.Is(err, outcome.ErrTimeout) {
				t.Errorf("%s: %v without a controller", image, err)
			}
		})
	}
}

// TestLongReason checks that a reason that is too long for a condition is a usage error.
func TestLongReason(t *testing.T) {
	t.Parallel()
	s := apiserver.New(t)
	for _, verb := range []string{"pause web", "set image web nginx", "restart web", "undo web", "create web"} {
		_, _, err := run(t, s, verb+" --reason "+strings.Repeat("x", 1025))
		if usage := (*outcome.UsageError)(nil); !errors.As(err, &usage) {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

// TestPauseByASuspension checks that pause warns if suspending the object can delete its pods.
func TestPauseByASuspension(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := apiserver.New(t)
		play.Cluster(s)
		s.CreateYAML(strings.Replace(widgets, "paused: {type: boolean}", "suspend: {type: boolean}", 1))
		play.Operator(s, "widgets", "Widget")
		s.CreateYAML(workloads()[3].manifest)
		<-time.After(time.Minute)
		const want = "Warning: widget/web: its controller may delete its 3 pods, as .spec.suspend suspends the whole object\n"
		if _, stderr, err := run(t, s, "pause widget/web --for forever"); err != nil || !strings.Contains(stderr, want) {
			t.Errorf("%v, it printed %q", err, stderr)
		}
	})
}
