// Package rows runs table tests whose rows are in YAML files.
package rows

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// Run calls check for each row in the files that match a pattern. Each row runs in a subtest named after
// the file and the row. Under "given", a file can define YAML anchors for parts of its rows. A duration
// with a sign, such as -10s, stands for a time relative to now.
func Run[T any](t *testing.T, pattern string, now time.Time, check func(*testing.T, T)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files match %s (error %v)", len(files), pattern, err)
	}
	signed := regexp.MustCompile(`: [-+]\d+[smh]\b`)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		data = signed.ReplaceAllFunc(data, func(text []byte) []byte {
			d, err := time.ParseDuration(string(text[2:]))
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Appendf(nil, ": %q", now.Add(d).Format(time.RFC3339))
		})
		var content struct {
			Given any
			Rows  []json.RawMessage
		}
		if err := yaml.Unmarshal(data, &content, yaml.DisallowUnknownFields); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, text := range content.Rows {
			var named struct{ Name string }
			var row T
			decoder := json.NewDecoder(bytes.NewReader(text))
			decoder.DisallowUnknownFields()
			if err := json.Unmarshal(text, &named); err != nil || named.Name == "" {
				t.Fatalf("%s: row without a name (error %v)", file, err)
			}
			if err := decoder.Decode(&row); err != nil {
				t.Fatalf("%s: %s: %v", file, named.Name, err)
			}
			t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml")+"/"+named.Name, func(t *testing.T) {
				t.Parallel()
				check(t, row)
			})
		}
	}
}
