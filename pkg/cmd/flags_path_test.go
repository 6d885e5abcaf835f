package cmd

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/schemawalk"
)

// A path that was copied from a list of candidates names no element until its key is put
// in.
func TestPathWithPlaceholder(t *testing.T) {
	t.Parallel()
	for _, path := range []string{`.spec.pools[?(@.name=="KEY")].size`, `.spec.pools["KEY"].size`} {
		if _, err := parseReplicasPath(strings.ReplaceAll(path, "KEY", schemawalk.Unknown)); err == nil || !strings.Contains(err.Error(), "replace "+schemawalk.Unknown+" with the key") {
			t.Errorf("%s with the placeholder: %v", path, err)
		}
		if _, err := parseReplicasPath(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
