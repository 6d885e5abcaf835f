package cmd

import (
	"context"

	"github.com/spf13/cobra"
)

// verb is what a command does. Its flags have set its options already.
type verb interface {
	// complete takes the arguments, and makes of options what they stand for.
	complete(args []string) error
	// validate refuses what cannot be meant. Until then no server is asked.
	validate() error
	// Run does what was asked for.
	Run(ctx context.Context) error
}

// bind makes a command do what a verb does. cobra looks at the arguments when all
// flags are read and before it runs anything: by then they are complete and valid.
func bind(cmd *cobra.Command, v verb) *cobra.Command {
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if err := v.complete(args); err != nil {
			return err
		}
		return v.validate()
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return v.Run(cmd.Context()) }
	return cmd
}

// noArgs refuses arguments where a verb takes none.
func noArgs(verb string, args []string) error {
	if len(args) > 0 {
		return usageErrorf("%s %s takes no arguments, got %q", programName, verb, args[0])
	}
	return nil
}
