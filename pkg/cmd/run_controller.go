package cmd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/imoocpod/kubectl-imoocpod/pkg/clients"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// defaultWorkers is how many objects are reconciled at the same time: enough
// that one which waits for a slow answer does not hold up the others.
const defaultWorkers = 8

// runControllerOptions says what the loop works on.
type runControllerOptions struct {
	streams       genericiooptions.IOStreams
	log           loopLog
	version       string
	allNamespaces bool
	kinds         loopKinds
	selector      string
	workers       int
	resync        time.Duration
	lease         leaseOptions
	serve         serveOptions
	limit         limitOptions
	once, dryRun  bool
	limits        waitFlags // of one that ends
	clients       *clients.Factory
	output        string // of a dry run

	matches labels.Selector // that selector means
	several bool            // namespaces
	plans   plans
	metrics *controller.Metrics
	health  health
}

func newRunControllerCommand(c *clients.Factory, version string, streams genericiooptions.IOStreams) *cobra.Command {
	o := &runControllerOptions{streams: streams, version: version, workers: defaultWorkers}
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
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(cmd); err != nil {
				return err
			}
			warnings, err := o.log.open(cmd, streams, o.dryRun) // the plans of a dry run have standard output
			if err != nil {
				return err
			}
			defer o.log.close()
			return o.run(cmd.Context(), c, warnings)
		},
	}
	cmd.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "Reconcile the objects of all namespaces.")
	o.kinds.addFlags(cmd)
	cmd.Flags().StringVarP(&o.selector, "selector", "l", "", "Reconcile only objects whose labels match, such as 'team=a,env!=test'. One that no longer matches is left alone, with its pods.")
	cmd.Flags().IntVar(&o.workers, "workers", o.workers, "How many objects are reconciled at the same time.")
	cmd.Flags().DurationVar(&o.resync, "resync", 0, "How often every object is looked at without an event. Zero means never: nothing needs it, as watches that break are taken up again.")
	o.lease.addFlags(cmd)
	o.log.addFlag(cmd)
	o.addOnceFlags(cmd)
	o.serve.addFlags(cmd)
	o.limit.addFlags(cmd)
	return cmd
}

// check refuses what cannot be meant.
func (o *runControllerOptions) check(cmd *cobra.Command) error {
	switch {
	case o.workers < 1:
		return usageErrorf(cmd, "--workers must be 1 or more, not %d", o.workers)
	case o.resync < 0:
		return usageErrorf(cmd, "--resync must not be negative")
	case o.once && o.dryRun:
		return usageErrorf(cmd, "--once and --dry-run cannot be used together: a dry run looks once anyway")
	case o.limits.Timeout != 0 && !o.ends():
		return usageErrorf(cmd, "--timeout needs --once or --dry-run: without, the loop ends at Ctrl-C")
	case o.limits.Timeout < 0:
		return usageErrorf(cmd, "--timeout must not be negative")
	case o.output != "" && !o.dryRun:
		return usageErrorf(cmd, "--output needs --dry-run")
	case o.output != "" && o.output != "json":
		return usageErrorf(cmd, "--output must be \"json\", not %q", o.output)
	}
	if err := o.limits.check(cmd, o.once); err != nil {
		return err
	}
	if err := o.kinds.check(cmd, o.streams.In); err != nil {
		return err
	}
	var err error
	if o.matches, err = labels.Parse(o.selector); err != nil {
		return usageErrorf(cmd, "--selector: %v", err)
	}
	if err := o.limit.check(cmd); err != nil {
		return err
	}
	return o.serve.check(cmd)
}

func (o *runControllerOptions) run(ctx context.Context, c *clients.Factory, warnings io.Writer) error {
	namespaces, err := o.namespaces(c)
	if err != nil {
		return err
	}
	config, err := c.Config()
	if err != nil {
		return err
	}
	c.WaitForServer()
	config.WarningHandler = rest.NewWarningWriter(escape.Writer(warnings), rest.WarningWriterOptions{Deduplicate: true})
	o.clients, o.several = c, len(namespaces) > 1
	o.log.qualified = o.several || o.allNamespaces
	if err := o.announce(c, config.Host, namespaces); err != nil {
		return err
	}
	o.metrics = controller.NewMetrics(o.version)
	o.metrics.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "imoocpod_output_lines_dropped_total", Help: "Lines and log records that were dropped because nobody read them.",
	}, o.log.dropped))
	stop, err := o.serve.serve(ctx, config, o.metrics, &o.health, o.log.say)
	defer stop()
	if err != nil {
		return err
	}
	config.Wrap(o.metrics.Count)
	whole := ctx
	if o.limits.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.limits.Timeout, outcome.ErrTimeout)
		defer cancel()
	}
	err = o.inEach(ctx, namespaces, func(ctx context.Context, namespace string) error {
		return o.runIn(ctx, config, namespace)
	})
	switch {
	case whole.Err() != nil && !o.ends():
		return nil // Ctrl-C is how it is meant to end
	case err == nil && ctx.Err() != nil:
		return fmt.Errorf("wait for the lease: %w", context.Cause(ctx))
	}
	if err == nil && o.dryRun {
		return o.printPlans()
	}
	return err
}

