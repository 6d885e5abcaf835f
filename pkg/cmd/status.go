package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/workqueue"

	"github.com/imoocpod/kubectl-imoocpod/pkg/clients"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/follow"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/printer"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/terminal"
)

type statusOptions struct {
	targetFlags
	clients *clients.Factory
	streams genericiooptions.IOStreams
	print   *genericclioptions.PrintFlags

	watch     bool
	notReady  bool
	paused    bool
	exitCode  bool
	wait      bool
	limits    waitFlags
	pods      bool
	color     color
	noHeaders bool

	// write prints reports in the format that was asked for.
	write     func(io.Writer, []status.Report) error
	client    dynamic.Interface
	namespace string
	// listed are the kinds that were looked for because none was named.
	listed []kinds.Kind
	// word is the ImoocPod that one bare word names.
	word *unstructured.Unstructured
}

// named reports whether objects or a type were named; otherwise all objects of the
// built-in kinds are meant.
func (o *statusOptions) named() bool {
	return len(o.args) > 0 || o.fromFiles()
}

// one reports whether a single object was named, which is shown in full. What is
// selected is a list, whatever its length.
func (o *statusOptions) one() bool {
	named := len(o.args) == 1 || len(o.args) == 2 && !strings.Contains(o.args[0], "/")
	return !o.watch && (o.fromFiles() || named && !o.given())
}

func newStatusCommand(c *clients.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	o := &statusOptions{clients: c, streams: streams, print: genericclioptions.NewPrintFlags("")}
	cmd := &cobra.Command{
		Use:   "status [NAME | TYPE/NAME ... | TYPE NAME ... | -f FILENAME] [-l label] [-A] [--not-ready] [--paused] [--exit-code] [--watch | --wait] [--output=wide|json|yaml|name|...]",
		Short: "Show whether ImoocPods and other objects are ready, and why not",
		Long: `Show whether ImoocPods (NAME) and other objects with replicas (TYPE/NAME, or other
arguments of kubectl) are ready. For one object, the command shows the verdict with
its reason and a hint, the counts, autoscalers and other writers of the count, the
problem of each pod, the last line of the log if a pod crashes, and the conditions.
For a list, it prints a table. A TYPE alone lists the objects of that type. Without
arguments, it lists the objects of the built-in kinds and of the kinds that CRDs
declare. For a pod, the command shows its owner.

The verdict is "ready" if the controller has seen the current object, all desired
pods are ready, none is surplus and no failure is reported; "failed" if the object
cannot become ready without help; "paused" if someone paused it; "not reconciled" if
no controller has seen the current object, or none is running; and "progressing"
otherwise.

The exit code is 0 if the objects could be read, whatever the verdicts. With
--exit-code it is 0 if all are ready, 3 if one has failed or is paused, and 4
otherwise.

On a terminal, one object is shown as a tree that folds similar pods. --watch and
--wait update it in place: --watch until Ctrl-C, --wait until all objects are ready
or one cannot become ready without help. Without a terminal, they print a line for
every change.`,
		Example: `  # Show an ImoocPod in full
  kubectl imoocpod status foo

  # List all objects in the namespace, with the reasons
  kubectl imoocpod status -o wide

  # List the custom resources that are not ready, in all namespaces
  kubectl imoocpod status -A --not-ready

  # List the Deployments that are not ready, in all namespaces
  kubectl imoocpod status deployments -A --not-ready

  # List what is paused in all namespaces, until when, and by whom
  kubectl imoocpod status -A --paused

  # Show any object that has pods, or list a type
  kubectl imoocpod status deployment/web
  kubectl imoocpod status deployments

  # Watch, listing every pod
  kubectl imoocpod status foo -w --pods

  # Watch until both are ready, for at most five minutes
  kubectl imoocpod status imoocpod/foo deployment/web --wait --timeout 5m

  # Watch all objects
  kubectl imoocpod status -w

  # Print the reason for a script, and use the verdict as the exit code
  kubectl imoocpod status foo -o jsonpath='{.reasonCode}'
  kubectl imoocpod status foo --exit-code -o name`,
	}
	addListPrintFlags(cmd, o.print)
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "After showing the objects, watch for changes until Ctrl-C.")
	cmd.Flags().BoolVar(&o.wait, "wait", false, "Watch until all objects are ready, or one cannot become ready without help.")
	o.limits.addWaitFlags(cmd)
	cmd.Flags().BoolVar(&o.pods, "pods", false, "On a terminal, list every pod instead of folding similar ones.")
	o.color.addFlag(cmd)
	o.addFlags(cmd)
	cmd.Flags().BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "Show the objects of all namespaces.")
	cmd.Flags().BoolVar(&o.notReady, "not-ready", false, "Show only the objects that are not ready, with the reasons.")
	cmd.Flags().BoolVar(&o.paused, "paused", false, "Show only the objects that are paused, with the reasons.")
	cmd.Flags().BoolVar(&o.exitCode, "exit-code", false, "Exit with code 0 if all objects are ready, 3 if one has failed or is paused, and 4 otherwise.")
	cmd.Flags().BoolVar(&o.noHeaders, "no-headers", false, "When using the default output format, don't print headers.")
	return bind(cmd, o)
}

