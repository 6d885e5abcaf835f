package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/printer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/replica"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// surveyors is how many kinds are asked about at the same time.
const surveyors = 8

// kindsOptions says how to list the kinds.
type kindsOptions struct {
	streams genericiooptions.IOStreams
	output  string
}

func newKindsCommand(c *clients, streams genericiooptions.IOStreams) *cobra.Command {
	o := &kindsOptions{streams: streams}
	cmd := &cobra.Command{
		Use:   "kinds [--output=wide|json]",
		Short: "List the resource types that carry a replica count",
		Long: `List every resource type in the cluster that carries a replica count: where the
count is and how that was found, whether you may scale it, how many objects there
are, and whether "run-controller" can reconcile it. A field with a question mark
is the likeliest guess; a guess is never written.`,
		Example: `  # All of them
  kubectl imoocpod kinds

  # With all fields that could be meant
  kubectl imoocpod kinds -o wide`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains([]string{"", "wide", "json"}, o.output) {
				return usageErrorf(cmd, "unknown output format %q: must be wide or json", o.output)
			}
			return o.run(cmd.Context(), c)
		},
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "One of 'wide' or 'json'.")
	return cmd
}

func (o *kindsOptions) run(ctx context.Context, c *clients) error {
	finder, err := c.finder()
	if err != nil {
		return err
	}
	finder.Discovery.Invalidate() // a CRD of a minute ago is what people look for
	kinds, groupsErr := finder.Kinds()
	if len(kinds) == 0 && groupsErr != nil {
		return groupsErr
	}
	namespace, _, err := c.namespace()
	if err != nil {
		return err
	}
	rows := make([]*printer.Kind, len(kinds))
	todo := make(chan int)
	var running sync.WaitGroup
	for range surveyors {
		running.Go(func() {
			for i := range todo {
				rows[i] = surveyKind(ctx, finder, kinds[i], namespace)
			}
		})
	}
	for i := range kinds {
		todo <- i
	}
	close(todo)
	running.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	rows = slices.DeleteFunc(rows, func(k *printer.Kind) bool { return k == nil })
	if o.output == "json" {
		err = o.printJSON(rows)
	} else {
		err = printer.Kinds(o.streams.Out, rows, o.output == "wide")
	}
	return together([]error{err, groupsErr})
}

func (o *kindsOptions) printJSON(rows []*printer.Kind) error {
	text, err := json.MarshalIndent(map[string]any{"apiVersion": "imoocpod.dev/v1alpha1", "kind": "KindList", "items": rows}, "", "  ")
	if err != nil {
		return fmt.Errorf("print the kinds: %w", err)
	}
	_, err = fmt.Fprintf(o.streams.Out, "%s\n", text)
	return err
}

// surveyKind finds out about one kind; nil means that it carries no count.
func surveyKind(ctx context.Context, finder *replica.Finder, kind replica.Kind, namespace string) *printer.Kind {
	finding := finder.Survey(ctx, kind)
	if finding.Field == nil && len(finding.Candidates) == 0 && !finding.PerNode && finding.Err == nil {
		return nil
	}
	row := &printer.Kind{
		Kind: kind.Kind, Group: kind.Resource.Group, Version: kind.Resource.Version, Resource: kind.Resource.Resource,
		Reconciled: kind.Reconciled(), Objects: countOf(ctx, finder.Dynamic.Resource(kind.Resource)),
	}
	subresource := ""
	switch {
	case finding.Err != nil:
		row.Found = finding.Err.Error()
	case finding.Field != nil:
		row.Field, row.Found = finding.Field.String(), finding.Field.Found
		if finding.Field.Scale {
			subresource = "scale"
		}
	case finding.PerNode:
		row.Found, row.MayScale = "one per node", new(false)
		return row
	default:
		row.Found = "guess"
		for _, candidate := range finding.Candidates {
			row.Candidates = append(row.Candidates, candidate.Path)
		}
	}
	right := status.Right{Verb: "patch", Group: kind.Resource.Group, Resource: kind.Resource.Resource, Subresource: subresource, Clusterwide: kind.Clusterwide}
	row.MayScale = may(ctx, finder.Dynamic, right, namespace)
	return row
}

// countOf counts the objects of a kind in all namespaces, nil if that may not
// be known.
func countOf(ctx context.Context, objects dynamic.ResourceInterface) *int64 {
	list, err := objects.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil
	}
	n := int64(len(list.Items))
	if more := list.GetRemainingItemCount(); more != nil {
		n += *more
	}
	return &n
}