// namespaces lists where to reconcile: the empty one stands for all.
func (o *runControllerOptions) namespaces(c *clients.Factory) ([]string, error) {
	named, _, err := c.Namespace()
	if err != nil || o.allNamespaces {
		return []string{metav1.NamespaceAll}, err
	}
	list := strings.Split(named, ",")
	for _, name := range list {
		// Above all no empty one, which would mean all.
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return nil, fmt.Errorf("invalid namespace %q: %s", name, problems[0])
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// runIn reconciles in a namespace, or in all.
func (o *runControllerOptions) runIn(ctx context.Context, config *rest.Config, namespace string) error {
	core, err := clients.CoreFor(config)
	if err != nil {
		return err
	}
	if err := checkNamespace(ctx, core, namespace); err != nil {
		return err
	}
	if o.dryRun {
		return o.work(ctx, readOnly(config), namespace, false)
	}
	o.health.waits(namespace, "waiting for the lease")
	self := controller.ThisProcess(o.version, o.scope(namespace))
	return o.lease.hold(ctx, config, self, o.metrics, o.sayOf(namespace), func(ctx context.Context, config *rest.Config, resumed bool) error {
		return o.work(ctx, config, namespace, resumed)
	})
}

// work runs a loop until the context ends, or until there is nothing to do. One
// that resumes waits for what is missing.
func (o *runControllerOptions) work(ctx context.Context, config *rest.Config, namespace string, resumed bool) error {
	config = o.limit.apply(config)
	dynamic, err := clients.DynamicFor(config)
	if err != nil {
		return err
	}
	core, err := clients.CoreFor(config)
	if err != nil {
		return err
	}
	loop, err := controller.New(controller.Options{
		Dynamic:   dynamic,
		Core:      core,
		Kinds:     o.kinds.known,
		Declared:  o.kinds.declarations(),
		Selector:  o.matches,
		Namespace: namespace,
		Workers:   o.workers,
		DryRun:    o.dryRun,
		Resumed:   resumed,
		Metrics:   o.metrics,
		Resync:    o.resync,
		Say:       o.log.line,
	})
	if err != nil {
		return err
	}
	o.health.works(namespace, loop)
	defer o.health.waits(namespace, "waiting for the lease")
	if o.ends() {
		return o.settle(ctx, loop, namespace)
	}
	return loop.Run(ctx)
}

// scope is what a loop in a namespace reconciles.
func (o *runControllerOptions) scope(namespace string) status.Scope {
	scope := status.Scope{Namespace: namespace, Selector: o.matches.String()}
	o.kinds.scope(&scope)
	return scope
}

// sayOf takes lines about a namespace.
func (o *runControllerOptions) sayOf(namespace string) func(string, ...any) {
	return func(format string, args ...any) {
		o.log.line(controller.Line{Text: fmt.Sprintf(format, args...), Namespace: namespace})
	}
}

// checkNamespace says when a namespace is not there: nothing would ever happen
// in one that is misspelled. Who may not look is let pass.
func checkNamespace(ctx context.Context, core corev1client.CoreV1Interface, namespace string) error {
	if namespace == metav1.NamespaceAll {
		return nil
	}
	_, err := core.Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// announce says at once what the loop will act on.
func (o *runControllerOptions) announce(c *clients.Factory, server string, namespaces []string) error {
	if o.dryRun {
		return nil // what is printed are the plans
	}
	raw, err := c.Kubeconfig()
	if err != nil {
		return err
	}
	current := raw.CurrentContext
	if given := *c.Flags.Context; given != "" {
		current = given
	}
	where := "all namespaces"
	switch {
	case len(namespaces) > 1:
		where = "namespaces " + strings.Join(namespaces, ", ")
	case namespaces[0] != metav1.NamespaceAll:
		where = "namespace " + namespaces[0]
	}
	if current != "" { // in a pod there is none
		where += fmt.Sprintf(" of context %q", current)
	}
	o.log.say("Reconciling %s in %s at %s. Stop with Ctrl-C.", &o.kinds, where, server)
	return nil
}
