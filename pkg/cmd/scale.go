package cmd

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/replicas"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
)

type scaleOptions struct {
	change changeFlags
	count  replicas.Request
	path   *fieldpath.Path
	// group selects one of several groups of pods. It is an alternative to path.
	group string
	steps stepFlags
	yes   bool
	given func(flag string) bool
}

func newScaleCommand(common commonOptions) *cobra.Command {
	o := &scaleOptions{change: newChangeFlags(common, "scaled"), count: replicas.Request{Current: replicas.AnyCount}}
	cmd := &cobra.Command{
		Use:   "scale (NAME | TYPE/NAME ... | TYPE NAME ... | -f FILENAME) (--replicas=COUNT | --by=CHANGE | --remove=POD | --undo) [flags]",
		Short: "Set a new number of replicas",
		Long: `Set the number of replicas of an ImoocPod (NAME) or of any resource that has a
replica count (TYPE/NAME). If neither the type nor --replicas-path names the replica
field, the command changes nothing, and lists the possible fields.

With --step, each step begins when the pods of the last one are ready, or gone on the
way down. If a step fails, the command stops there, or goes back to where it began
with --on-failure=revert. It refuses a step that would break a PodDisruptionBudget.
See docs/scaling.md.`,
		Example: `  # Scale to three and wait until all are ready, for at most a minute
  kubectl imoocpod scale foo --replicas 3 --timeout 1m

  # Add half of the current count
  kubectl imoocpod scale deployment/web --by 50%

  # Remove one pod and no other
  kubectl imoocpod scale foo --remove foo-f4e4e66e-1

  # Scale to forty in steps of ten, and go back if the pods do not become ready
  kubectl imoocpod scale deployment/web --replicas 40 --step 10 --on-failure=revert`,
	}
	o.change.addFlags(cmd)
	cmd.Flags().VarP(numberFlag(&o.count.Replicas, 0), "replicas", "r", "The desired number of replicas.")
	cmd.Flags().Var(optional(&o.count.By, candidates.ParseCountChange, "change"), "by", "Change the number of replicas by +2, -1, 50% or -50%, for example.")
	cmd.Flags().StringSliceVar(&o.count.Remove, "remove", nil, "Pods to remove, as NAME or pod/NAME. The number of replicas goes down by as many.")
	cmd.Flags().BoolVar(&o.count.Undo, "undo", false, "Return to the number of replicas before the last change by this command, if nobody has changed it since. Only for kinds that run-controller reconciles.")
	cmd.Flags().BoolVar(&o.count.Reuse, "reuse", false, "Scale up into the slots of pods that --remove removed.")
	addReplicasPathFlag(cmd, &o.path)
	cmd.Flags().StringVar(&o.group, "group", "", "Group of pods to scale, in a resource that has several: the key of a list element, or the name of a field.")
	cmd.Flags().Var(numberFlag(&o.count.Current, replicas.AnyCount), "current-replicas", "Scale only if this is the current number of replicas. -1 (default) for no condition.")
	cmd.Flags().StringVar(&o.count.ResourceVersion, "resource-version", "", "Scale only if this is the current resource version.")
	o.steps.addFlags(cmd)
	addYesFlag(cmd, &o.yes)
	o.given = cmd.Flags().Changed
	return o.change.targets.command(cmd, common, o.complete, o.run)
}

