package run

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// planReport is the JSON output of a dry run.
type planReport struct {
	metav1.TypeMeta `json:",inline"`
	Items           []planItem `json:"items"`
}

type planItem struct {
	Kind      string       `json:"kind"` // plural.group
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`
	Plan      *plan.DryRun `json:"plan,omitempty"`
	// Error is the reason why there is no plan.
	Error string `json:"error,omitempty"`
}

func (o *Options) printPlans() error {
	report := planReport{TypeMeta: metav1.TypeMeta{APIVersion: status.ReportVersion, Kind: "PlanReport"}, Items: []planItem{}}
	unplanned := int32(0)
	// The loops of the namespaces end in any order, and each has sorted its plans.
	slices.SortStableFunc(o.plans, func(a, b controller.State) int { return cmp.Compare(a.Namespace, b.Namespace) })
	for _, s := range o.plans {
		item := planItem{Kind: s.Kind, Namespace: s.Namespace, Name: s.Name, Plan: s.DryRun}
		if s.DryRun == nil {
			item.Error = cmp.Or(s.Failure, "not reconciled yet")
			unplanned++
		}
		report.Items = append(report.Items, item)
		if o.Output == "" {
			what := item.Error
			if s.DryRun != nil {
				what = s.DryRun.String()
			}
			if err := escape.PrintLine(o.Streams.Out, "%s (dry run): %s", o.nameOf(s), what); err != nil {
				return err
			}
		}
	}
	switch {
	case o.Output != "":
		encoder := json.NewEncoder(o.Streams.Out)
		encoder.SetIndent("", "    ")
		if err := encoder.Encode(report); err != nil {
			return err
		}
	case len(o.plans) == 0:
		return escape.PrintLine(o.Streams.ErrOut, "No resources found")
	}
	if unplanned > 0 {
		return fmt.Errorf("no plan for %s", problem.Quantity(unplanned, "object"))
	}
	return nil
}

var errDryRun = errors.New("refusing to write in a dry run")

func readOnly(next http.RoundTripper) http.RoundTripper {
	return lease.Fence{Next: next, MayWrite: func() bool { return false }, Refusal: errDryRun}
}
