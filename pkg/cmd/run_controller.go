package cmd

import (
	"context"
	"net"
	"strconv"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/clients"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/runner"
)

// runControllerOptions says what the loop works on.
type runControllerOptions struct {
	runner.Options
	clients *clients.Factory
	limits  waitFlags // of a loop that ends
	output  *output   // of a dry run
	// verbosity is klog's -v.
	verbosity func() string
}

func newRunControllerCommand(c *clients.Factory, version string, streams genericiooptions.IOStreams) *cobra.Command {
	o := &runControllerOptions{clients: c, Options: runner.Options{Streams: streams, Version: version, Workers: runner.DefaultWorkers}}
	cmd := &cobra.Command{
		Use:   "run-controller [--namespace=NAMESPACE[,NAMESPACE…] | --all-namespaces] [--once | --dry-run] [flags]",
		Short: "Run the controller here, in the foreground, until Ctrl-C",
		Long: `Run the controller here, in the foreground, against the current context. It makes
and removes the pods and Deployments of ImoocPods, AppServices, HelloWorlds and
MyDaemonSets until Ctrl-C; the objects and their pods stay.
It may be stopped or killed at any moment: the next one goes on where it was.

A lease lets one loop work at a time in a namespace, or in all of them. A second
one says who has it, and waits. It is given up at Ctrl-C, and taken over at once
from a loop that was killed on this machine.

With --once it ends when every object has what it asks for (exit code 0), when
those that have not will not get it without help (3), or after --timeout (4).
With --dry-run it prints what it would do, and writes nothing: no pod, no
status, no event, no lease.

The four kinds that this program ships are reconciled where they are installed;
--kinds and --selector leave out some. With --declared-kinds so is every kind whose
CRD says by annotations how ("kubectl imoocpod kinds new" makes such CRDs), with
--kinds those that are named. A CRD that is installed or annotated later is taken
up then.

With -n and several namespaces each has a loop and a lease of its own. One in
which rights are missing is tried again later and does not stop the others.`,
		Example: `  # Reconcile the objects of the current namespace
  kubectl imoocpod run-controller

  # Reconcile those of all namespaces
  kubectl imoocpod run-controller -A

  # Reconcile those of two namespaces
  kubectl imoocpod run-controller -n team-a,team-b

  # Reconcile AppServices and HelloWorlds only, and of these only a team's
  kubectl imoocpod run-controller --kinds appservices,helloworlds -l team=a

  # Reconcile what CRDs declare, too, or one such kind alone
  kubectl imoocpod run-controller --declared-kinds
  kubectl imoocpod run-controller --kinds widgets.example.com

  # In a script: until all is as wanted, or fail after five minutes
  kubectl imoocpod run-controller --once --timeout 5m

  # Show what would be done, and do nothing
  kubectl imoocpod run-controller --dry-run

  # Fail, with exit code 7, if another loop does so already
  kubectl imoocpod run-controller --if-held=exit`,
	}
	cmd.Flags().BoolVarP(&o.AllNamespaces, "all-namespaces", "A", false, "Reconcile the objects of all namespaces.")
	addKindFlags(cmd, &o.Kinds)
	cmd.Flags().StringVarP(&o.Selector, "selector", "l", "", "Reconcile only objects whose labels match, such as 'team=a,env!=test'. One that no longer matches is left alone, with its pods.")
	cmd.Flags().IntVar(&o.Workers, "workers", o.Workers, "How many objects are reconciled at the same time.")
	cmd.Flags().DurationVar(&o.Resync, "resync", 0, "How often every object is looked at without an event. Zero means never: nothing needs it, as watches that break are taken up again.")
	addLeaseFlags(cmd, &o.Lease)
	addLogFlag(cmd, &o.Log)
	o.addOnceFlags(cmd)
	addServeFlags(cmd, &o.Serve)
	addLimitFlags(cmd, &o.RateLimit)
	o.verbosity = func() string { return cmd.Flags().Lookup("v").Value.String() }
	return bind(cmd, o)
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
	return nil
}

func (o *runControllerOptions) validate() error {
	switch {
	case o.Workers < 1:
		return usageErrorf("--workers must be 1 or more, not %d", o.Workers)
	case o.Resync < 0:
		return usageErrorf("--resync must not be negative")
	case o.Once && o.DryRun:
		return usageErrorf("--once and --dry-run cannot be used together: a dry run looks once anyway")
	case o.Limits.Timeout != 0 && !o.Ends():
		return usageErrorf("--timeout needs --once or --dry-run: without, the loop ends at Ctrl-C")
	case o.Limits.Timeout < 0:
		return usageErrorf("--timeout must not be negative")
	case o.Output != "" && !o.DryRun:
		return usageErrorf("--output needs --dry-run")
	case o.Output != "" && o.Output != "json":
		return usageErrorf("--output must be \"json\", not %q", o.Output)
	}
	if err := o.limits.validate(o.Once); err != nil {
		return err
	}
	if err := validateRateLimit(o.RateLimit); err != nil {
		return err
	}
	return validateServing(o.Serve)
}

