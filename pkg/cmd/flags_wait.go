package cmd

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
)

// waitFlags configure how long a verb waits, and what it prints about a failed object.
type waitFlags struct {
	observe.Limits
	// logs means that the last log lines of a failed container are printed.
	logs  bool
	flags *pflag.FlagSet
}

// failAfter is the default of --fail-after. It allows one retry by the kubelet, which first retries after 10 seconds.
const failAfter = 20 * time.Second

// addFlags adds the wait flags. The verb adds --timeout, because the meaning of --timeout=0 depends on the verb.
func (f *waitFlags) addFlags(cmd *cobra.Command) {
	f.addFailFlags(cmd)
	addDuration(cmd.Flags(), &f.Settle, "settle", "How long the objects must stay ready, such as 30s, before the wait is over.")
	cmd.Flags().BoolVar(&f.logs, "logs", false, "If an object cannot become ready without help, print the last ten lines of the container that failed.")
}

func (f *waitFlags) addFailFlags(cmd *cobra.Command) {
	f.flags = cmd.Flags()
	f.FailFast, f.FailAfter = true, failAfter
	f.flags.Var((*failAfterFlag)(&f.Limits), "fail-after", `How long to wait for an object that needs help to become ready, such as another image, before exiting with code 3; "never" waits until the timeout.`)
}

// failAfterFlag is the value of --fail-after: a duration or "never".
type failAfterFlag observe.Limits

const never = "never"

func (f *failAfterFlag) Set(word string) (err error) {
	if f.FailFast = word != never; f.FailFast {
		f.FailAfter, err = parseLength(word)
	}
	return err
}

func (f *failAfterFlag) String() string {
	if !f.FailFast {
		return never
	}
	return f.FailAfter.String()
}

func (f *failAfterFlag) Type() string { return "duration" }

// repeated returns the named flags that the user gave, so that a hint can repeat the flags.
func (f *waitFlags) repeated(names ...string) (words []string) {
	for _, name := range names {
		if f.flags.Changed(name) {
			words = append(words, "--"+name+"="+f.flags.Lookup(name).Value.String())
		}
	}
	return words
}

func (f *waitFlags) validate(waits bool) error {
	if limited := f.Timeout > 0 || f.Once; limited && f.Settle > 0 && f.Timeout <= f.Settle {
		return usageErrorf("--timeout must be longer than --settle")
	}
	for _, flag := range []string{"on-failure", "fail-after", "settle", "logs"} {
		if !waits && f.flags.Changed(flag) {
			return usageErrorf("--%s can only be used with a command that waits", flag)
		}
	}
	return nil
}

// addTimeout adds --timeout to a verb that can wait without a limit.
func addTimeout(cmd *cobra.Command, timeout *time.Duration) {
	addDuration(cmd.Flags(), timeout, "timeout", "The length of time to wait before giving up, such as 1m. A value above zero implies --wait. With --wait, zero means no limit.")
}