func (o *scaleOptions) complete(args []string) error {
	removes := len(o.count.Remove) > 0
	err := cmp.Or(
		o.apart(removes, "remove", "replicas", "by", "reuse", "group", "replicas-path"),
		o.apart(o.count.Undo, "undo", "replicas", "by", "remove", "reuse", "step"),
		o.apart(o.given("replicas"), "replicas", "by"),
		o.apart(o.group != "", "group", "replicas-path"),
		o.apart(o.count.Reuse, "reuse", "group", "replicas-path"),
		o.apart(o.steps.given(), "step", "remove", "reuse", "resource-version"),
		validateRemoved(o.count.Remove),
	)
	version := o.count.ResourceVersion
	_, notNumber := strconv.ParseUint(version, 10, 64)
	switch {
	case err != nil:
		return err
	case !o.given("replicas") && o.count.By == nil && !removes && !o.count.Undo:
		return usageErrorf("--replicas, --by, --remove or --undo is required")
	case version != "" && notNumber != nil:
		return usageErrorf("--resource-version must be the metadata.resourceVersion of the object, a whole number, not %q", version)
	case !o.steps.given() && o.given("parallel"):
		return usageErrorf("--parallel needs --step")
	case !o.steps.given() && o.given("ignore-budgets"):
		return usageErrorf("--ignore-budgets needs --step")
	}
	o.change.impliesWait = o.steps.given()
	return o.change.complete(args)
}

// apart returns a usage error if the flag is set together with one of the others.
func (o *scaleOptions) apart(set bool, flag string, others ...string) error {
	for _, other := range others {
		if set && o.given(other) {
			return usageErrorf("--%s and --%s cannot be used together", flag, other)
		}
	}
	return nil
}

// validateRemoved rejects invalid and duplicate names of pods. It trims the prefix "pod/", which "-o name" prints.
func validateRemoved(pods []string) error {
	for i := range pods {
		pods[i] = strings.TrimPrefix(pods[i], "pod/")
		pod := pods[i]
		if problem := apis.NameProblem(pod); problem != "" {
			return usageErrorf("invalid pod name %q: %s", pod, problem)
		}
		if slices.Contains(pods[:i], pod) {
			return usageErrorf("--remove names pod %s twice", pod)
		}
	}
	return nil
}

func (o *scaleOptions) run(ctx context.Context, on *cluster) error {
	c := newChanger(ctx, on, &o.change)
	// With -o json, print reports only with --wait, and not if another flag, such as --timeout, implies the wait.
	if !o.change.wait {
		c.reports = ""
	}
	targets, errs := o.change.targets.find(ctx, on)
	switch {
	case len(targets) > 1 && o.count.ResourceVersion != "":
		return outcome.Join(append(errs, usageErrorf("--resource-version can only be used for one object")))
	case len(targets) > 1 && len(o.count.Remove) > 0:
		return outcome.Join(append(errs, usageErrorf("--remove can only be used for one object")))
	}
	found, errs := each(targets, errs, func(t observe.Target) (*located, error) {
		l, err := o.locate(ctx, c, &t)
		return l, kube.Explain(t.Kind, err)
	})
	if agreed, err := c.confirm(o.counts(found), o.yes); err != nil || !agreed {
		return outcome.Join(append(errs, err))
	}
	if len(errs) > 0 && o.steps.given() && !o.steps.parallel {
		return outcome.Join(errs)
	}
	if o.steps.given() && o.change.dryRun == "none" {
		return outcome.Join(append(errs, o.scaleInSteps(ctx, c, found)...))
	}
	return makeAll(ctx, c, found, errs, func(l *located) (*change, error) {
		made, err := o.scale(ctx, c, l)
		return made, kube.Explain(l.target.Kind, err)
	})
}

// counts returns the replica counts of objects before and after the change, if they are known.
func (o *scaleOptions) counts(found []*located) []printer.CountChange {
	var changes []printer.CountChange
	for _, l := range found {
		change := printer.CountChange{Namespace: l.target.Namespace, Name: l.target.String(), Before: replicas.Before(l.target.Object, l.field.Path)}
		request, err := o.request(l)
		if err == nil && change.Before != nil {
			request.Replicas, err = request.From(*l.target, int64(*change.Before))
		}
		if err != nil {
			continue // the change itself will return this error
		}
		if change.Before != nil || o.count.By == nil {
			change.After = &request.Replicas
		}
		changes = append(changes, change)
	}
	return changes
}
