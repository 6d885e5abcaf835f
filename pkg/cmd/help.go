package cmd

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// addHelpCommand adds cobra's help command, and makes the command return an error for an unknown argument.
func addHelpCommand(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"}) // cannot fail, because the command was just added
	help.Long, help.Run = "", nil
	help.Example = `  # What "scale" does
  kubectl imoocpod help scale`
	help.RunE = func(help *cobra.Command, args []string) error {
		cmd, rest, err := help.Root().Find(args)
		if err != nil {
			return usageErrorf("%w", err)
		}
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
