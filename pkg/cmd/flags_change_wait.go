package cmd

import (
	"github.com/spf13/cobra"
)

// changeWaitFlags are those of a verb that changes objects and can wait for them.
type changeWaitFlags struct {
	waitFlags
	wait      bool
	onFailure onFailure
}

// onFailure is what becomes of a change if the wait for it fails or times out.
type onFailure string

const (
	stopOnFailure   onFailure = "stop"
	revertOnFailure onFailure = "revert"
)

// addFlags adds the flags. waitUsage is the help of --wait.
func (f *changeWaitFlags) addFlags(cmd *cobra.Command, waitUsage string) {
	f.onFailure = stopOnFailure
	cmd.Flags().BoolVar(&f.wait, "wait", false, waitUsage)
	cmd.Flags().DurationVar(&f.Timeout, "timeout", 0, "The length of time to wait before giving up, such as 1m; implies --wait. Zero means no limit with --wait, and no wait without it.")
	addChoice(cmd, &f.onFailure, "on-failure", "Must be %s. If an object fails or is not ready in time, keep the change, or put back what was there before and exit with code 9. Revert implies --wait.", stopOnFailure, revertOnFailure)
	f.waitFlags.addFlags(cmd)
}

// flags are those that were given, for a command that continues.
func (f *changeWaitFlags) flags() []string {
	words := f.waitFlags.flags()
	if f.onFailure == revertOnFailure {
		words = append(words, "--on-failure=revert")
	}
	return words
}

// complete sets what flags imply.
func (f *changeWaitFlags) complete() {
	f.wait = f.wait || f.Timeout > 0 || f.onFailure == revertOnFailure
}

// validate refuses what cannot be meant.
func (f *changeWaitFlags) validate() error {
	switch {
	case f.Timeout < 0:
		return usageErrorf("--timeout must be 0 (no limit) or more, not %s", f.Timeout)
	case !f.wait && f.given("on-failure"):
		return usageErrorf("--on-failure can only be used with a command that waits")
	}
	return f.waitFlags.validate(f.wait)
}

// validateTimeout is validate for verbs whose --timeout=0 without --wait cannot be meant.
func (f *changeWaitFlags) validateTimeout() error {
	if f.Timeout == 0 && !f.wait && f.given("timeout") {
		return usageErrorf("--timeout needs --wait")
	}
	return f.validate()
}
