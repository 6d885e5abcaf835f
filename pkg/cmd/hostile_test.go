package cmd

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/replicafield"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// hostile would clear the screen, forge a line in each way and turn the text
// around.
const hostile = "a\x1b[2J\rFORGED\nFORGED\u2028FORGED\u0085\u202e\u200b\x7f\xff"

// mustBeHarmless fails the test where a text has more than what is seen, or a
// line that somebody else began.
func mustBeHarmless(t *testing.T, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) && r != '\n' }) {
		t.Errorf("%s is raw: %q", what, text)
	}
	if strings.Contains(text, "\nFORGED") || !strings.Contains(text, `\x1b`) && !strings.Contains(text, `\\x1b`) {
		t.Errorf("%s is not what was written: %q", what, text)
	}
}

func TestLoopLogEscapes(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"human", "text", "json"} {
		var w strings.Builder
		l := &loopLog{format: format, qualified: true}
		if l.lines = &w; format != "human" {
			l.records = slog.New(l.handler(&w, 0))
		}
		l.line(controller.Line{Text: hostile, Kind: hostile, Namespace: hostile, Name: hostile})
		l.line(controller.Line{Text: hostile, Namespace: hostile})
		l.say("%s", hostile)
		if n := strings.Count(w.String(), "\n"); n != 3 {
			t.Errorf("3 lines of the format %s are %d", format, n)
		}
		if format != "human" {
			l.records.Error(hostile, "err", errors.New(hostile), "because", []string{hostile})
		}
		mustBeHarmless(t, format, w.String())
	}
}

func TestErrorsEscape(t *testing.T) {
	t.Parallel()
	r := status.Report{Verdict: status.Failed, Reason: hostile, Hint: hostile}
	mustBeHarmless(t, "a state", observe.Observation{Report: r}.State())
	for _, err := range verdicts([]status.Report{r, {Verdict: status.Progressing, Reason: hostile}}) {
		mustBeHarmless(t, "a verdict", err.Error())
	}
	choose := &ChooseFieldError{verb: "scale", target: observe.Target{Kind: kinds.ImoocPod(), Name: hostile}, Err: &discover.UnknownFieldError{
		Kind: kinds.ImoocPod(), Candidates: []replicafield.Candidate{{Path: hostile, Description: hostile}, {Path: hostile, Pattern: true}},
	}}
	mustBeHarmless(t, "a choice", choose.Error())
}

func TestLinesOfObjectsEscape(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"", "name"} {
		flags := genericclioptions.NewPrintFlags("scaled")
		*flags.OutputFormat = format
		p, err := linePrinter(flags)
		if err != nil {
			t.Fatal(err)
		}
		var w strings.Builder
		obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": strings.ReplaceAll(hostile, "\n", "")}}}
		if err := p.PrintObj(obj, &w); err != nil {
			t.Fatal(err)
		}
		mustBeHarmless(t, "the line of an object", w.String())
	}
}

func TestCompletionsAreHarmless(t *testing.T) {
	t.Parallel()
	got := harmless([]cobra.Completion{"foo", cobra.CompletionWithDesc("bar", hostile), hostile, cobra.CompletionWithDesc(hostile, "good"), "baz\tgood"})
	want := []cobra.Completion{"foo", "bar\t" + `a\x1b[2J\x0dFORGED FORGED\u2028FORGED\u0085\u202e\u200b\x7f\xff`, "baz\tgood"}
	if !slices.Equal(got, want) {
		t.Errorf("completions are %q, want %q", got, want)
	}
}
