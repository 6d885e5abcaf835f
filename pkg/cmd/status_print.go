package cmd

import (
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/terminal"
)

func (o *statusOptions) writer() (func(io.Writer, []status.Report) error, error) {
	switch format := *o.print.OutputFormat; format {
	case "", "wide":
		o.table = printer.Table{Namespaces: o.targets.allNamespaces, NoHeaders: o.noHeaders, Wide: len(o.only) > 0 || format == "wide"}
		return func(w io.Writer, reports []status.Report) error {
			if o.one() && !o.noHeaders && len(reports) == 1 {
				if screen := o.terminal(); screen != nil {
					width, _ := terminal.Size(screen)
					return o.printScreen(reports, width)
				}
				return printer.Report(w, reports[0], time.Now())
			}
			return o.table.Print(w, reports, time.Now())
		}, nil
	case "name":
		return func(w io.Writer, reports []status.Report) error {
			for _, r := range reports {
				if err := escape.PrintLine(w, "%s/%s", r.Metadata.Type, r.Metadata.Name); err != nil {
					return err
				}
			}
			return nil
		}, nil
	default:
		p, err := listPrinter(o.print, o.noHeaders)
		if err != nil {
			return nil, err
		}
		return func(w io.Writer, reports []status.Report) error {
			return printModels(p, w, reports, len(reports) == 1 && (o.one() || o.watch))
		}, nil
	}
}

func (o *statusOptions) printScreen(reports []status.Report, width int) error {
	screen := printer.Screen{Reports: reports, AllPods: o.pods}
	for _, text := range screen.Frame(width, 0, o.color.style(o.cluster.streams.Out), time.Now()) {
		if _, err := fmt.Fprintln(o.cluster.streams.Out, text); err != nil {
			return err
		}
	}
	return nil
}

// printModels prints reports as kubectl prints objects: a single one on its own, several in a
// List.
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
