package cmd

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/imoocpod/kubectl-imoocpod/pkg/scale"
)

// stepFlags say how a count changes in steps.
type stepFlags struct {
	// step is nil where the whole change is made at once.
	step      *scale.Step
	settle    time.Duration
	onFailure onFailure
	parallel  bool
	// ignoreBudgets says that a step down may break a disruption budget.
	ignoreBudgets bool
}

// onFailure is what becomes of a count when the pods of a step do not become ready.
type onFailure string

const (
	stopOnFailure   onFailure = "stop"
	revertOnFailure onFailure = "revert"
)

func (f *stepFlags) addFlags(cmd *cobra.Command) {
	f.onFailure = stopOnFailure
	cmd.Flags().Var(parsedFlag[scale.Step]{&f.step, scale.ParseStep, "step"}, "step", "Change the count in steps of 10 replicas, or of 25% of the whole change (rounded up), for example; wait until each is ready.")
	cmd.Flags().DurationVar(&f.settle, "settle", 0, "How long the pods must stay ready after a step before the next one, such as 30s.")
	addChoice(cmd, &f.onFailure, "on-failure", "Must be %s. Keep the count of a step whose pods do not become ready, or go back to the count before it.", stopOnFailure, revertOnFailure)
	cmd.Flags().BoolVar(&f.parallel, "parallel", false, "Change several objects in steps at the same time, not one after another.")
	cmd.Flags().BoolVar(&f.ignoreBudgets, "ignore-budgets", false, "Scale down even if a step breaks a PodDisruptionBudget.")
}

// given reports whether the count is to change in steps.
func (f *stepFlags) given() bool { return f.step != nil }

// validate refuses what cannot be meant.
func (f *stepFlags) validate(change scale.Request, limits waitFlags) error {
	for _, flag := range []string{"settle", "on-failure", "parallel", "ignore-budgets"} {
		if !f.given() && limits.given(flag) {
			return usageErrorf("--%s needs --step", flag)
		}
	}
	switch {
	case f.settle < 0:
		return usageErrorf("--settle must be 0 (go on at once) or more, not %s", f.settle)
	case limits.Timeout > 0 && limits.Timeout <= f.settle:
		return usageErrorf("--timeout is the limit for each step and must be longer than --settle")
	case f.given() && change.ResourceVersion != "":
		return usageErrorf("--step and --resource-version cannot be used together")
	}
	return nil
}

// flags are those that were given, for a command that continues.
func (f *stepFlags) flags() []string {
	words := []string{"--step", f.step.String()}
	if f.settle > 0 {
		words = append(words, "--settle", f.settle.String())
	}
	if f.onFailure != stopOnFailure {
		words = append(words, "--on-failure", string(f.onFailure))
	}
	if f.ignoreBudgets {
		words = append(words, "--ignore-budgets")
	}
	return words
}
