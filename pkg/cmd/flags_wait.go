package cmd

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
)

// waitFlags configure how long a verb waits, and what it prints about a failed object.
type waitFlags struct {
	observe.Limits
	// logs prints the last log lines of the failed container.
	logs bool
	// given reports whether one of these flags was given.
	given func(flag string) bool
}

// failAfter is how long an object may be failed before a wait for it fails. A kubelet retries
// after 10 and then after 20 seconds, so it has retried at least once.
const failAfter = 20 * time.Second

// addFlags adds the flags except --timeout, because the meaning of zero depends on the verb.
func (f *waitFlags) addFlags(cmd *cobra.Command) {
	own := f.addFailFlags(cmd)
	own.DurationVar(&f.Settle, "settle", 0, "How long the objects must stay ready, such as 30s, before the wait is over.")
	own.BoolVar(&f.logs, "logs", false, "If an object cannot become ready without help, print the last ten lines of the container that failed.")
	cmd.Flags().AddFlagSet(own)
}

// addFailFlags adds the flags for failed waits. It returns all flags of the wait.
func (f *waitFlags) addFailFlags(cmd *cobra.Command) *pflag.FlagSet {
	own := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	for _, added := range []string{"timeout", "on-failure"} {
		if flag := cmd.Flags().Lookup(added); flag != nil {
			own.AddFlag(flag)
		}
	}
	own.DurationVar(&f.FailAfter, "fail-after", failAfter, "How long to wait for an object that needs help to become ready, such as another image, before exiting with code 3.")
	own.BoolVar(&f.FailFast, "fail-fast", true, "If false, wait for an object that needs help until the timeout.")
	cmd.Flags().AddFlagSet(own)
	f.given = own.Changed
	return own
}

// flags returns the given flags, for a command that continues.
func (f *waitFlags) flags() []string {
	var words []string
	if f.given("timeout") {
		words = append(words, "--timeout", f.Timeout.String())
	}
	if f.given("settle") {
		words = append(words, "--settle", f.Settle.String())
	}
	if f.given("fail-after") {
		words = append(words, "--fail-after", f.FailAfter.String())
	}
	if f.given("fail-fast") {
		words = append(words, fmt.Sprintf("--fail-fast=%t", f.FailFast))
	}
	return words
}

// validate rejects invalid limits. waits means that the command waits at all.
func (f *waitFlags) validate(waits bool) error {
	switch {
	case f.FailAfter < 0:
		return usageErrorf("--fail-after must be 0 (at once) or more, not %s", f.FailAfter)
	case f.Settle < 0:
		return usageErrorf("--settle must be 0 (not at all) or more, not %s", f.Settle)
	case f.Timeout > 0 && f.Timeout <= f.Settle:
		return usageErrorf("--timeout must be longer than --settle")
	}
	for _, flag := range []string{"on-failure", "fail-after", "fail-fast", "settle", "logs"} {
		if !waits && f.given(flag) {
			return usageErrorf("--%s can only be used with a command that waits", flag)
		}
	}
	return nil
}

// changeWaitFlags are the wait flags of a verb that changes objects.
type changeWaitFlags struct {
	limits    waitFlags
	wait      bool
	onFailure onFailure
}

// onFailure is what to do with a change if the wait for it fails or times out.
type onFailure string

const (
	stopOnFailure   onFailure = "stop"
	revertOnFailure onFailure = "revert"
)

// addFlags adds the flags. waitUsage is the help of --wait.
func (f *changeWaitFlags) addFlags(cmd *cobra.Command, waitUsage string) {
	f.onFailure = stopOnFailure
	cmd.Flags().BoolVar(&f.wait, "wait", false, waitUsage)
	cmd.Flags().DurationVar(&f.limits.Timeout, "timeout", 0, "The length of time to wait before giving up, such as 1m; implies --wait. Zero means no limit with --wait, and no wait without it.")
	addChoice(cmd, &f.onFailure, "on-failure", "Must be %s. If an object fails or is not ready in time, keep the change, or put back what was there before and exit with code 9. Revert implies --wait.", stopOnFailure, revertOnFailure)
	f.limits.addFlags(cmd)
}

// waits reports whether the flags ask for a wait.
func (f *changeWaitFlags) waits() bool {
	return f.wait || f.limits.Timeout > 0 || f.onFailure == revertOnFailure
}

// flags returns the given flags, for a command that continues.
func (f *changeWaitFlags) flags() []string {
	words := f.limits.flags()
	if f.onFailure == revertOnFailure {
		words = append(words, "--on-failure=revert")
	}
	return words
}

// validate rejects invalid combinations. waits means that the command waits at all.
func (f *changeWaitFlags) validate(waits bool) error {
	if f.limits.Timeout < 0 {
		return usageErrorf("--timeout must be 0 (no limit) or more, not %s", f.limits.Timeout)
	}
	return f.limits.validate(waits)
}
