package run

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/report"
	"github.com/imoocpod/kubectl-imoocpod/test/escapetest"
)

func TestLoopLogEscapes(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"human", "text", "json"} {
		var w strings.Builder
		l := &Log{Format: format, qualified: true}
		if l.lines = &w; format != "human" {
			l.records = slog.New(l.handler(&w, 0))
		}
		l.line(report.Line{Text: escapetest.Hostile, Kind: escapetest.Hostile, Namespace: escapetest.Hostile, Name: escapetest.Hostile})
		l.line(report.Line{Text: escapetest.Hostile, Namespace: escapetest.Hostile})
		l.say("%s", escapetest.Hostile)
		if n := strings.Count(w.String(), "\n"); n != 3 {
			t.Errorf("format %s: 3 entries were written as %d lines", format, n)
		}
		if format != "human" {
			l.records.Error(escapetest.Hostile, "err", errors.New(escapetest.Hostile), "because", []string{escapetest.Hostile})
		}
		escapetest.MustBeHarmless(t, format, w.String())
	}
}
