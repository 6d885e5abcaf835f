package cmd

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
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
			return err
		},
	}
}

// noArgs refuses arguments where a command takes none.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageErrorf(cmd, "%s takes no arguments, got %q", cmd.CommandPath(), args[0])
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
	if problem := nameProblem(args[0]); problem != "" {
		return usageErrorf(cmd, "invalid name %q: %s", args[0], problem)
	}
	return nil
}

// nameProblem says what is wrong with the name of an object, before a server is
// asked, in fewer words than the API machinery's.
func nameProblem(name string) string {
	switch problems := validation.IsDNS1123Subdomain(name); {
	case name == "":
		return "it is empty"
	case len(name) > validation.DNS1123SubdomainMaxLength:
		return fmt.Sprintf("it must be no longer than %d characters", validation.DNS1123SubdomainMaxLength)
	case len(problems) > 0:
		return "only lower case letters, digits, '-' and '.' are allowed, with a letter or digit at the start, at the end and around each '.'"
	}
	return ""
}

// count is a flag's number of replicas: of 32 bits, and no less than least.
type count struct {
	value *int32
	least int32
}

// Set takes a value from the command line.
func (c count) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < int64(c.least) {
		return fmt.Errorf("must be a whole number from %d to %d", c.least, math.MaxInt32)
	}
	*c.value = int32(n)
	return nil
}

// String returns the value.
func (c count) String() string {
	if c.value == nil {
		return "0"
	}
	return strconv.FormatInt(int64(*c.value), 10)
}

// Type names the kind of value in help texts.
func (c count) Type() string { return "int32" }
