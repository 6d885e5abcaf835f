package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/printer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/replica"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// statusOptions says which objects to show and how.
type statusOptions struct {
	streams genericiooptions.IOStreams
	print   *genericclioptions.PrintFlags

	targets   targetFlags
	args      []string
	watch     bool
	noHeaders bool
}

// named says whether objects or a type were named; otherwise all ImoocPods are
// meant.
func (o *statusOptions) named() bool {
	return len(o.args) > 0 || o.targets.fromFiles()
}

func newStatusCommand(c *clients, streams genericiooptions.IOStreams) *cobra.Command {
	o := &statusOptions{streams: streams, print: genericclioptions.NewPrintFlags("")}
	cmd := &cobra.Command{
		Use:   "status [NAME | TYPE/NAME ... | TYPE NAME ... | -f FILENAME] [-l label] [-A] [--watch] [--output=wide|json|yaml|name|...]",
		Short: "Show how ImoocPods and other objects are doing",
		Long: `Show how ImoocPods (NAME) and other objects with replicas (TYPE/NAME, or what else
kubectl takes) are doing. One object: the verdict, the counts, each pod with what
keeps it from being ready, and the conditions. Several: a table. Without a name:
all ImoocPods.`,
		Example: `  # One ImoocPod in full
  kubectl imoocpod status foo

  # A table of all in the namespace, with the reasons
  kubectl imoocpod status -o wide

  # Anything that has pods
  kubectl imoocpod status deployment/web

  # Follow what changes
  kubectl imoocpod status -w

  # The verdict alone, for a script
  kubectl imoocpod status foo -o jsonpath='{.verdict}'`,
		Args: func(cmd *cobra.Command, args []string) error {
			o.args = args
			if !o.named() {
				return nil
			}
			return o.targets.check(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := labels.Parse(o.targets.selector); err != nil {
				return usageErrorf(cmd, "invalid --selector: %w", err)
			}
			write, err := o.writer()
			if err != nil {
				return usageErrorf(cmd, "%w", err)
			}
			return o.run(cmd.Context(), c, write)
		},
	}
	o.print.AddFlags(cmd)
	cmd.Flags().Lookup("output").Usage = "Output format. One of: (wide, json, yaml, name, go-template, go-template-file, template, templatefile, jsonpath, jsonpath-as-json, jsonpath-file)."
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "After showing the objects, follow their changes, a line each.")
	o.targets.addFlags(cmd)
	cmd.Flags().BoolVarP(&o.targets.allNamespaces, "all-namespaces", "A", false, "Show the objects of all namespaces.")
	cmd.Flags().BoolVar(&o.noHeaders, "no-headers", false, "When using the default output format, don't print headers.")
	return cmd
}

// writer prints reports in the format that the flags ask for.
func (o *statusOptions) writer() (func(io.Writer, []status.Report) error, error) {
	table := &printer.Table{Namespaces: o.targets.allNamespaces, NoHeaders: o.noHeaders}
	switch format := *o.print.OutputFormat; format {
	case "wide":
		table.Wide = true
		fallthrough
	case "":
		return func(w io.Writer, reports []status.Report) error {
			if o.named() && !o.watch && len(reports) == 1 {
				return printer.Report(w, reports[0], time.Now())
			}
			return table.Print(w, reports, time.Now())
		}, nil
	case "name":
		return func(w io.Writer, reports []status.Report) error {
			for _, r := range reports {
				if _, err := fmt.Fprintf(w, "%s/%s\n", r.Metadata.Type, r.Metadata.Name); err != nil {
					return err
				}
			}
			return nil
		}, nil
	default:
		p, err := o.print.ToPrinter()
		if genericclioptions.IsNoCompatiblePrinterError(err) {
			return nil, fmt.Errorf("unable to match a printer suitable for the output format %q, allowed formats are: %s,wide", format, strings.Join(o.print.AllowedFormats(), ","))
		}
		if err != nil {
			return nil, err
		}
		return func(w io.Writer, reports []status.Report) error {
			return printModels(p, w, reports, len(reports) == 1 && (o.named() || o.watch))
		}, nil
	}
}

// printModels prints reports as kubectl prints objects: one by itself, several
// in a List.
func printModels(p printers.ResourcePrinter, w io.Writer, reports []status.Report, single bool) error {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{}}}
	for _, r := range reports {
		data, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("print the status of %s: %w", r.Metadata.Name, err)
		}
		var model map[string]any
		if err := json.Unmarshal(data, &model); err != nil {
			return fmt.Errorf("print the status of %s: %w", r.Metadata.Name, err)
		}
		list.Items = append(list.Items, unstructured.Unstructured{Object: model})
	}
	if single {
		return p.PrintObj(&list.Items[0], w)
	}
	return p.PrintObj(list, w)
}

func (o *statusOptions) run(ctx context.Context, c *clients, write func(io.Writer, []status.Report) error) error {
	if o.watch {
		return o.runWatch(ctx, c, write)
	}
	targets, errs := o.find(ctx, c)
	if len(targets)+len(errs) == 0 {
		return o.sayNone(c)
	}
	var reports []status.Report
	for _, t := range targets {
		r, err := o.report(ctx, c, t)
		if err != nil {
			errs = append(errs, explain(t.kind, err))
			continue
		}
		reports = append(reports, r)
	}
	if len(reports) > 0 {
		errs = append(errs, write(o.streams.Out, reports))
	}
	return together(errs)
}

