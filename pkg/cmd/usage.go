package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// usageErrorf makes an error that leads to the help of a command.
func usageErrorf(cmd *cobra.Command, format string, args ...any) error {
	return &outcome.UsageError{Command: cmd.CommandPath(), Err: fmt.Errorf(format, args...)}
}
