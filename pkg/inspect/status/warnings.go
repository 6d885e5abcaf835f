package status

import (
	"fmt"
	"strconv"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/competing"
)

// competed returns the object as the input of package competing.
func (o Object) competed() competing.Object {
	return competing.Object{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, Controller: o.Controller, Source: o.Source}
}

// Warnings returns the reasons why a new count may not last or is risky: who will reset it, the
// bound that it violates, and the budgets that it breaks. Budgets with a percentage are skipped,
// because they need fewer pods if the count is lower.
func (r Report) Warnings(count int32) []string {
	var all []string
	for _, revert := range r.Reverts {
		all = append(all, revert.Message)
	}
	if bound := violated(r.bounds, count); bound != "" {
		all = append(all, "its controller may not use a count of "+strconv.Itoa(int(count))+": "+bound)
	}
	for _, b := range r.Budgets {
		least, err := strconv.ParseInt(b.MinAvailable, 10, 32)
		if err == nil && int64(count) < least && count < r.Replicas.Desired {
			all = append(all, fmt.Sprintf("PodDisruptionBudget/%s requires at least %d available pods, and only %d would be left", b.Name, least, count))
		}
	}
	return all
}
