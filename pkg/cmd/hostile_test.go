package cmd

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/test/escapetest"
)

func TestErrorsEscape(t *testing.T) {
	t.Parallel()
	r := status.Report{Verdict: status.Failed, Reason: escapetest.Hostile, Hint: escapetest.Hostile}
	escapetest.MustBeHarmless(t, "a state", observe.Observation{Report: r}.State())
	for _, err := range verdicts([]status.Report{r, {Verdict: status.Progressing, Reason: escapetest.Hostile}}) {
		escapetest.MustBeHarmless(t, "a verdict", err.Error())
	}
	o := commonOptions{factory: kube.New("v0", genericiooptions.NewTestIOStreamsDiscard())}
	hostile := fieldpath.Fields(escapetest.Hostile)
	choose := o.chooseField(&discover.UnknownFieldError{
		Kind: kinds.ImoocPod(), Candidates: []candidates.Field{{Path: hostile, Description: escapetest.Hostile}, {Path: hostile, Pattern: true}},
	}, "scale", &observe.Target{Kind: kinds.ImoocPod(), Name: escapetest.Hostile})
	escapetest.MustBeHarmless(t, "a choice", choose.Error())
}

func TestLinesOfObjectsEscape(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"", "name"} {
		output := objectOutput{flags: genericclioptions.NewPrintFlags("")}
		*output.flags.OutputFormat = format
		if err := output.complete(); err != nil {
			t.Fatal(err)
		}
		var w strings.Builder
		obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": strings.ReplaceAll(escapetest.Hostile, "\n", "")}}}
		if err := printObject(&w, output.printer, obj, "scaled"); err != nil {
			t.Fatal(err)
		}
		escapetest.MustBeHarmless(t, "the line of an object", w.String())
	}
}

func TestCompletionsAreHarmless(t *testing.T) {
	t.Parallel()
	got := harmless("", []cobra.Completion{"foo", cobra.CompletionWithDesc("bar", escapetest.Hostile), escapetest.Hostile, cobra.CompletionWithDesc(escapetest.Hostile, "good"), "baz\tgood"})
	want := []cobra.Completion{"foo", "bar\t" + `a\x1b[2J\x0dFORGED FORGED\u2028FORGED\u0085\u202e\u200b\x7f\xff`, "baz\tgood"}
	if !slices.Equal(got, want) {
		t.Errorf("completions are %q, want %q", got, want)
	}
	path := `.spec.sets[?(@.name=="%s")].count`
	for name, offered := range map[string]bool{"hot": true, "a b": true, "$(id)": false, "`id`": false, `"; id; "`: false, `" & id "`: false, `" > file "`: false} {
		if got := harmless("", []cobra.Completion{fmt.Sprintf(path, name)}); (len(got) > 0) != offered {
			t.Errorf("path with the name %q: offered %t, want the opposite", name, !offered)
		}
	}
}
