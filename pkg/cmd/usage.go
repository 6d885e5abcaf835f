package cmd

import (
	"fmt"

	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// usageErrorf makes an error that leads to the help of the command that was typed.
func usageErrorf(format string, args ...any) error {
	return &outcome.UsageError{Err: fmt.Errorf(format, args...)}
}
