package printer

import (
	"bytes"
	"io"

	"github.com/rogpeppe/go-internal/diff"
	"sigs.k8s.io/yaml"
)

// DiffYAML writes the unified diff of two objects as YAML. If they are equal, it writes nothing.
func DiffYAML(w io.Writer, fromName, toName string, from, to map[string]any) error {
	was, err := yaml.Marshal(from)
	if err != nil {
		return err
	}
	is, err := yaml.Marshal(to)
	if err != nil {
		return err
	}
	_, hunks, _ := bytes.Cut(diff.Diff(fromName, was, toName, is), []byte("\n")) // omit the line "diff …"
	t := newText(w)
	for line := range bytes.Lines(hunks) {
		t.line("%s", line)
	}
	return t.Flush()
}
