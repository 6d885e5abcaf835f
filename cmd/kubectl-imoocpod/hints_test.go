package main

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

// printedCommand matches the start of a suggested command. It does not match commands in single quotes, as
// in help texts.
var printedCommand = regexp.MustCompile(`(?m)(^|[ "(])(kubectl imoocpod )`)

// checkHints checks the commands that a run of the plugin suggests. Each must be valid, and must select the
// cluster and (except for check and kinds) the user of the run. args excludes "kubectl imoocpod".
func checkHints(t testing.TB, args []string, output string) {
	t.Helper()
	if len(args) == 0 || !printedCommand.MatchString(output) || slices.ContainsFunc(args, func(arg string) bool { return arg == "-h" || arg == "--help" }) ||
		slices.Contains([]string{"help", "options", "completion", "__complete", "__completeNoDesc"}, args[0]) {
		return // the output mentions commands, but does not suggest any
	}
	// Replace the placeholders, as a user would before pasting.
	filledIn := strings.NewReplacer("COUNT", "1", "IMAGE", "nginx", "FILENAME", "f.yaml", "NAME", "name", "PATH", ".spec.replicas")
	run, _ := parse(args) // parse returns the context even if args is invalid
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\n")
		if strings.Contains(line, "unknown command") || strings.Contains(line, "takes no arguments") {
			continue // the line names a verb, but suggests no command
		}
		for _, words := range commandsIn(filledIn.Replace(line)) {
			context, err := parse(words)
			if err != nil {
				t.Errorf("%s: suggests an invalid command: %v\n%s", strings.Join(args, " "), err, line)
			}
			for _, flag := range run {
				grants := args[0] == "check" || args[0] == "kinds" // check and kinds suggest commands for an administrator
				if !slices.Contains(context, flag) && (!grants || isForCluster(flag)) {
					t.Errorf("%s: suggests a command without %s:\n%s", strings.Join(args, " "), flag, line)
				}
			}
		}
	}
}

func isForCluster(flag string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
	return slices.Contains([]string{"kubeconfig", "context", "cluster", "server"}, name)
}

// parse parses and validates the arguments of the plugin without a server. It returns the flags
// that select the cluster and the user.
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

// commandsIn returns the commands of the plugin in a text, without "kubectl imoocpod".
func commandsIn(text string) [][]string {
	var all [][]string
	for _, at := range printedCommand.FindAllStringIndex(text, -1) {
		all = append(all, firstCommand(text[at[1]:]))
	}
	return all
}

// firstCommand splits the command at the start of a text into words, like a shell. The command ends with its
// line, at a double quotation mark, or at an operator of the shell.
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
		case strings.ContainsRune("\n\";|&>)", r):
			end()
			return words
		case r == '\\' && strings.HasPrefix(line[i+1:], "'"):
			word.WriteByte('\'')
			quoted, begun = !quoted, true // the next quotation mark reverts this
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	end()
	return words
}
