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
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/printer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/replica"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// statusOptions says which objects to show and how.
type statusOptions struct {
	streams genericiooptions.IOStreams
	print   *genericclioptions.PrintFlags

	name          string
	watch         bool
	allNamespaces bool
	selector      string
	noHeaders     bool
}

func newStatusCommand(c *clients, streams genericiooptions.IOStreams) *cobra.Command {
	o := &statusOptions{streams: streams, print: genericclioptions.NewPrintFlags("")}
	cmd := &cobra.Command{
		Use:   "status [NAME | -l label | -A] [--watch] [--output=wide|json|yaml|name|...]",
		Short: "Show how ImoocPods are doing",
		Long: `Show how ImoocPods are doing. With a name: the verdict, the counts, each pod with
what keeps it from being ready, and the conditions. Without: a table of all.`,
		Example: `  # One ImoocPod in full
  kubectl imoocpod status foo

  # A table of all in the namespace, with the reasons
  kubectl imoocpod status -o wide

  # Follow what changes
  kubectl imoocpod status -w

  # The verdict alone, for a script
  kubectl imoocpod status foo -o jsonpath='{.verdict}'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			o.name = args[0]
			return oneName(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.name != "" && (o.allNamespaces || o.selector != "") {
				return usageErrorf(cmd, "a NAME cannot be combined with --all-namespaces or --selector")
			}
			if _, err := labels.Parse(o.selector); err != nil {
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
	cmd.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "Show the objects of all namespaces.")
	cmd.Flags().StringVarP(&o.selector, "selector", "l", "", "Selector (label query) to filter on, as kubectl takes it (e.g. -l key1=value1,key2=value2).")
	cmd.Flags().BoolVar(&o.noHeaders, "no-headers", false, "When using the default output format, don't print headers.")
	return cmd
}

// writer prints reports in the format that the flags ask for.
func (o *statusOptions) writer() (func(io.Writer, []status.Report) error, error) {
	table := &printer.Table{Namespaces: o.allNamespaces, NoHeaders: o.noHeaders}
	switch format := *o.print.OutputFormat; format {
	case "wide":
		table.Wide = true
		fallthrough
	case "":
		return func(w io.Writer, reports []status.Report) error {
			if o.name != "" && !o.watch {
				return printer.Report(w, reports[0], time.Now())
			}
			return table.Print(w, reports, time.Now())
		}, nil
	case "name":
		return func(w io.Writer, reports []status.Report) error {
			for _, r := range reports {
				if _, err := fmt.Fprintf(w, "%s/%s\n", r.Metadata.Type, r.Metadata.Name); err != nil {
					return err //nolint:wrapcheck // a closed stdout
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
			return nil, err //nolint:wrapcheck // it says what is wrong with the template
		}
		return func(w io.Writer, reports []status.Report) error {
			return printModels(p, w, reports, o.name != "" || o.watch)
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
		return p.PrintObj(&list.Items[0], w) //nolint:wrapcheck // a closed stdout
	}
	return p.PrintObj(list, w) //nolint:wrapcheck // a closed stdout
}

func (o *statusOptions) run(ctx context.Context, c *clients, write func(io.Writer, []status.Report) error) error {
	kind := replica.ImoocPod()
	namespace, _, err := c.namespace()
	if err != nil {
		return err
	}
	if o.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	client, err := c.dynamic()
	if err != nil {
		return err
	}
	objects := client.Resource(kind.Resource).Namespace(namespace)
	core, err := c.core()
	if err != nil {
		return err
	}
	if o.watch {
		return explain(kind, o.follow(ctx, kind, core, objects, namespace, write))
	}
	found, err := o.find(ctx, objects)
	if err != nil {
		return explain(kind, err)
	}
	if len(found) == 0 {
		return o.sayNone(namespace)
	}
	reports := make([]status.Report, 0, len(found))
	for i := range found {
		r, err := o.report(ctx, kind, core, &found[i])
		if err != nil {
			return err
		}
		reports = append(reports, r)
	}
	return write(o.streams.Out, reports)
}

func (o *statusOptions) sayNone(namespace string) error {
	where := " in " + namespace + " namespace"
	if o.allNamespaces {
		where = ""
	}
	_, err := fmt.Fprintf(o.streams.ErrOut, "No resources found%s.\n", where)
	return err //nolint:wrapcheck // a closed stderr
}

// find reads the objects to show.
func (o *statusOptions) find(ctx context.Context, objects dynamic.ResourceInterface) ([]unstructured.Unstructured, error) {
	if o.name != "" {
		obj, err := objects.Get(ctx, o.name, metav1.GetOptions{})
		if err != nil {
			return nil, err //nolint:wrapcheck // the server names the object
		}
		return []unstructured.Unstructured{*obj}, nil
	}
	list, err := objects.List(ctx, metav1.ListOptions{LabelSelector: o.selector})
	if err != nil {
		return nil, err //nolint:wrapcheck // the server names the resource
	}
	return list.Items, nil
}

// report makes the model of an object. The pods are read only where they are shown.
func (o *statusOptions) report(ctx context.Context, kind replica.Kind, core corev1client.CoreV1Interface, obj *unstructured.Unstructured) (status.Report, error) {
	facts, err := kind.Facts(obj)
	if err != nil {
		return status.Report{}, err //nolint:wrapcheck // it names the object
	}
	var pods []corev1.Pod
	if table := []string{"", "wide", "name"}; !slices.Contains(table, *o.print.OutputFormat) || (o.name != "" && !o.watch) {
		if pods, err = ownedPods(ctx, core, facts.Namespace, facts); err != nil {
			return status.Report{}, err
		}
	}
	return status.NewReport(facts, pods), nil
}

// follow shows the objects and then every change, a line each, until the
// context ends or, with a name, the object is gone.
func (o *statusOptions) follow(ctx context.Context, kind replica.Kind, core corev1client.CoreV1Interface, objects dynamic.ResourceInterface, namespace string, write func(io.Writer, []status.Report) error) error {
	selected := metav1.ListOptions{LabelSelector: o.selector}
	if o.name != "" {
		selected = named(o.name)
	}
	shown := shownObjects{}
	show := func(obj *unstructured.Unstructured, gone bool) error {
		shown.note(obj, gone)
		r, err := o.report(ctx, kind, core, obj)
		if err != nil {
			return err
		}
		if gone {
			r = r.Gone()
		}
		if err := write(o.streams.Out, []status.Report{r}); err != nil {
			return err
		}
		if gone && o.name != "" {
			return fmt.Errorf("%s/%s was %w", kind, o.name, ErrGone)
		}
		return nil
	}
	first := true
	return follow(ctx, objects, selected, observer{
		listed: func(found []unstructured.Unstructured) (bool, error) {
			if first && len(found) == 0 {
				if o.name != "" {
					return false, apierrors.NewNotFound(kind.Resource.GroupResource(), o.name)
				}
				if err := o.sayNone(namespace); err != nil {
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