// Run runs the controller.
func (o *runControllerOptions) Run(ctx context.Context) error {
	verbosity, err := strconv.Atoi(o.verbosity())
	if err != nil {
		return err
	}
	warnings := o.Log.Open(verbosity, o.Streams, o.DryRun) // the plans of a dry run have standard output
	defer o.Log.Close()
	return o.Options.Run(ctx, o.clients, warnings)
}

func addLeaseFlags(cmd *cobra.Command, o *runner.Lease) {
	o.IfHeld = "wait"
	cmd.Flags().BoolVar(&o.Elect, "leader-elect", true, "If true, work only while no other loop of the same scope does, by a lease. Without, two loops do no harm, but do the same work; it is for debugging.")
	addChoice(cmd, &o.IfHeld, "if-held", "What to do while another loop has the lease. Must be %s.", "wait", "exit")
}

func addLimitFlags(cmd *cobra.Command, o *runner.RateLimit) {
	cmd.Flags().Float32Var(&o.Qps, "kube-api-qps", 0, "How many requests to send in a second, in the long run, for each namespace and without the lease's. Zero means no limit here: the server's priority and fairness protects it, and knows better how much it can take.")
	cmd.Flags().IntVar(&o.Burst, "kube-api-burst", 0, "With --kube-api-qps: how many requests to send at once. Zero means twice as many as in a second.")
}

func validateRateLimit(o runner.RateLimit) error {
	switch {
	case o.Qps < 0 || o.Burst < 0:
		return usageErrorf("--kube-api-qps and --kube-api-burst must not be negative")
	case o.Burst > 0 && o.Qps == 0:
		return usageErrorf("--kube-api-burst needs --kube-api-qps")
	}
	return nil
}

func addLogFlag(cmd *cobra.Command, l *runner.Log) {
	l.Format = "human"
	addChoice(cmd, &l.Format, "log-format", `How to say what is done: "human" is a line for each thing, on standard output; "text" and "json" are records with time, kind, namespace, name and the number of the reconcile, on standard error, together with what -v asks for.`, "human", "text", "json")
}

func addServeFlags(cmd *cobra.Command, o *runner.Serving) {
	cmd.Flags().StringVar(&o.Metrics, "metrics-bind-address", "", `Where to serve /metrics, such as ":8080"; empty or "0" means nowhere. Without a host only this machine can reach it (loopback); "0.0.0.0:8080" is for all.`)
	cmd.Flags().StringVar(&o.Health, "health-probe-bind-address", "", `Where to serve /healthz and /readyz, such as ":8081"; likewise.`)
	cmd.Flags().BoolVar(&o.Secure, "metrics-secure", false, "Serve metrics by TLS, to those alone whose token the API server knows (TokenReview) and who may get the path /metrics (SubjectAccessReview).")
	cmd.Flags().StringVar(&o.CertFile, "metrics-cert-file", "", "With --metrics-secure: the certificate to serve with, read again when it changes. Empty means one that is made at the start.")
	cmd.Flags().StringVar(&o.KeyFile, "metrics-key-file", "", "With --metrics-secure: the private key of --metrics-cert-file.")
}

func validateServing(o runner.Serving) error {
	for _, address := range []string{o.Metrics, o.Health} {
		if _, _, err := net.SplitHostPort(address); runner.Served(address) && err != nil {
			return usageErrorf("%q is no address to serve on: %w", address, err)
		}
	}
	switch {
	case o.Secure && !runner.Served(o.Metrics):
		return usageErrorf("--metrics-secure needs --metrics-bind-address")
	case (o.CertFile != "" || o.KeyFile != "") && !o.Secure:
		return usageErrorf("--metrics-cert-file and --metrics-key-file need --metrics-secure")
	case (o.CertFile == "") != (o.KeyFile == ""):
		return usageErrorf("--metrics-cert-file and --metrics-key-file need each other")
	}
	return nil
}

func addKindFlags(cmd *cobra.Command, k *runner.Kinds) {
	cmd.Flags().StringSliceVar(&k.Words, "kinds", nil, "Reconcile only these kinds, such as 'imoocpods,appservice'. All that this program ships by default. A kind that its CRD declares is named with its group, such as 'widgets.example.com'.")
	var shipped []string
	for _, kind := range kinds.Shipped() {
		shipped = append(shipped, kind.Resource.Resource)
	}
	completeFlag(cmd, "kinds", shipped...)
	cmd.Flags().BoolVar(&k.Declared, "declared-kinds", false, "Reconcile also every kind that a CRD in the cluster declares, now or later. Who may write CRDs then says what is made with the rights of this loop.")
	cmd.Flags().StringSliceVar(&k.Files, "kind-file", nil, "A file with CRDs, whose declarations are taken from there and not from the cluster. '-' reads standard input.")
}

func (o *runControllerOptions) addOnceFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.Once, "once", false, "Reconcile until every object has what it asks for, and exit.")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "Print what would be done for every object, and change nothing.")
	cmd.Flags().DurationVar(&o.limits.Timeout, "timeout", 0, "With --once or --dry-run: how long to go on before giving up, such as 5m. Zero means for ever.")
	o.limits.addFlags(cmd)
	o.output = addOutputFlag(cmd, "With --dry-run: the output format. One of: (%s). Empty means text.", "json")
}
