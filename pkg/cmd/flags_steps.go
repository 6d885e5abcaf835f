package cmd

import (
	"github.com/spf13/cobra"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/replicas"
)

// stepFlags say how a count changes in steps.
type stepFlags struct {
	// step is nil where the whole change is made at once.
	step     *replicas.Step
	parallel bool
	// ignoreBudgets says that a step down may break a disruption budget.
	ignoreBudgets bool
}

func (f *stepFlags) addFlags(cmd *cobra.Command) {
	cmd.Flags().Var(parsedFlag[replicas.Step]{&f.step, replicas.ParseStep, "step"}, "step", "Change the count in steps of 10 replicas, or of 25% of the whole change (rounded up), for example; wait until each is ready.")
	cmd.Flags().BoolVar(&f.parallel, "parallel", false, "Change several objects in steps at the same time, not one after another.")
	cmd.Flags().BoolVar(&f.ignoreBudgets, "ignore-budgets", false, "Scale down even if a step breaks a PodDisruptionBudget.")
}

// given reports whether the count is to change in steps.
func (f *stepFlags) given() bool { return f.step != nil }

// validate refuses what cannot be meant.
func (f *stepFlags) validate(change replicas.Request, given func(flag string) bool) error {
	for _, flag := range []string{"parallel", "ignore-budgets"} {
		if !f.given() && given(flag) {
			return usageErrorf("--%s needs --step", flag)
		}
	}
	if f.given() && change.ResourceVersion != "" {
		return usageErrorf("--step and --resource-version cannot be used together")
	}
	return nil
}

// flags are those that were given, for a command that continues.
func (f *stepFlags) flags() []string {
	words := []string{"--step", f.step.String()}
	if f.ignoreBudgets {
		words = append(words, "--ignore-budgets")
	}
	return words
}
