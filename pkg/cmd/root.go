// Package cmd contains the verbs of the program. Flags fill a verb's options, whose methods run the verb without cobra.
package cmd

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// programName is the command that users type. kubectl finds kubectl-imoocpod on PATH.
const programName = "kubectl imoocpod"

// NewRootCommand returns the command tree. version is the version of the program.
func NewRootCommand(version string, streams genericiooptions.IOStreams) *cobra.Command {
	return NewRootCommandFor(kube.New(version, streams), version, streams)
}

// NewRootCommandFor returns the command tree for a factory, and adds kubectl's global flags.
func NewRootCommandFor(f *kube.Factory, version string, streams genericiooptions.IOStreams) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-imoocpod",
		Short: "Create, scale, and watch any resource that has a replica count",
		Long: `Create, scale, and watch any resource that has a replica count. NAME is an ImoocPod,
and TYPE/NAME is any other object. To give NAME another type, set the environment
variable KUBECTL_IMOOCPOD_TYPE, for example to deployment. The controller that creates
the pods of an ImoocPod is part of this program: "run-controller" runs it in the
foreground.

Exit codes: 0 success, 1 error, 2 invalid command line, 3 an object failed or is
paused, 4 timeout, 5 someone else changed what was written, 6 the object or its type
does not exist, 7 a precondition is not met, 8 forbidden, 9 the change was undone,
10 no answer to a write, 130 Ctrl-C.`,
		Example: `  # Check the cluster, and print the commands that fix what is missing
  kubectl imoocpod check

  # Create an ImoocPod with three pods and wait until they are ready
  kubectl imoocpod create foo --replicas 3 --wait

  # Scale any resource that has replicas and wait until its pods are ready
  kubectl imoocpod scale deployment/web --replicas 5 --timeout 1m`,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: programName},
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
		// cobra's default, which SuggestionsFor does not apply.
		SuggestionsMinimumDistance: 2,
		Args:                       knownVerb,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetFlagErrorFunc(flagError)
	root.SetUsageTemplate(usageTemplate(root.UsageTemplate()))

	f.AddFlags(root.PersistentFlags())
	addLogFlags(root.PersistentFlags())
	common := commonOptions{factory: f, streams: streams, version: version}

	add := func(title string, verbs ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: title, Title: title})
		for _, verb := range verbs {
			verb.GroupID = title
		}
		root.AddCommand(verbs...)
	}
	add("Change Objects:",
		newCreateCommand(common),
		newScaleCommand(common),
		newParkCommand(common),
		newUnparkCommand(common),
		newRestartCommand(common),
		newPauseCommand(common),
		newResumeCommand(common),
		newSetCommand(common),
		newUndoCommand(common),
		newDeleteCommand(common))
	add("Look at Objects:",
		newStatusCommand(common),
		newDescribeCommand(common),
		newHistoryCommand(common),
		newLogsCommand(common),
		newWaitCommand(common),
		newKindsCommand(common))
	add("Set Up:",
		newCheckCommand(common),
		newInstallCommand(common),
		newUninstallCommand(common),
		newRunControllerCommand(common),
		newCompletionCommand(common))
	root.AddCommand(newVersionCommand(common), newOptionsCommand(streams))
	for _, verb := range commandsBelow(root) {
		verb.DisableFlagsInUseLine = true
		groupFlags(verb)
		if verb.Name() != "run-controller" {
			run := verb.RunE
			verb.RunE = func(cmd *cobra.Command, args []string) error {
				return kube.Interruptible(cmd.Context(), streams.ErrOut, func(ctx context.Context) error {
					cmd.SetContext(ctx)
					return suggestTypes(f, run(cmd, args))
				})
			}
		}
	}
	addHelpCommand(root) // after the loop, which would change its usage line
	addCompletion(root, common)
	return root
}

// otherTools returns verbs of kubectl and other tools, each with advice on what to use instead.
func otherTools(commands commandline.Context) map[string]string {
	plugin := func(words ...string) string { return `"` + commands.Line(commandline.Plugin(words...)) + `"` }
	useKubectl := func(words ...string) string { return "use " + commands.Line(commandline.Kubectl(words...)) }
	return map[string]string{
		"get":      "list objects with " + plugin("status"),
		"list":     "list objects with " + plugin("status"),
		"ls":       "list objects with " + plugin("status"),
		"ps":       "list objects with " + plugin("status"),
		"rollout":  "restart pods with " + plugin("restart") + ", undo a change with " + plugin("undo") + ", follow a rollout with " + plugin("status", "NAME", "--wait"),
		"rollback": "undo a change with " + plugin("undo") + ", list the revisions with " + plugin("history"),
		"stop":     "scale to zero with " + plugin("park") + ", stop the controller with " + plugin("pause"),
		"edit":     useKubectl("edit", "imoocpod/NAME") + "; to change the replica count, use " + plugin("scale"),
		"apply":    useKubectl("apply", "-f", "FILENAME") + "; to wait for the objects, use " + plugin("wait", "-f", "FILENAME"),
		"top":      useKubectl("top", "pods"),
		"exec":     useKubectl("exec", "POD") + " -- COMMAND; " + plugin("status", "NAME") + " lists the pods",
	}
}

