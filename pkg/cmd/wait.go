package cmd

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// aWeek is what kubectl takes a negative time-out for.
const aWeek = 168 * time.Hour

// waitOptions says what to wait for.
type waitOptions struct {
	streams genericiooptions.IOStreams
	print   *genericclioptions.PrintFlags

	targets targetFlags
	args    []string
	goals   []string
	limits  waitFlags
}

func newWaitCommand(c *clients, streams genericiooptions.IOStreams) *cobra.Command {
	o := &waitOptions{streams: streams, print: genericclioptions.NewPrintFlags("condition met"), goals: []string{"ready"}, limits: waitFlags{timeout: 30 * time.Second}}
	cmd := &cobra.Command{
		Use:   "wait (NAME | TYPE/NAME ... | TYPE NAME ... | -f FILENAME) [--for=ready|create|delete|condition=NAME[=VALUE]|jsonpath=EXPRESSION[=VALUE]] [--timeout=duration]",
		Short: "Wait until objects are ready, or as is said",
		Long: `Wait until an ImoocPod (NAME) or other objects (TYPE/NAME, or what else kubectl
takes) are ready: all of them, at the same time. Or for what "kubectl wait" waits
for. A condition counts only if it is of the object as it is now.

It ends with code 3 when an object will not become ready without help (see
--fail-after), 4 when the time is over, 6 when there is no such object, or not any
more. With --for=create there need not be one yet.`,
		Example: `  # Until an ImoocPod is ready, for two minutes
  kubectl imoocpod wait foo --timeout 2m

  # Until all Deployments are
  kubectl imoocpod wait deployment --all --timeout 5m

  # Until somebody has made it, and it is ready
  kubectl imoocpod wait foo --for=create --for=ready

  # Until it is gone
  kubectl imoocpod wait foo --for=delete

  # Until a field has a value
  kubectl imoocpod wait foo --for=jsonpath='{.status.readyReplicas}'=3`,
		Args: func(cmd *cobra.Command, args []string) error {
			o.args = args
			return o.targets.check(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			// What is not there yet is waited for first.
			slices.SortStableFunc(o.goals, func(a, b string) int { return cmp.Compare(order(a), order(b)) })
			var goals []func() goal
			for _, word := range o.goals {
				g, err := parseGoal(word)
				if err != nil {
					return usageErrorf(cmd, "--for: %w", err)
				}
				goals = append(goals, g)
			}
			if err := o.limits.check(cmd, true); err != nil {
				return err
			}
			return o.run(cmd.Context(), c, goals)
		},
	}
	o.print.AddFlags(cmd)
	o.targets.addFlags(cmd)
	cmd.Flags().BoolVarP(&o.targets.allNamespaces, "all-namespaces", "A", false, "If present, wait for the objects of all namespaces.")
	cmd.Flags().StringArrayVar(&o.goals, "for", o.goals, "What to wait for: ready, create, delete, condition=NAME[=VALUE] (true, if none is given; case does not matter) or jsonpath=EXPRESSION[=VALUE]. May be given several times: one after the other, create first.")
	cmd.Flags().DurationVar(&o.limits.timeout, "timeout", o.limits.timeout, "The length of time to wait before giving up. Zero means check once and don't wait, negative means wait for a week.")
	o.limits.addFlags(cmd)
	return cmd
}

// waitsFor reports whether one of the goals is this one.
func (o *waitOptions) waitsFor(goal string) bool {
	return slices.ContainsFunc(o.goals, func(word string) bool { return strings.EqualFold(word, goal) })
}

func (o *waitOptions) run(ctx context.Context, c *clients, goals []func() goal) error {
	printer, err := linePrinter(o.print)
	if err != nil {
		return &UsageError{Command: name + " wait", Err: err}
	}
	targets, errs := o.find(ctx, c)
	if len(targets)+len(errs) == 0 {
		return errors.New("no matching resources found")
	}
	switch {
	case o.limits.timeout < 0:
		o.limits.timeout = aWeek
	case o.limits.timeout == 0:
		o.limits.once = true
	}
	var all []awaited
	for _, t := range targets {
		w := awaited{target: t, reached: func(s sight) error {
			obj := s.obj
			if obj == nil {
				obj = nameOnly(t)
			}
			return printer.PrintObj(obj, o.streams.Out)
		}}
		for _, g := range goals {
			w.goals = append(w.goals, g())
		}
		all = append(all, w)
	}
	return together(append(errs, awaitAll(ctx, c, o.streams, "", o.limits, all)...))
}

// order puts create before all others.
func order(goal string) int {
	if strings.EqualFold(goal, "create") {
		return 0
	}
	return 1
}

// find names the targets. What may not be there is not asked for.
func (o *waitOptions) find(ctx context.Context, c *clients) ([]target, []error) {
	if !o.waitsFor("create") && !o.waitsFor("delete") {
		return o.targets.find(ctx, c, o.args)
	}
	targets, errs := o.targets.name(ctx, c, o.args)
	if len(targets)+len(errs) == 0 {
		targets, errs = o.targets.find(ctx, c, o.args)
	}
	if o.waitsFor("delete") {
		errs = slices.DeleteFunc(errs, func(err error) bool { return apierrors.IsNotFound(err) && !notServed(err) })
	}
	return targets, errs
}

// nameOnly is an object of which the name alone is known.
func nameOnly(t target) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(t.kind.GroupVersionKind())
	obj.SetNamespace(t.namespace)
	obj.SetName(t.name)
	return obj
}
