package cmd

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

type waitOptions struct {
	targets targetFlags
	print   objectOutput
	words   []string
	limits  waitFlags

	conditions []observe.Condition
}

func newWaitCommand(common commonOptions) *cobra.Command {
	o := &waitOptions{targets: targetFlags{without: toRead}, words: []string{"ready"}}
	o.limits.Timeout = 30 * time.Second
	var conditions, usages []string
	for _, form := range observe.ConditionForms() {
		conditions = append(conditions, form.Name)
		usages = append(usages, form.Usage)
	}
	cmd := &cobra.Command{
		Use:   "wait (NAME | TYPE/NAME ... | TYPE NAME ... | -l label | --all | -f FILENAME) [--for=" + strings.Join(usages, "|") + "] [--timeout=duration]",
		Short: "Wait until objects are ready or meet a condition",
		Long: `Wait until an ImoocPod (NAME) or other objects (TYPE/NAME) are ready, all at the same
time, or meet a condition of "kubectl wait". A condition that is older than the
current generation of its object does not count. With --for=ready, which is the
default, a pod stands for its owner.

The command exits with code 3 if an object cannot become ready without help (at once
if it is paused or waits for promotion), with code 4 when the timeout is over, and
with code 6 if an object does not exist or is deleted.`,
		Example: `  # Wait until an ImoocPod is ready, for at most two minutes
  kubectl imoocpod wait foo --timeout 2m

  # Wait until all Deployments are ready
  kubectl imoocpod wait deployment --all --timeout 5m

  # Wait until an ImoocPod exists and is ready
  kubectl imoocpod wait foo --for=create --for=ready

  # Wait until a field has a value
  kubectl imoocpod wait foo --for=jsonpath='{.status.readyReplicas}'=3`,
	}
	o.print.addFlags(cmd)
	o.targets.addFlags(cmd)
	addAllNamespacesFlag(cmd, &o.targets.allNamespaces)
	cmd.Flags().StringArrayVar(&o.words, "for", o.words, "What to wait for: "+strings.Join(usages, ", ")+" (can be repeated).")
	completeFlag(cmd, "for", conditions...)
	cmd.Flags().Var(parsed[time.Duration]{&o.limits.Timeout, parseDuration, "duration"}, "timeout", "The length of time to wait before giving up. Zero means check once and don't wait, negative means wait for a week.")
	o.limits.addFlags(cmd)
	return o.targets.command(cmd, common, o.complete, o.run)
}

func (o *waitOptions) complete(args []string) error {
	if err := o.targets.complete(args); err != nil {
		return err
	}
	// An object must exist before it can meet other conditions.
	if i := slices.IndexFunc(o.words, func(word string) bool { return strings.EqualFold(word, "create") }); i > 0 {
		o.words = slices.Insert(slices.Delete(o.words, i, i+1), 0, "create")
	}
	for _, word := range o.words {
		condition, err := observe.ParseCondition(word)
		if err != nil {
			return usageErrorf("--for: %w", err)
		}
		o.conditions = append(o.conditions, condition)
	}
	switch {
	case o.limits.Timeout < 0:
		o.limits.Timeout = 7 * 24 * time.Hour // as in kubectl
	case o.limits.Timeout == 0:
		o.limits.Once, o.limits.FailAfter = true, 0
	}
	o.targets.optional = o.waitsFor("delete")
	return cmp.Or(o.limits.validate(true), o.print.complete())
}

func (o *waitOptions) waitsFor(condition string) bool {
	return slices.ContainsFunc(o.words, func(word string) bool { return strings.EqualFold(word, condition) })
}

func (o *waitOptions) run(ctx context.Context, c *cluster) error {
	targets, errs := o.find(ctx, c)
	if o.waitsFor("ready") {
		targets, errs = c.podOwners(ctx, targets, errs, "waiting for", commandline.Kubectl("wait", "--for=condition=Ready", "pod"))
	}
	if len(targets)+len(errs) == 0 {
		return errNothingFound
	}
	var all []observe.WaitTarget
	for _, t := range targets {
		all = append(all, observe.WaitTarget{Target: t, Conditions: o.conditions})
	}
	reached := func(seen observe.Observation) error {
		met := "condition met"
		if o.targets.allNamespaces && seen.Namespace != "" {
			met += " in namespace " + seen.Namespace
		}
		return printObject(c.streams.Out, o.print.printer, cmp.Or(seen.Object, nameOnly(seen.Target)), met)
	}
	return outcome.Join(append(errs, c.awaitAll(ctx, o.print.format(), o.limits, all, nil, reached)...))
}

// find returns the targets. With --for=create or --for=delete, it does not read named objects, because they
// need not exist. If a NAME is also a type, there must be an ImoocPod with this name.
func (o *waitOptions) find(ctx context.Context, c *cluster) ([]observe.Target, []error) {
	if !o.waitsFor("create") && !o.waitsFor("delete") {
		return o.targets.find(ctx, c)
	}
	if o.targets.namesType(ctx, c) {
		t := observe.Named(kinds.ImoocPod(), c.namespace, o.targets.bareName())
		if err := kube.Explain(t.Kind, t.Read(ctx, c.Dynamic)); noImoocPod(err) {
			return nil, []error{err}
		}
	}
	targets, errs := o.targets.name(ctx, c)
	if len(targets)+len(errs) == 0 {
		targets, errs = o.targets.find(ctx, c)
	}
	if o.waitsFor("delete") {
		errs = slices.DeleteFunc(errs, kube.NotFound)
	}
	return targets, errs
}

func nameOnly(t observe.Target) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(t.Kind.GroupVersionKind())
	obj.SetNamespace(t.Namespace)
	obj.SetName(t.Name)
	return obj
}
