package cmd

import (
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

func TestPauseLength(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2h": "2h", "1h30m": "1h30m", "90m": "1h30m", "30m": "30m", "90s": "1m30s", "1s": "1s", "26h": "26h", "2d": "48h", "1d2h": "26h", "1d0s": "24h", "1h1s": "1h0m1s", "forever": "forever",
	} {
		l, err := parsePauseLength(text)
		if err != nil || l.String() != want {
			t.Errorf("parsePauseLength(%q) = %q, error %v, want %q", text, l.String(), err, want)
		}
	}
	for _, text := range []string{"", "2", "0", "0s", "-1h", "999ms", "d", "2d3", "1.5d", "2dd", "-1d", "-1d36h", "1d-12h", "Forever", "never"} {
		if l, err := parsePauseLength(text); err == nil {
			t.Errorf("parsePauseLength(%q) = %s, want an error", text, l)
		}
	}
}

func TestPauseMessage(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 5, 0, 0, time.UTC)
	timed, forever := &pauseLength{For: 2 * time.Hour}, &pauseLength{Forever: true}
	for want, got := range map[string]string{
		"paused until 14:05 (2h): INC-7": timed.until(apis.Pause{Until: now.Add(2 * time.Hour), By: "alice", Reason: "INC-7"}, now),
		"paused until 14:05 (2h)":        timed.until(apis.Pause{Until: now.Add(2 * time.Hour)}, now),
		"paused forever: one two":        forever.until(apis.Pause{Forever: true, By: "alice", Reason: "one\ntwo"}, now),
	} {
		if got != want {
			t.Errorf("message %q, want %q", got, want)
		}
	}
}
