package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

func (o *runControllerOptions) addOnceFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.once, "once", false, "Reconcile until every object has what it asks for, and exit.")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "Print what would be done for every object, and change nothing.")
	cmd.Flags().DurationVar(&o.limits.Timeout, "timeout", 0, "With --once or --dry-run: how long to go on before giving up, such as 5m. Zero means for ever.")
	o.limits.addFlags(cmd)
	cmd.Flags().StringVarP(&o.output, "output", "o", "", `With --dry-run: the output format. One of: (json). Empty means text.`)
}

// ends reports whether the loop is to end by itself.
func (o *runControllerOptions) ends() bool { return o.once || o.dryRun }

// settle runs a loop until every object has what it asks for, or those that
// have not are given up. It returns an error for each of these.
func (o *runControllerOptions) settle(ctx context.Context, loop *controller.Controller, namespace string) error {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ended := make(chan error, 1)
	go func() {
		ended <- loop.Run(running)
		stop(nil)
	}()
	hopeless := hopes{of: o, loop: loop, patience: map[objectName]*status.Patience{}}
	if o.once {
		go func() {
			if hopeless.lost(running) {
				stop(errGivenUp)
			}
		}()
	}
	err := loop.Settle(running)
	all, _ := loop.Standings()
	leftOut := loop.Refused()
	stop(nil)
	switch failure := <-ended; {
	case err == nil, errors.Is(err, outcome.ErrTimeout), errors.Is(err, errGivenUp):
	case failure != nil && ctx.Err() == nil:
		return failure
	default:
		return err
	}
	if o.dryRun {
		o.plans.add(all)
		return err
	}
	var errs []error
	for _, s := range all {
		if !s.Converged && err != nil {
			errs = append(errs, o.missing(ctx, s, err))
		}
	}
	for _, kind := range o.kinds.known {
		if err := leftOut[kind.CRD()]; err != nil && o.anyOf(ctx, kind, namespace) {
			errs = append(errs, fmt.Errorf("%s are not reconciled: %w", kind.CRD(), err))
		}
	}
	for _, crd := range o.kinds.named {
		if err := leftOut[crd]; err != nil {
			errs = append(errs, fmt.Errorf("%s is not reconciled: %w", crd, err))
		}
	}
	if len(errs) > 0 {
		return outcome.Join(errs)
	}
	if err == nil || errors.Is(err, errGivenUp) {
		o.log.say("converged: %s", objectCount(len(all)))
		return nil
	}
	return err
}

// anyOf reports whether there are objects of a kind.
func (o *runControllerOptions) anyOf(ctx context.Context, kind kinds.Kind, namespace string) bool {
	client, err := o.clients.Dynamic()
	if err != nil {
		return false
	}
	list, err := client.Resource(kind.Resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	return err == nil && len(list.Items) > 0
}

func objectCount(n int) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}

// nameOf is an object's type and name, with the namespace where there are several.
func (o *runControllerOptions) nameOf(s controller.Standing) string {
	kind := s.Of.String()
	if o.several || o.allNamespaces {
		return kind + "/" + s.Name + " in namespace " + s.Namespace
	}
	return kind + "/" + s.Name
}

// plans are those of a dry run, of all namespaces.
type plans struct {
	mu  sync.Mutex
	all []controller.Standing
}

func (p *plans) add(some []controller.Standing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, some...)
}

// planReport is the JSON of a dry run.
type planReport struct {
	metav1.TypeMeta `json:",inline"`
	Items           []planItem `json:"items"`
}

type planItem struct {
	// Kind is plural.group.
	Kind      string              `json:"kind"`
	Namespace string              `json:"namespace"`
	Name      string              `json:"name"`
	Plan      *controller.Planned `json:"plan,omitempty"`
	// Error is why there is no plan.
	Error string `json:"error,omitempty"`
}

// printPlans tells what a dry run found.
func (o *runControllerOptions) printPlans() error {
	report := planReport{TypeMeta: metav1.TypeMeta{APIVersion: status.ReportVersion, Kind: "PlanReport"}, Items: []planItem{}}
	for _, s := range o.plans.all {
		item := planItem{Kind: s.Kind, Namespace: s.Namespace, Name: s.Name, Plan: s.Planned}
		if s.Planned == nil {
			item.Error = s.Why
		}
		report.Items = append(report.Items, item)
		if o.output == "" {
			what := item.Error
			if s.Planned != nil {
				what = s.Planned.String()
			}
			if err := say(o.streams.Out, "%s (dry run): %s", o.nameOf(s), what); err != nil {
				return err
			}
		}
	}
	switch {
	case o.output != "":
		encoder := json.NewEncoder(o.streams.Out)
		encoder.SetIndent("", "    ")
		return encoder.Encode(report)
	case len(o.plans.all) == 0:
		return say(o.streams.ErrOut, "No resources found")
	}
	return nil
}

var errDryRun = errors.New("a dry run writes nothing")

// readOnly is a config whose clients cannot write, whatever they are told.
func readOnly(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return reader{next} })
	return config
}

type reader struct{ next http.RoundTripper }

// RoundTrip sends a request that reads, and refuses every other.
func (t reader) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		return nil, errDryRun
	}
	return t.next.RoundTrip(r)
}
