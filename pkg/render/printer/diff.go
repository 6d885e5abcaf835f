package printer

import (
	"io"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"sigs.k8s.io/yaml"
)

// diffContext is how many equal lines are shown around a change, as diff -u does.
const diffContext = 3

// DiffYAML writes the unified diff of two objects as YAML.
func DiffYAML(w io.Writer, fromName, toName string, from, to map[string]any) error {
	was, err := yaml.Marshal(from)
	if err != nil {
		return err
	}
	is, err := yaml.Marshal(to)
	if err != nil {
		return err
	}
	return Diff(w, fromName, toName, string(was), string(is))
}

// Diff writes the unified diff of two texts, and nothing if they are equal.
func Diff(w io.Writer, fromName, toName, from, to string) error {
	diff, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: slices.Collect(strings.Lines(from)), FromFile: fromName,
		B: slices.Collect(strings.Lines(to)), ToFile: toName,
		Context: diffContext,
	})
	p := &text{w: w, err: err}
	for line := range strings.Lines(diff) {
		p.line("%s", line)
	}
	return p.err
}
