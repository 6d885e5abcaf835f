package apis

import (
	"strings"
	"testing"
	"time"
)

func TestPause(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 5, 0, 0, time.FixedZone("", 3600))
	for name, c := range map[string]struct {
		until, by, reason string
		active            bool
		left              time.Duration
		text, plain       string
	}{
		"with an end":        {"2026-11-22T13:05:00Z", "alice", "INC-7", true, 2 * time.Hour, "paused until 14:05 by alice: INC-7", "paused until 2026-11-22T13:05:00Z by alice: INC-7"},
		"in another zone":    {"2026-11-22T15:05:00+02:00", "", "", true, 2 * time.Hour, "paused until 14:05", "paused until 2026-11-22T13:05:00Z"},
		"until tomorrow":     {"2026-11-23T07:00:00Z", "", "INC-7", true, 19*time.Hour + 55*time.Minute, "paused until 2026-11-23 08:00: INC-7", "paused until 2026-11-23T07:00:00Z: INC-7"},
		"expired":            {"2026-11-22T11:05:00Z", "alice", "", false, 0, "paused until 12:05 by alice", "paused until 2026-11-22T11:05:00Z by alice"},
		"forever":            {"forever", "alice", "", true, 0, "paused forever by alice", "paused forever by alice"},
		"with several lines": {"forever", "a\nb", "one\n two", true, 0, "paused forever by a b: one two", "paused forever by a b: one two"},
	} {
		t.Run(name, func(t *testing.T) {
			annotations := map[string]string{AnnotationPausedUntil: c.until, AnnotationPausedBy: c.by, AnnotationPausedReason: c.reason}
			p := ReadPause(annotations)
			// Equal annotations result in equal pauses, although time.Parse creates a new time zone each time.
			if again := ReadPause(annotations); again != p {
				t.Errorf("ReadPause of the same annotations = %+v, then %+v", again, p)
			}
			if p.Active(now) != c.active || p.Left(now) != c.left || p.Invalid != "" {
				t.Errorf("active %t, left %s, invalid %q, want %t, %s", p.Active(now), p.Left(now), p.Invalid, c.active, c.left)
			}
			if p.Text(now) != c.text || p.String() != c.plain {
				t.Errorf("Text = %q and String = %q, want %q and %q", p.Text(now), p.String(), c.text, c.plain)
			}
		})
	}
}

func TestInvalidPause(t *testing.T) {
	for _, until := range []string{"", "14:05", "2h", "Forever", "2026-11-22", "2026-11-22 13:05", "1763816700", strings.Repeat("x", 1000)} {
		p := ReadPause(map[string]string{AnnotationPausedUntil: until})
		if p.Active(time.Unix(0, 0)) || p.Active(time.Now()) || !strings.Contains(p.Invalid, AnnotationPausedUntil) || len(p.Invalid) > 200 {
			t.Errorf("ReadPause(%q) = %+v, want an invalid pause", until, p)
		}
	}
	if p := ReadPause(map[string]string{AnnotationPausedBy: "alice", AnnotationPausedReason: "INC-7"}); p != (Pause{}) {
		t.Errorf("ReadPause without an end = %+v, want no pause", p)
	}
}

// An invalid pause has no end and is not forever. The text of any pause is one line.
func FuzzReadPause(f *testing.F) {
	for _, until := range []string{"", PausedForever, "2026-01-02T13:00:00Z", "2026-01-02T13:00:00+14:00", "9999-12-31T23:59:59Z", "tomorrow"} {
		f.Add(until, "alice", "INC-7")
	}
	f.Fuzz(func(t *testing.T, until, by, reason string) {
		p := ReadPause(map[string]string{AnnotationPausedUntil: until, AnnotationPausedBy: by, AnnotationPausedReason: reason})
		if p.Invalid != "" && (p.Forever || !p.Until.IsZero()) {
			t.Errorf("ReadPause(%q) = %+v: invalid, but with an end", until, p)
		}
		if text := p.String() + p.Text(p.Until) + p.Invalid; strings.Contains(text, "\n") {
			t.Errorf("text of the pause until %q by %q with the reason %q has several lines: %q", until, by, reason, text)
		}
	})
}
