package cmd

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
)

// waitFlags are those that all commands have that wait: how long they do, and what
// they print when an object has failed.
type waitFlags struct {
	observe.Limits
	// logs says that the last lines of the container that failed are printed.
	logs bool
	// given reports whether a flag was.
	given func(flag string) bool
}

// failAfter is how long an object may have failed before a wait for it does.
// What a kubelet did in vain it does again after 10 and then after 20 seconds:
// so it was tried twice.
const failAfter = 20 * time.Second

// addFlags adds the flags beside --timeout, whose zero verbs take differently.
func (f *waitFlags) addFlags(cmd *cobra.Command) {
	f.addFailFlags(cmd)
	cmd.Flags().DurationVar(&f.Settle, "settle", 0, "How long the objects must stay ready, such as 30s, before the wait is over.")
	cmd.Flags().BoolVar(&f.logs, "logs", false, "If an object cannot become ready without help, print the last ten lines of the container that failed.")
}

// addFailFlags adds the flags that say when a wait has failed.
func (f *waitFlags) addFailFlags(cmd *cobra.Command) {
	f.given = cmd.Flags().Changed
	cmd.Flags().DurationVar(&f.FailAfter, "fail-after", failAfter, "How long to wait for an object that needs help to become ready, such as another image, before exiting with code 3.")
	cmd.Flags().BoolVar(&f.FailFast, "fail-fast", true, "If false, wait for an object that needs help until the timeout.")
}

// flags are those that were given, for a command that continues.
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

// validate refuses what cannot be meant. waits says that the command waits at all.
func (f *waitFlags) validate(waits bool) error {
	switch {
	case f.FailAfter < 0:
		return usageErrorf("--fail-after must be 0 (at once) or more, not %s", f.FailAfter)
	case f.Settle < 0:
		return usageErrorf("--settle must be 0 (not at all) or more, not %s", f.Settle)
	case f.Timeout > 0 && f.Timeout <= f.Settle:
		return usageErrorf("--timeout must be longer than --settle")
	}
	for _, flag := range []string{"fail-after", "fail-fast", "settle", "logs"} {
		if !waits && f.given(flag) {
			return usageErrorf("--%s can only be used with a command that waits", flag)
		}
	}
	return nil
}
