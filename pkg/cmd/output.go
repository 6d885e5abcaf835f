package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/render/printer"
)

// objectOutput holds kubectl's -o flag and related flags, for a verb with kubectl's output formats.
type objectOutput struct {
	flags   *genericclioptions.PrintFlags
	formats []string
	// printer prints objects in the format of the flags. complete sets it.
	printer printers.ResourcePrinter
}

// addFlags adds the flags. more lists the formats that the verb has in addition to kubectl's.
func (o *objectOutput) addFlags(cmd *cobra.Command, more ...string) {
	o.flags = genericclioptions.NewPrintFlags("")
	o.flags.AddFlags(cmd)
	o.formats = append(o.flags.AllowedFormats(), more...)
	cmd.Flags().Lookup("output").Usage = "Output format. One of: (" + strings.Join(o.formats, ", ") + ")."
	completeFlag(cmd, "output", o.formats...)
}

// complete sets the printer, or returns a usage error if the format is unknown.
func (o *objectOutput) complete() (err error) {
	if o.printer, err = o.flags.ToPrinter(); err != nil {
		return usageErrorf("%w", err)
	}
	return nil
}

func (o *objectOutput) format() string { return *o.flags.OutputFormat }

// printObject prints an object. If p prints names, it prints a line with the object's name and, except with -o name,
// the deed, such as "scaled". Only this line is escaped. It is buffered, because a NamePrinter ignores write errors.
func printObject(w io.Writer, p printers.ResourcePrinter, obj runtime.Object, deed string) error {
	names, is := p.(*printers.NamePrinter)
	if !is {
		return p.PrintObj(obj, w)
	}
	var line bytes.Buffer
	named := &printers.NamePrinter{ShortOutput: names.ShortOutput, Operation: deed}
	if err := named.PrintObj(obj, escape.Writer(&line)); err != nil {
		return err
	}
	_, err := line.WriteTo(w)
	return err
}

// onOneLine returns a JSON printer that prints each object on one line, like the reports during a wait.
func (o *objectOutput) onOneLine() printers.ResourcePrinter {
	p := printers.ResourcePrinterFunc(func(obj runtime.Object, w io.Writer) error { return json.NewEncoder(w).Encode(obj) })
	if o.flags.JSONYamlPrintFlags.ShowManagedFields {
		return p
	}
	return &printers.OmitManagedFieldsPrinter{Delegate: p}
}

// takeTemplate makes --template imply -o go-template, and ignores the case of json, yaml, and name, as in kubectl.
func takeTemplate(cmd *cobra.Command) error {
	if format, _ := cmd.Flags().GetString("output"); slices.Contains([]string{"json", "yaml", "name"}, strings.ToLower(format)) {
		return cmd.Flags().Set("output", strings.ToLower(format))
	}
	if cmd.Flags().Changed("template") && !cmd.Flags().Changed("output") {
		return cmd.Flags().Set("output", "go-template")
	}
	return nil
}

// listPrinter returns the printer for a format that is not a table. cli-runtime has no printer for custom columns.
func (o *objectOutput) listPrinter(noHeaders bool) (printers.ResourcePrinter, error) {
	if name, spec, _ := strings.Cut(o.format(), "="); name == "custom-columns" {
		c, err := printer.ParseCustomColumns(spec)
		if err != nil {
			return nil, err
		}
		c.NoHeaders = noHeaders
		return c, nil
	}
	p, err := o.flags.ToPrinter()
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		return nil, noPrinter(o.format(), o.formats)
	}
	return p, err
}

// listWriter returns a function that prints models, such as reports, as a table, as names, or as objects (printModels).
func listWriter[T any](o *objectOutput, noHeaders bool,
	table func(io.Writer, []T) error, name func(T) string, single func() bool, fields map[string]any,
) (func(io.Writer, []T) error, error) {
	switch o.format() {
	case "", "wide":
		return table, nil
	case "name":
		return func(w io.Writer, all []T) error {
			var lines []string
			for _, model := range all {
				lines = append(lines, name(model))
			}
			return printLines(w, lines)
		}, nil
	}
	p, err := o.listPrinter(noHeaders)
	if err != nil {
		return nil, usageErrorf("%w", err)
	}
	return func(w io.Writer, all []T) error { return printModels(w, p, all, single(), fields) }, nil
}

// printModels prints the models in a list with the given fields. If single is set and there is one model,
// it prints the model without a list. A model without an apiVersion then gets the apiVersion of the list.
func printModels[T any](w io.Writer, p printers.ResourcePrinter, models []T, single bool, fields map[string]any) error {
	list := &unstructured.UnstructuredList{Object: fields}
	for _, model := range models {
		var item unstructured.Unstructured
		data, err := json.Marshal(model)
		if err == nil {
			err = utiljson.Unmarshal(data, &item.Object)
		}
		if err != nil {
			return fmt.Errorf("print an item of the list: %w", err)
		}
		list.Items = append(list.Items, item)
	}
	if !single || len(list.Items) != 1 {
		return p.PrintObj(list, w)
	}
	if list.Items[0].GetAPIVersion() == "" {
		list.Items[0].SetAPIVersion(list.GetAPIVersion())
	}
	return p.PrintObj(&list.Items[0], w)
}

func printLines(w io.Writer, lines []string) error {
	for _, line := range lines {
		if err := escape.PrintLine(w, "%s", line); err != nil {
			return err
		}
	}
	return nil
}

// output is the -o flag of a verb that has its own formats.
type output struct {
	format  string
	formats []string
}

// addOutputFlag adds -o. The formats replace %s in the usage text.
func addOutputFlag(cmd *cobra.Command, usage string, formats ...string) *output {
	o := &output{formats: formats}
	cmd.Flags().StringVarP(&o.format, "output", "o", "", strings.Replace(usage, "%s", strings.Join(formats, ", "), 1))
	completeFlag(cmd, "output", formats...)
	return o
}

func (o *output) validate() error {
	if o.format == "" || slices.Contains(o.formats, o.format) {
		return nil
	}
	return usageErrorf("%w", noPrinter(o.format, o.formats))
}

// noPrinter returns kubectl's error for an unknown output format.
func noPrinter(format string, known []string) error {
	return fmt.Errorf("unable to match a printer suitable for the output format %q, allowed formats are: %s", format, strings.Join(known, ","))
}

func (o *output) write(w io.Writer, value any, indent string) error {
	if o.format == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", indent)
		return encoder.Encode(value)
	}
	data, err := yaml.Marshal(value)
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

func addColorFlag(cmd *cobra.Command, color *string) {
	*color = "auto"
	addChoice(cmd, color, "color", `Use colors. Must be %s. "auto" uses them on a terminal unless NO_COLOR is set.`, "auto", "always", "never")
}
