package cmd

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
)

// maxParallel is the maximum number of kinds or objects that are read in parallel.
const maxParallel = 8

type kindsOptions struct {
	common commonOptions
	print  objectOutput
	// types holds the types on the command line. If it is empty, all types are listed.
	types []string
	// nearest returns the subcommands that are similar to a misspelled word.
	nearest func(word string) []string

	write   func(io.Writer, []*printer.Kind) error
	cluster *cluster
}

func newKindsCommand(common commonOptions) *cobra.Command {
	o := &kindsOptions{common: common}
	cmd := &cobra.Command{
		Use:   "kinds [TYPE ...] [--output=wide|json|yaml|name|...]",
		Short: "List the resource types that have a replica count",
		Long: `List every resource type in the cluster that has a replica count. The columns show
the replica field, the source that names it, whether you can scale the type, how
many objects exist, and whether "run-controller" can reconcile the type. A question
mark means a guess; no command writes to it. "(+1)" means that there is another such
field, which -o wide shows.

For a TYPE, -o yaml and -o json also show which fields of the status the verdict of
"status" uses, which rules lead to it, and which annotations of the CRD change
that.`,
		Example: `  # List all types
  kubectl imoocpod kinds

  # List all types with every candidate for the replica field
  kubectl imoocpod kinds -o wide

  # Show how the verdict for a Deployment is made
  kubectl imoocpod kinds deployment -o yaml`,
		SuggestionsMinimumDistance: 2,
	}
	o.print.addFlags(cmd, "custom-columns", "wide")
	cmd.AddCommand(newKindsNewCommand(common), newKindsRBACCommand(common))
	o.nearest = cmd.SuggestionsFor
	return command(cmd, o.complete, o.run)
}

func (o *kindsOptions) complete(args []string) (err error) {
	o.types = args
	table := func(w io.Writer, rows []*printer.Kind) error {
		return printer.Kinds(w, rows, o.print.format() == "wide")
	}
	name := func(k *printer.Kind) string { return strings.TrimSuffix(k.Resource+"."+k.Group, ".") }
	single := func() bool { return len(o.types) == 1 }
	o.write, err = listWriter(&o.print, false, table, name, single, map[string]any{"apiVersion": "imoocpod.dev/v1alpha1", "kind": "KindList"})
	return err
}

func (o *kindsOptions) run(ctx context.Context) error {
	var err error
	if o.cluster, err = o.common.connect(); err != nil {
		return err
	}
	o.cluster.Finder.Invalidate() // the CRD may have been created just now
	kinds, groupsErr := o.kinds(ctx)
	if len(kinds) == 0 && groupsErr != nil {
		return groupsErr
	}
	slow := time.AfterFunc(3*time.Second, func() { o.common.printErrf("reading %d types from the server", len(kinds)) })
	defer slow.Stop()
	rows := make([]*printer.Kind, len(kinds))
	workqueue.ParallelizeUntil(ctx, maxParallel, len(kinds), func(i int) { rows[i] = o.row(ctx, kinds[i]) })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	rows = slices.DeleteFunc(rows, func(k *printer.Kind) bool { return k == nil })
	err = outcome.Join([]error{o.write(o.common.streams.Out, rows), groupsErr})
	for _, row := range rows {
		if row.Error != "" {
			o.common.printErrf("Warning: %s", row.Error)
		}
	}
	return err
}

// kinds returns the kinds in types, or all kinds if types is empty. On error, the list may be incomplete.
func (o *kindsOptions) kinds(ctx context.Context) ([]kinds.Kind, error) {
	if len(o.types) == 0 {
		return o.cluster.Finder.Kinds()
	}
	list, errs := each(o.types, nil, func(word string) (kinds.Kind, error) {
		kind, err := o.cluster.KindNamed(ctx, word)
		if errors.As(err, new(*outcome.UnknownTypeError)) {
			err = usageErrorf("unknown command %q for %q, and the server has no such resource type%s", word, programName+" kinds", outcome.DidYouMean(o.nearest(word)))
		}
		return kind, err
	})
	return list, outcome.Join(errs)
}

// statusFacts adds other replica counts of a kind to its row and, if types are named, the rules for status verdicts.
func (o *kindsOptions) statusFacts(ctx context.Context, kind kinds.Kind, count *fieldpath.Path, row *printer.Kind) {
	known, err := observe.StatusFacts(ctx, o.cluster.Finder, kind, count)
	if err != nil {
		row.Wrong = append(row.Wrong, err.Error())
		return
	}
	row.OtherCounts = known.OtherCounts
	if len(o.types) > 0 {
		row.Status = struct {
			facts.Facts
			Rules []string `json:"rules"`
		}{known, known.Rules()}
	}
}

// row returns the row of one kind, or nil if the kind has no replica count and was not named.
func (o *kindsOptions) row(ctx context.Context, kind kinds.Kind) *printer.Kind {
	byName := len(o.types) > 0
	kind, wrong := o.cluster.Finder.Declare(ctx, kind)
	field, err := o.cluster.Finder.Find(ctx, kind, nil, nil)
	unknown, is := errors.AsType[*discover.UnknownFieldError](err)
	none := is && len(unknown.Candidates) == 0
	if none && !byName {
		return nil
	}
	row := &printer.Kind{
		Kind: kind.Kind, Group: kind.Resource.Group, Version: kind.Resource.Version, Resource: kind.Resource.Resource,
		Reconciled: kind.Reconciled(), Objects: countOf(ctx, o.cluster.Dynamic.Resource(kind.Resource)),
	}
	if declaration, is := errors.AsType[*kinds.DeclarationError](wrong); is {
		row.Wrong = declaration.Problems
	}
	if !kind.Reconciled() && (byName || err == nil) { // a declaration defines these facts
		o.statusFacts(ctx, kind, field.Path, row)
	}
	right := authorizationv1.ResourceAttributes{
		Namespace: observe.Named(kind, o.cluster.namespace, "").Namespace,
		Verb:      "patch", Group: kind.Resource.Group, Resource: kind.Resource.Resource,
	}
	switch {
	case none:
		row.Found, row.MayScale = "none", new(false)
		return row
	case err == nil:
		row.Field, row.Found = field.String(), field.Found
		if field.Scale {
			right.Subresource = "scale"
		}
	case errors.Is(err, discover.ErrPerNode):
		row.Found, row.MayScale = "one per node", new(false)
		return row
	case is:
		row.Found = "guess"
		for _, candidate := range unknown.Candidates {
			row.Candidates = append(row.Candidates, candidate.Path.String())
		}
	default:
		row.Found, row.Error = "unknown", err.Error()
	}
	row.MayScale = o.cluster.Allowed(ctx, right)
	return row
}

// countOf returns the number of objects of a kind in all namespaces, or nil if the list fails.
func countOf(ctx context.Context, objects dynamic.ResourceInterface) *int64 {
	list, err := objects.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil
	}
	return new(int64(len(list.Items)) + ptr.Deref(list.GetRemainingItemCount(), 0))
}
