package run

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/report"
)

// Log records of all messages that -v adds have the level DEBUG. The text format joins the reasons.
func TestRecords(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"text": "time=2026-01-02T15:04:05.000Z level=DEBUG msg=Reconcile name=foo reconcile=3 because=\"it was updated; pod foo-0 was added\"\n" +
			"level=INFO msg=\"0 → 3 pods: creating 3\" kind=imoocpods.batch namespace=team name=foo reconcile=3\n",
		"json": `{"time":"2026-01-02T15:04:05Z","level":"DEBUG","msg":"Reconcile","name":"foo","reconcile":3,"because":["it was updated","pod foo-0 was added"]}` + "\n" +
			`{"level":"INFO","msg":"0 → 3 pods: creating 3","kind":"imoocpods.batch","namespace":"team","name":"foo","reconcile":3}` + "\n",
	} {
		var b bytes.Buffer
		l := &Log{Format: format}
		handler := l.handler(&b, 2)
		for _, level := range []slog.Level{-2, -3} { // -v=2 does not enable level -3
			if handler.Enabled(t.Context(), level) {
				r := slog.NewRecord(time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), level, "Reconcile", 0)
				r.Add("name", "foo", "reconcile", 3, "because", []string{"it was updated", "pod foo-0 was added"})
				if err := handler.Handle(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
		}
		l.records = slog.New(withoutTime{handler})
		l.line(report.Line{Kind: "imoocpods.batch", Namespace: "team", Name: "foo", Text: "0 → 3 pods: creating 3", Reconcile: 3})
		if got := b.String(); got != want {
			t.Errorf("format %s: got\n%s\nwant\n%s", format, got, want)
		}
	}
}

type withoutTime struct{ slog.Handler }

// Handle writes a record without its time.
func (h withoutTime) Handle(ctx context.Context, r slog.Record) error {
	r.Time = time.Time{}
	return h.Handler.Handle(ctx, r)
}