func (o *statusOptions) sayNone(c *clients) error {
	namespace, _, err := c.namespace()
	if err != nil {
		return err
	}
	where := " in " + namespace + " namespace"
	if o.targets.allNamespaces {
		where = ""
	}
	_, err = fmt.Fprintf(o.streams.ErrOut, "No resources found%s.\n", where)
	return err
}

// find reads the objects to show.
func (o *statusOptions) find(ctx context.Context, c *clients) ([]target, []error) {
	if o.named() {
		return o.targets.find(c, o.args)
	}
	kind := replica.ImoocPod()
	objects, err := o.imoocPods(c)
	if err != nil {
		return nil, []error{err}
	}
	list, err := objects.List(ctx, metav1.ListOptions{LabelSelector: o.targets.selector})
	if err != nil {
		return nil, []error{explain(kind, err)}
	}
	targets := make([]target, 0, len(list.Items))
	for i := range list.Items {
		obj := &list.Items[i]
		targets = append(targets, target{kind: kind, namespace: obj.GetNamespace(), name: obj.GetName(), obj: obj})
	}
	return targets, nil
}

// imoocPods is the client for the ImoocPods of the namespace, or of all.
func (o *statusOptions) imoocPods(c *clients) (dynamic.ResourceInterface, error) {
	namespace, _, err := c.namespace()
	if err != nil {
		return nil, err
	}
	if o.targets.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	client, err := c.dynamic()
	if err != nil {
		return nil, err
	}
	return client.Resource(replica.ImoocPod().Resource).Namespace(namespace), nil
}

// report makes the model of an object. What stands below it is read only where
// it is shown, or where it must be counted.
func (o *statusOptions) report(ctx context.Context, c *clients, t target) (status.Report, error) {
	table := []string{"", "wide", "name"}
	if t.kind.Shipped() && slices.Contains(table, *o.print.OutputFormat) && (!o.named() || o.watch) {
		facts, err := t.kind.Facts(t.obj)
		if err != nil {
			return status.Report{}, err
		}
		return status.NewReport(status.Evidence{Object: facts, Now: time.Now()}), nil
	}
	evidence, _, err := look(ctx, c, t)
	if err == nil && o.named() && !o.watch {
		err = lookAround(ctx, c, &evidence)
	}
	if err != nil {
		return status.Report{}, err
	}
	return status.NewReport(evidence), nil
}

// runWatch shows the objects and then every change.
func (o *statusOptions) runWatch(ctx context.Context, c *clients, write func(io.Writer, []status.Report) error) error {
	if !o.named() {
		objects, err := o.imoocPods(c)
		if err != nil {
			return err
		}
		return explain(replica.ImoocPod(), o.follow(ctx, c, target{kind: replica.ImoocPod()}, objects, write))
	}
	targets, errs := o.targets.find(c, o.args)
	if len(errs) > 0 {
		return together(errs)
	}
	if len(targets) != 1 {
		return &UsageError{Command: name + " status", Err: fmt.Errorf("--watch follows one object, or all ImoocPods; %d objects were named", len(targets))}
	}
	client, err := c.dynamic()
	if err != nil {
		return err
	}
	return explain(targets[0].kind, o.follow(ctx, c, targets[0], targets[0].objects(client), write))
}

// follow shows the objects and then every change, a line each, until the
// context ends or, with a name, the object is gone.
func (o *statusOptions) follow(ctx context.Context, c *clients, t target, objects dynamic.ResourceInterface, write func(io.Writer, []status.Report) error) error {
	selected := metav1.ListOptions{LabelSelector: o.targets.selector}
	if t.name != "" {
		selected = named(t.name)
	}
	shown := shownObjects{}
	show := func(obj *unstructured.Unstructured, gone bool) error {
		shown.note(obj, gone)
		r, err := o.report(ctx, c, target{kind: t.kind, namespace: obj.GetNamespace(), name: obj.GetName(), obj: obj})
		if err != nil {
			return err
		}
		if gone {
			r = r.Gone()
		}
		if err := write(o.streams.Out, []status.Report{r}); err != nil {
			return err
		}
		if gone && t.name != "" {
			return fmt.Errorf("%s was %w", t, ErrGone)
		}
		return nil
	}
	first := true
	return follow(ctx, objects, selected, "", observer{
		listed: func(found []unstructured.Unstructured) (bool, error) {
			if first && len(found) == 0 {
				if t.name != "" {
					return false, apierrors.NewNotFound(t.kind.Resource.GroupResource(), t.name)
				}
				if err := o.sayNone(c); err != nil {
					return false, err
				}
			}
			first = false
			return false, shown.catchUp(found, show)
		},
		changed: func(obj *unstructured.Unstructured, gone bool) (bool, error) { return false, show(obj, gone) },
	})
}

// shownObjects are those that were shown, as they last were.
type shownObjects map[types.UID]*unstructured.Unstructured

func (s shownObjects) note(obj *unstructured.Unstructured, gone bool) {
	s[obj.GetUID()] = obj
	if gone {
		delete(s, obj.GetUID())
	}
}

// catchUp shows what is not as it was last shown, and what is not there any more.
func (s shownObjects) catchUp(found []unstructured.Unstructured, show func(obj *unstructured.Unstructured, gone bool) error) error {
	missing := maps.Clone(s)
	for i := range found {
		obj := &found[i]
		before := s[obj.GetUID()]
		delete(missing, obj.GetUID())
		if before != nil && before.GetResourceVersion() == obj.GetResourceVersion() {
			continue
		}
		if err := show(obj, false); err != nil {
			return err
		}
	}
	for _, obj := range missing {
		if err := show(obj, true); err != nil {
			return err
		}
	}
	return nil
}
