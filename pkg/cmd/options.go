package cmd

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func newOptionsCommand(streams genericiooptions.IOStreams) *cobra.Command {
	return &cobra.Command{
		Use:   "options",
		Short: "Print the list of flags inherited by all commands",
		Example: `  # Print the flags that every command takes
  kubectl imoocpod options`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(streams.Out, "The following options can be passed to any command:\n\n%s",
				cmd.Root().PersistentFlags().FlagUsages())
			return err //nolint:wrapcheck // a closed stdout
		},
	}
}

// noArgs refuses arguments where a command takes none.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageErrorf(cmd, "%s takes no arguments, got %q", commandName(cmd), args[0])
	}
	return nil
}

// oneName wants exactly one argument that can be the name of an object.
func oneName(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return usageErrorf(cmd, "which one? give the NAME of an ImoocPod")
	case len(args) > 1:
		return usageErrorf(cmd, "expected one NAME, got %d arguments", len(args))
	}
	if err := checkName(args[0]); err != nil {
		return usageErrorf(cmd, "%w", err)
	}
	return nil
}
