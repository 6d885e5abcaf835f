package cmd

import (
	"cmp"
	"context"
	"net"
	"strconv"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/run"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

type runControllerOptions struct {
	run.Options
	limits waitFlags // only for --once and --dry-run
	output *output   // only for --dry-run
}

func newRunControllerCommand(common commonOptions) *cobra.Command {
	o := &runControllerOptions{Options: run.Options{Streams: common.streams, Version: common.version, Workers: run.DefaultWorkers}}
	cmd := &cobra.Command{
		Use:   "run-controller [--namespace=NAMESPACE[,NAMESPACE…] | --all-namespaces] [--once | --dry-run] [flags]",
		Short: "Run the controller in the foreground until Ctrl-C",
		Long: `Run the controller in the foreground, against the current context, until Ctrl-C. It
creates and removes the pods and Deployments of the four shipped kinds, or of those in
--kinds; with --declared-kinds, also of every kind with a plan in its CRD. When it
stops, the objects and their pods stay, and the next controller continues from there.

A lease allows one active controller at a time in a namespace, or in all of them. A
second controller names the holder of the lease and waits.

With --once, the command exits when every object has what it asks for (code 0), when
the other objects cannot get it without help (3), or after --timeout (4). With
--dry-run, it prints what it would do and writes nothing. See docs/operating.md.`,
		Example: `  # Reconcile the objects of the current namespace, of two, or of all
  kubectl imoocpod run-controller
  kubectl imoocpod run-controller -n team-a,team-b
  kubectl imoocpod run-controller -A

  # Reconcile one kind that a CRD declares
  kubectl imoocpod run-controller --kinds widgets.example.com

  # Reconcile all objects and exit, for a script
  kubectl imoocpod run-controller --once --timeout 5m

  # Print what the controller would do
  kubectl imoocpod run-controller --dry-run`,
	}
	flags := cmd.Flags()
	var shipped []string
	for _, kind := range kinds.Shipped() {
		shipped = append(shipped, kind.Resource.Resource)
	}
	flags.StringSliceVar(&o.Kinds.Words, "kinds", nil, "Reconcile only these kinds, such as 'imoocpods,widgets.example.com'. By default, the four shipped kinds.")
	completeFlag(cmd, "kinds", shipped...)
	flags.BoolVar(&o.Kinds.Declared, "declared-kinds", false, "Also reconcile every kind whose CRD has the annotation imoocpod.dev/plan, now or later.")
	flags.StringSliceVar(&o.Kinds.Files, "kind-file", nil, "A file with CRDs whose kinds to reconcile, in addition to the shipped ones. '-' reads standard input.")
	addAllNamespacesFlag(cmd, &o.AllNamespaces)
	addSelectorFlag(cmd, &o.Selector)

	flags.BoolVar(&o.Once, "once", false, "Reconcile until every object has what it asks for, then exit.")
	flags.BoolVar(&o.DryRun, "dry-run", false, "Print what the controller would do, and change nothing.")
	addDuration(flags, &o.limits.Timeout, "timeout", "The length of time to run with --once or --dry-run before giving up, such as 5m. Zero means forever.")
	o.limits.addFailFlags(cmd)
	o.output = addOutputFlag(cmd, "Output format of --dry-run. One of: (%s). Empty means text.", "json")

	o.Lease.IfHeld, o.Log.Format = "wait", "human"
	flags.BoolVar(&o.Lease.Elect, "leader-elect", true, "If true, use a lease, so that only one controller of the same scope is active.")
	addChoice(cmd, &o.Lease.IfHeld, "if-held", "What to do while another controller has the lease. Must be %s.", "wait", "exit")
	addChoice(cmd, &o.Log.Format, "log-format", `Format of the log. Must be %s. "human" prints lines to standard output, the others print structured records to standard error.`, "human", "text", "json")
	flags.Var(numberFlag(&o.Workers, 1), "workers", "Number of objects to reconcile at the same time.")
	flags.StringVar(&o.Serve.Metrics, "metrics-bind-address", "", `Address to serve /metrics on, such as ":8080" (loopback only) or "0.0.0.0:8080". Empty or "0" disables it.`)
	flags.StringVar(&o.Serve.Health, "health-probe-bind-address", "", `Address to serve /healthz and /readyz on, such as ":8081". Empty or "0" disables it.`)
	flags.Float32Var(&o.RateLimit.Qps, "kube-api-qps", 0, "Maximum requests per second for each namespace, not counting lease requests. Zero means no limit.")
	flags.IntVar(&o.RateLimit.Burst, "kube-api-burst", 0, "Maximum burst of requests with --kube-api-qps. Zero means twice --kube-api-qps.")
	return command(cmd, o.complete, func(ctx context.Context) error {
		verbosity, _ := strconv.Atoi(cmd.Flags().Lookup("v").Value.String()) // klog accepts only numbers
		warnings := o.Log.Open(verbosity, o.Streams, o.DryRun)               // a dry run prints its plans to standard output
		defer o.Log.Close()
		return o.Run(ctx, common.factory, warnings)
	})
}

func (o *runControllerOptions) complete(args []string) error {
	if err := noArgs("run-controller", args); err != nil {
		return err
	}
	o.Limits, o.Output = o.limits.Limits, o.output.format
	var err error
	if o.Matches, err = labels.Parse(o.Selector); err != nil {
		return usageErrorf("--selector: %v", err)
	}
	if err := o.Kinds.Complete(o.Streams.In); err != nil {
		return usageErrorf("%w", err)
	}
	switch {
	case o.Once && o.DryRun:
		return usageErrorf("--once and --dry-run cannot be used together")
	case o.Limits.Timeout != 0 && !o.Ends():
		return usageErrorf("--timeout needs --once or --dry-run")
	case o.Output != "" && !o.DryRun:
		return usageErrorf("--output needs --dry-run")
	case o.RateLimit.Qps < 0 || o.RateLimit.Burst < 0:
		return usageErrorf("--kube-api-qps and --kube-api-burst must not be negative")
	case o.RateLimit.Burst > 0 && o.RateLimit.Qps == 0:
		return usageErrorf("--kube-api-burst needs --kube-api-qps")
	}
	for _, address := range []string{o.Serve.Metrics, o.Serve.Health} {
		if _, _, err := net.SplitHostPort(address); run.Served(address) && err != nil {
			return usageErrorf("%q is not an address to serve on: %w", address, err)
		}
	}
	return cmp.Or(o.output.validate(), o.limits.validate(o.Once))
}
