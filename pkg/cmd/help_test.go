package cmd

import (
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// Every verb has a completion for its arguments, even if the completion offers nothing. --output completes to
// the formats in its help.
func TestEverythingCompletes(t *testing.T) {
	t.Parallel()
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	for _, verb := range commandsBelow(NewRootCommand("v1", streams)) {
		if verb.ValidArgsFunction == nil && len(verb.ValidArgs) == 0 {
			t.Errorf("%s does not complete its arguments", verb.Name())
		}
		flag := verb.Flags().Lookup("output")
		if flag == nil {
			continue
		}
		complete, _ := verb.GetFlagCompletionFunc("output")
		formats, _ := complete(verb, nil, "")
		if len(formats) == 0 || !strings.Contains(flag.Usage, strings.Join(formats, ", ")) {
			t.Errorf("%s --output completes to %q, which is not in its help %q", verb.Name(), formats, flag.Usage)
		}
	}
}
