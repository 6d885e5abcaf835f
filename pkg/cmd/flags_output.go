package cmd

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/printer"
)

// linePrinter is the printer of the flags; an unknown format is a usage error. The lines in which kubectl's printers
// name an object are for a person, other formats for programs.
func linePrinter(flags *genericclioptions.PrintFlags) (printers.ResourcePrinter, error) {
	p, err := flags.ToPrinter()
	if err != nil {
		return nil, usageErrorf("%w", err)
	}
	if format := *flags.OutputFormat; format != "" && format != "name" {
		return p, nil
	}
	return printers.ResourcePrinterFunc(func(obj runtime.Object, w io.Writer) error {
		return p.PrintObj(obj, escape.Writer(w))
	}), nil
}

// outputFormats are those of verbs that list things, as those of "kubectl get".
const outputFormats = "json, yaml, name, go-template, go-template-file, template, templatefile, jsonpath, jsonpath-as-json, jsonpath-file, custom-columns, wide"

// listPrinter is the printer of a format that is neither wide nor a table:
// kubectl's, and custom columns, which kubectl has for itself.
func listPrinter(flags *genericclioptions.PrintFlags, noHeaders bool) (printers.ResourcePrinter, error) {
	format := *flags.OutputFormat
	if spec, is := strings.CutPrefix(format, "custom-columns"); is {
		c, err := printer.ParseCustomColumns(strings.TrimPrefix(spec, "="))
		if err != nil {
			return nil, err
		}
		c.NoHeaders = noHeaders
		return c, nil
	}
	p, err := flags.ToPrinter()
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		return nil, fmt.Errorf("unable to match a printer suitable for the output format %q, allowed formats are: %s,custom-columns,wide", format, strings.Join(flags.AllowedFormats(), ","))
	}
	return p, err
}