// knownVerb rejects a first argument that is not a verb, and suggests similar verbs.
func knownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	commands := kube.CommandContext(cmd.Root().PersistentFlags())
	if instead := otherTools(commands)[args[0]]; instead != "" && !cmd.HasParent() {
		return usageErrorf("unknown command %q for %q; %s", args[0], cmd.CommandPath(), instead)
	}
	return usageErrorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), outcome.DidYouMean(cmd.SuggestionsFor(args[0])))
}

// flagError turns an error of pflag into a usage error, and suggests similar flags.
func flagError(cmd *cobra.Command, err error) error {
	// After a misspelled verb, pflag does not know the flags of the verb. Report the verb instead.
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 && (cmd.ValidateArgs(args) != nil || len(cmd.SuggestionsFor(args[0])) > 0) {
		return knownVerb(cmd, args)
	}
	unknown, found := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !found {
		return usageErrorf("%w", err)
	}
	var flags []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
	nearest := nearestTo(unknown, flags)
	for i := range nearest {
		nearest[i] = "--" + nearest[i]
	}
	return usageErrorf("%w%s", err, outcome.DidYouMean(nearest))
}

// groupFlags makes kubectl's common flags persistent, because the help template lists persistent flags
// separately, after the flags of the verb. For a command without subcommands, this makes no other difference.
func groupFlags(cmd *cobra.Command) {
	for _, name := range []string{
		"filename", "recursive", "kustomize", "selector", "all", "all-namespaces", "output", "template", "show-managed-fields",
		"allow-missing-template-keys", "dry-run", "field-manager", "no-headers", "color",
	} {
		if flag := cmd.Flags().Lookup(name); flag != nil && !cmd.HasSubCommands() {
			cmd.PersistentFlags().AddFlag(flag)
		}
	}
}

// usageTemplate groups the flags, and replaces the global flags with a reference to "options", as in kubectl.
func usageTemplate(template string) string {
	template = strings.Replace(template, "{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}", `{{.LocalNonPersistentFlags.FlagUsages | trimTrailingWhitespaces}}{{if .HasAvailablePersistentFlags}}

Flags as in kubectl:
{{.PersistentFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}`, 1)
	template = strings.Replace(template, "{{if .HasAvailableLocalFlags}}", "{{if and .HasParent .HasAvailableLocalFlags}}", 1)
	before, rest, _ := strings.Cut(template, "{{if .HasAvailableInheritedFlags}}")
	_, after, _ := strings.Cut(rest, "{{end}}")
	return before + after + "{{if not .HasAvailableSubCommands}}\n{{end}}Use \"" + programName + " options\" for a list of global command-line options (applies to all commands).\n"
}

// addLogFlags adds klog's flag -v. The other flags of klog are mostly about log files.
func addLogFlags(flags *pflag.FlagSet) {
	all := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(all)
	v := pflag.PFlagFromGoFlag(all.Lookup("v"))
	v.Usage = "number for the log level verbosity"
	flags.AddFlag(v)
}

// addHelpCommand adds cobra's help command, and makes the command return an error for an unknown argument.
func addHelpCommand(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"}) // cannot fail, because the command was just added
	help.Long, help.Run = "", nil
	help.Example = `  # What "scale" does
  kubectl imoocpod help scale`
	help.RunE = func(help *cobra.Command, args []string) error {
		cmd, rest, _ := help.Root().Find(args) // cannot fail, because the root command checks its own arguments
		if cmd.HasSubCommands() && len(rest) > 0 {
			return knownVerb(cmd, rest)
		}
		cmd.InitDefaultHelpFlag()
		return cmd.Help()
	}
}

func newOptionsCommand(streams genericiooptions.IOStreams) *cobra.Command {
	return &cobra.Command{
		Use:   "options",
		Short: "Print the list of flags inherited by all commands",
		Example: `  # Print the flags that every command takes
  kubectl imoocpod options`,
		Args: func(_ *cobra.Command, args []string) error { return noArgs("options", args) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(streams.Out, "The following options can be passed to any command:\n\n%s",
				cmd.Root().PersistentFlags().FlagUsages())
			return err
		},
	}
}
