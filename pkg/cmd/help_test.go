package cmd

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// shellWord matches a word of a command line, including its quoted parts.
var shellWord = regexp.MustCompile(`('[^']*'|[^\s'])+`)

// examplesOf returns the command lines in the examples of a command, split into words.
func examplesOf(cmd *cobra.Command) [][]string {
	var all [][]string
	for line := range strings.Lines(cmd.Example) {
		before, rest, is := strings.Cut(strings.TrimSpace(line), programName+" ")
		if !is || strings.HasPrefix(before, "#") {
			continue
		}
		var words []string
		for _, word := range shellWord.FindAllString(rest, -1) {
			end := strings.IndexAny(word, "&|;>)") // ends the command, unless it is quoted
			if end < 0 || strings.Contains(word, "'") {
				words = append(words, strings.ReplaceAll(word, "'", ""))
				continue
			}
			if end > 0 {
				words = append(words, word[:end])
			}
			break
		}
		all = append(all, words)
	}
	return all
}

// Every command has a description and examples, and can parse its examples.
func TestExamples(t *testing.T) {
	t.Parallel()
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	root := func() *cobra.Command { return NewRootCommand("v1", streams) }
	for _, cmd := range append(commandsBelow(root()), root()) {
		examples := examplesOf(cmd)
		if len(examples) == 0 || cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: %d examples, for %q", cmd.CommandPath(), len(examples), cmd.Short)
		}
		for _, words := range examples {
			// Parse each example with a new tree, because flags keep their values.
			verb, args, err := root().Find(words)
			if err == nil && cmd.HasParent() && verb.Name() != cmd.Name() && verb.Parent().Name() != cmd.Name() {
				t.Errorf("%s: an example is of %s", cmd.Name(), verb.Name())
			}
			if err == nil {
				err = verb.ParseFlags(args)
			}
			if err == nil {
				err = verb.ValidateArgs(verb.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: the example %q: %v", cmd.CommandPath(), words, err)
			}
		}
	}
	if examples := examplesOf(root()); len(examples) != 3 {
		t.Errorf("the program itself has %d examples", len(examples))
	}
}

// Every verb has a completion for its arguments, even if it offers nothing. --output completes to the
// formats in its help.
func TestEverythingCompletes(t *testing.T) {
	t.Parallel()
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	for _, verb := range commandsBelow(NewRootCommand("v1", streams)) {
		if verb.ValidArgsFunction == nil && len(verb.ValidArgs) == 0 {
			t.Errorf("nothing is known of the arguments of %s", verb.Name())
		}
		flag := verb.Flags().Lookup("output")
		if flag == nil {
			continue
		}
		complete, _ := verb.GetFlagCompletionFunc("output")
		formats, _ := complete(verb, nil, "")
		if len(formats) == 0 || !strings.Contains(flag.Usage, strings.Join(formats, ", ")) {
			t.Errorf("%s --output completes to %q, and its help is %s", verb.Name(), formats, flag.Usage)
		}
	}
}
