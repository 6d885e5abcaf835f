package harness

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/cmd"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
)

// printedCommand begins a command to paste. What precedes it tells such a command from one
// of help in single quotes.
var printedCommand = regexp.MustCompile(`(?m)(^|[ "(])(kubectl imoocpod )`)

// CheckHints fails the test for each command in the output of a run of the plugin that the
// plugin does not take, or that would reach another cluster, or act as another user, than
// that run. The arguments of the run are without "kubectl imoocpod".
func CheckHints(t testing.TB, args []string, output string) {
	t.Helper()
	if len(args) == 0 || !printedCommand.MatchString(output) || slices.ContainsFunc(args, func(arg string) bool { return arg == "-h" || arg == "--help" }) ||
		slices.Contains([]string{"help", "options", "completion", "__complete", "__completeNoDesc"}, args[0]) {
		return // its output names commands, but suggests none
	}
	// What a person replaces in a command before they paste it.
	filledIn := strings.NewReplacer("COUNT", "1", "IMAGE", "nginx", "FILENAME", "f.yaml", "NAME", "name", "PATH", ".spec.replicas")
	run, _ := parse(args) // one that is wrong has a context, too
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\n")
		if strings.Contains(line, "unknown command") || strings.Contains(line, "takes no arguments") {
			continue // it names a verb
		}
		for _, at := range printedCommand.FindAllStringSubmatchIndex(line, -1) {
			words := firstCommand(filledIn.Replace(line[at[5]:]))
			context, err := parse(words)
			if err != nil {
				t.Errorf("%s: printed a command that the plugin does not take: %v\n%s", strings.Join(args, " "), err, line)
			}
			for _, flag := range run {
				grants := args[0] == "check" || args[0] == "kinds" // rights to a user who lacks them
				if !slices.Contains(context, flag) && (!grants || isForCluster(flag)) {
					t.Errorf("%s: printed a command without %s:\n%s", strings.Join(args, " "), flag, line)
				}
			}
		}
	}
}

func isForCluster(flag string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
	return slices.Contains([]string{"kubeconfig", "context", "cluster", "server"}, name)
}

// parse reads arguments of the plugin as far as that goes without a server. It returns the
// flags that choose a cluster and a user.
func parse(args []string) (commandline.Context, error) {
	root := cmd.NewRootCommand("v0.0.0-test", genericiooptions.NewTestIOStreamsDiscard())
	err := parseWith(root, args)
	return kube.CommandContext(root.PersistentFlags()), err
}

func parseWith(root *cobra.Command, args []string) error {
	command, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if err := command.ParseFlags(rest); err != nil {
		return err
	}
	if err := command.ValidateArgs(command.Flags().Args()); err != nil {
		return err
	}
	if err := command.ValidateRequiredFlags(); err != nil {
		return err
	}
	return command.ValidateFlagGroups()
}

// firstCommand splits a line at blanks, as a shell does, until the command ends: at a
// semicolon, or at the quotation mark of the sentence around it.
func firstCommand(line string) []string {
	var words []string
	var word strings.Builder
	begun, quoted := false, false
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for i, r := range line {
		switch {
		case r == '\'':
			quoted, begun = !quoted, true
		case quoted:
			word.WriteRune(r)
		case r == ' ':
			end()
		case r == ';' || r == '"':
			end()
			return words
		case r == '\\' && strings.HasPrefix(line[i+1:], "'"):
			word.WriteByte('\'')
			quoted, begun = !quoted, true // for the quotation mark that follows
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	end()
	return words
}
