package status

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
)

// mustCarryFlags fails the test if a command in a hint lacks the flags of the original command.
// Such a command could change another cluster or act as another user.
func mustCarryFlags(t *testing.T, s Snapshot) {
	t.Helper()
	const flags = " --context=staging --as=alice"
	s.Commands = commandline.Context(strings.Fields(flags))
	r := NewReport(s)
	hints := []string{r.Hint}
	for _, p := range r.Problems {
		hints = append(hints, p.Hint)
	}
	for _, hint := range hints {
		if strings.Count(hint, "kubectl ") != strings.Count(hint, flags) {
			t.Errorf("hint %q has a command without the flags%s", hint, flags)
		}
	}
}