func (o *statusOptions) complete(args []string) (err error) {
	if len(args) == 1 && strings.Contains(args[0], ",") {
		o.all = true // of each of these types
	}
	if len(args) > 0 || o.fromFiles() {
		if err = o.targetFlags.complete(args); err != nil {
			return err
		}
	}
	if o.write, err = o.writer(); err != nil {
		return usageErrorf("%w", err)
	}
	return nil
}

func (o *statusOptions) validate() error {
	_, err := labels.Parse(o.selector)
	switch format := *o.print.OutputFormat; {
	case err != nil:
		return usageErrorf("invalid --selector: %w", err)
	case o.watch && o.exitCode:
		return usageErrorf("--exit-code and --watch cannot be used together")
	case o.wait && o.watch:
		return usageErrorf("--watch and --wait cannot be used together")
	case o.wait && format != "" && format != "json":
		return usageErrorf("--wait supports only -o json, not -o %s", format)
	}
	return o.limits.validateWait(o.wait)
}

// writer prints reports in the format that the flags ask for.
func (o *statusOptions) writer() (func(io.Writer, []status.Report) error, error) {
	table := &printer.Table{Namespaces: o.allNamespaces, NoHeaders: o.noHeaders, Wide: o.notReady || o.paused}
	switch format := *o.print.OutputFormat; format {
	case "wide":
		table.Wide = true
		fallthrough
	case "":
		return func(w io.Writer, reports []status.Report) error {
			if o.one() && !o.noHeaders && len(reports) == 1 {
				if screen, is := o.terminal(); is {
					width, _ := terminal.Size(screen)
					return o.printScreen(reports, width)
				}
				return printer.Report(w, reports[0], time.Now())
			}
			return table.Print(w, reports, time.Now())
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

// Run shows the objects once, or for as long as was asked for.
func (o *statusOptions) Run(ctx context.Context) error {
	var err error
	if o.namespace, _, err = o.clients.Namespace(); err != nil {
		return err
	}
	if o.client, err = o.clients.Dynamic(); err != nil {
		return err
	}
	o.takeWord(ctx)
	screen, isLive := o.terminal()
	switch {
	case o.wait:
		return o.runWait(ctx)
	case o.watch && isLive:
		return o.runLive(ctx, screen)
	case o.watch:
		return o.runWatch(ctx, &follow.Connection{Changed: o.printConnection}, func(w io.Writer, reports []status.Report) error {
			if reports = o.wanted(reports); len(reports) == 0 {
				return nil
			}
			return o.write(w, reports)
		})
	}
	targets, errs := o.find(ctx)
	if len(targets)+len(errs) == 0 {
		return o.sayNone()
	}
	reports, failed := o.reports(ctx, targets)
	errs = append(errs, failed...)
	if reports = o.wanted(reports); len(reports) == 0 && len(errs) == 0 {
		return o.sayNoneWanted(len(targets))
	}
	if len(reports) > 0 {
		errs = append(errs, o.write(o.streams.Out, reports))
	}
	if o.exitCode {
		errs = append(errs, verdicts(reports)...)
	}
	return outcome.Join(errs)
}

// wanted are those of the reports that are asked for.
func (o *statusOptions) wanted(reports []status.Report) []status.Report {
	return slices.DeleteFunc(reports, func(r status.Report) bool {
		return o.notReady && r.Verdict.Settled() || o.paused && !isPaused(r)
	})
}

// isPaused reports whether an object is paused, also where it has failed besides.
func isPaused(r status.Report) bool { return r.Verdict == status.Paused || r.Pause != nil }

// sayNoneWanted says that none of some objects is what is asked for.
func (o *statusOptions) sayNoneWanted(objects int) error {
	text := "The object is ready."
	switch {
	case o.paused && objects == 1:
		text = "The object is not paused."
	case o.paused:
		text = fmt.Sprintf("None of %d objects is paused.", objects)
	case objects > 1:
		text = fmt.Sprintf("All %d objects are ready.", objects)
	}
	return escape.PrintLine(o.streams.ErrOut, "%s", text)
}

// reporters is how many objects are looked at at the same time.
const reporters = 8

// reports makes the models of objects. One that cannot be read does not stop
// the others.
func (o *statusOptions) reports(ctx context.Context, targets []observe.Target) ([]status.Report, []error) {
	all, errs := make([]status.Report, len(targets)), make([]error, len(targets))
	// What is not begun when the context ends fails with it, and is not left out.
	workqueue.ParallelizeUntil(context.WithoutCancel(ctx), reporters, len(targets), func(i int) {
		all[i], errs[i] = o.report(ctx, targets[i])
		errs[i] = clients.Explain(targets[i].Kind, errs[i])
	})
	var reports []status.Report
	for i := range all {
		if errs[i] == nil {
			reports = append(reports, all[i])
		}
	}
	return reports, slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// verdicts are the errors that give the exit code of what is not ready.
func verdicts(reports []status.Report) []error {
	var errs []error
	for _, r := range reports {
		what := r.Metadata.Type + "/" + r.Metadata.Name
		switch r.Verdict {
		case status.Ready, status.Parked:
		case status.Paused:
			errs = append(errs, fmt.Errorf("%s is %w: %s", what, outcome.ErrPaused, r.Reason))
		case status.Failed:
			errs = append(errs, fmt.Errorf("%s has %w: %s", what, outcome.ErrFailed, escape.Line(r.Reason)))
		default:
			errs = append(errs, fmt.Errorf("%s is %w: %s: %s", what, outcome.ErrNotReady, r.Verdict, escape.Line(r.Reason)))
		}
	}
	return errs
}

func (o *statusOptions) sayNone() error {
	where := " in " + o.namespace + " namespace"
	if o.allNamespaces {
		where = ""
	}
	return escape.PrintLine(o.streams.ErrOut, "No %s found%s.", o.searched(), where)
}

// searched names what was looked for: the type that was named, or the kinds that are
// looked for where none is.
func (o *statusOptions) searched() string {
	if o.named() || len(o.listed) == 0 {
		return "resources"
	}
	names := make([]string, len(o.listed))
	for i, kind := range o.listed {
		names[i] = kind.Resource.Resource
	}
	return strings.Join(names, ", ")
}

func (o *statusOptions) find(ctx context.Context) ([]observe.Target, []error) {
	if o.named() {
		targets, errs := o.targetFlags.find(ctx, o.clients)
		if o.word != nil && len(targets) == 1 {
			targets[0].Object = o.word
		}
		return o.withReplicas(ctx, targets, errs)
	}
	var targets []observe.Target
	all, err := o.allKinds(ctx)
	if err != nil {
		return nil, []error{err}
	}
	var errs []error
	served := false
	for _, kind := range all {
		list, err := clients.List(ctx, o.ofKind(kind), metav1.ListOptions{LabelSelector: o.selector})
		if clients.NotServed(err) {
			continue // it is not installed
		}
		if apierrors.IsForbidden(err) && !kind.Shipped() {
			continue // not everybody who may see our kinds may see all others
		}
		served = true
		if err != nil {
			errs = append(errs, err)
			continue
		}
		o.listed = append(o.listed, kind)
		for i := range list {
			obj := &list[i]
			targets = append(targets, observe.Target{Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName(), Object: obj})
		}
	}
	if !served {
		errs = append(errs, &outcome.NotServedError{CRD: kinds.ImoocPod().CRD(), Shipped: true})
	}
	if len(targets) == 0 {
		errs = errs[:min(1, len(errs))] // of the other kinds it would be the same
	}
	return targets, errs
}

// allKinds are those of which objects are shown where none is named: the kinds that this
// program ships, and those that CRDs declare.
func (o *statusOptions) allKinds(ctx context.Context) ([]kinds.Kind, error) {
	declared, err := o.clients.DeclaredKinds(ctx)
	return append(kinds.Shipped(), declared...), err
}

// ofKind is the client for the objects of a kind in the namespace, or in all.
func (o *statusOptions) ofKind(kind kinds.Kind) dynamic.ResourceInterface {
	if o.allNamespaces || kind.Clusterwide {
		return o.client.Resource(kind.Resource)
	}
	return o.client.Resource(kind.Resource).Namespace(o.namespace)
}

// inFull reports whether all that is known of an object is shown.
func (o *statusOptions) inFull() bool {
	return !slices.Contains([]string{"", "wide", "name"}, *o.print.OutputFormat) || o.one()
}

// report makes the model of an object. Where all is not shown, what stands
// below an object that says of itself that it is ready is not read.
func (o *statusOptions) report(ctx context.Context, t observe.Target) (status.Report, error) {
	inFull := o.inFull()
	// Of a kind of another program, what it says of itself is not enough, nor is it where
	// only the pods tell what they are made from.
	if t.Object != nil && !inFull && (t.Kind.Reconciled() || t.Kind.BuiltIn()) {
		object, err := observe.ReadObject(ctx, o.clients, o.client, t)
		if err != nil {
			return status.Report{}, err
		}
		r := status.NewReport(status.Snapshot{Object: object, Now: time.Now()})
		if r.Verdict.Settled() && object.Template == "" {
			return r, nil
		}
	}
	read := observe.Read
	if inFull && o.named() {
		read = observe.ReadNamed
	}
	snapshot, _, err := read(ctx, o.clients, t)
	if err != nil {
		return status.Report{}, err
	}
	r := status.NewReport(snapshot)
	if inFull && o.named() {
		addLastLogLine(ctx, o.clients, snapshot, &r)
	}
	return r, nil
}
