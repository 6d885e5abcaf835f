package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// targetFlags are kubectl's flags that say which objects are meant.
type targetFlags struct {
	files    resource.FilenameOptions
	selector string
	all      bool
	// allNamespaces is for verbs that only look.
	allNamespaces bool

	args []string
	// line gives the command with other arguments, and its flags as they were given.
	again func(args []string) commandline.Command
}

// command is the command line in which all words name ImoocPods.
func (f *targetFlags) command(words []string) commandline.Command {
	var args []string
	for _, word := range words {
		args = append(args, "imoocpod/"+word)
	}
	if f.again == nil {
		return commandline.Plugin(args...)
	}
	return f.again(args)
}

func (f *targetFlags) addFlags(cmd *cobra.Command) {
	f.again = func(args []string) commandline.Command {
		words := append(strings.Fields(strings.TrimPrefix(cmd.CommandPath(), programName)), args...)
		global := cmd.InheritedFlags()
		cmd.Flags().Visit(func(flag *pflag.Flag) {
			if flag.Name != "namespace" && global.Lookup(flag.Name) != nil {
				return // the line of the command has those that matter
			}
			value := flag.Value.String()
			if list, is := flag.Value.(pflag.SliceValue); is {
				value = strings.Join(list.GetSlice(), ",")
			}
			words = append(words, "--"+flag.Name+"="+value)
		})
		return commandline.Plugin(words...)
	}
	f.addFileFlags(cmd, "identifying the objects")
	cmd.Flags().StringVarP(&f.selector, "selector", "l", "", "Selector (label query) to filter on (e.g. -l key1=value1,key2=value2).")
	cmd.Flags().BoolVar(&f.all, "all", false, "Select all resources in the namespace of the specified resource types.")
}

// addFileFlags adds the flags that name files. what are the objects in them.
func (f *targetFlags) addFileFlags(cmd *cobra.Command, what string) {
	cmd.Flags().StringSliceVarP(&f.files.Filenames, "filename", "f", nil, "Filename, directory, or URL to files "+what+".")
	cmd.Flags().BoolVarP(&f.files.Recursive, "recursive", "R", false, "Process the directory used in -f, --filename recursively.")
	cmd.Flags().StringVarP(&f.files.Kustomize, "kustomize", "k", "", "Process the kustomization directory. This flag can't be used together with -f or -R.")
}

// given reports whether a flag names objects, so that a bare word is a type.
func (f *targetFlags) given() bool {
	return f.selector != "" || f.all || f.allNamespaces || f.fromFiles()
}

func (f *targetFlags) fromFiles() bool {
	return len(f.files.Filenames) > 0 || f.files.Kustomize != ""
}

// complete takes the arguments, and refuses what cannot be names before a server
// is asked.
func (f *targetFlags) complete(args []string) error {
	f.args = args
	if len(args) == 0 && !f.given() {
		return usageErrorf("a NAME or TYPE/NAME is required")
	}
	if len(args) > 0 && f.fromFiles() {
		return usageErrorf("-f and -k cannot be used together with arguments")
	}
	if slices.Contains(args, "") {
		return usageErrorf("invalid name \"\": it is empty")
	}
	if _, err := labels.Parse(f.selector); err != nil {
		return usageErrorf("invalid argument %q for \"-l, --selector\" flag: %w", f.selector, err)
	}
	slash := func(arg string) bool { return strings.Contains(arg, "/") }
	if slices.ContainsFunc(args, slash) {
		if i := slices.IndexFunc(args, func(arg string) bool { return !slash(arg) }); i >= 0 {
			return usageErrorf("%q needs a type, because other arguments have one: use imoocpod/%s", args[i], args[i])
		}
	}
	names, ok := f.imoocPods(args)
	if !ok {
		return f.scope(args)
	}
	for _, n := range names {
		if problem := nameProblem(n); problem != "" {
			return usageErrorf("invalid name %q: %s", n, problem)
		}
	}
	return nil
}

// scope refuses names together with what selects objects by other means, in the words
// that kubectl uses once it has asked a server.
func (f *targetFlags) scope(args []string) error {
	if f.allNamespaces && f.fromFiles() {
		return usageErrorf("-A cannot be used together with -f or -k")
	}
	for i, arg := range args {
		word, name, slash := strings.Cut(arg, "/")
		switch {
		case slash && (word == "" || name == "" || strings.Contains(name, "/")):
			return usageErrorf("arguments in resource/name form must have a single resource and name: %q", arg)
		case slash && (f.selector != "" || f.all):
			return usageErrorf("selectors and the all flag cannot be used when passing resource/name arguments")
		case !slash && i == 0:
		case f.allNamespaces:
			return usageErrorf("a resource cannot be retrieved by name across all namespaces")
		case f.selector != "":
			return usageErrorf("name cannot be provided when a selector is specified")
		}
	}
	return nil
}

// imoocPods gives the names of the ImoocPods that the arguments mean, if they
// mean nothing else: a bare NAME, imoocpod/NAME, or imoocpods NAME…. These need
// no discovery.
func (f *targetFlags) imoocPods(args []string) ([]string, bool) {
	types := kube.TypeNames(kinds.ImoocPod())
	switch {
	case f.given() || len(args) == 0:
		return nil, false
	case len(args) == 1 && !strings.Contains(args[0], "/"):
		return args, true
	case !strings.Contains(args[0], "/"):
		return args[1:], slices.Contains(types, args[0])
	}
	var names []string
	for _, arg := range args {
		word, n, _ := strings.Cut(arg, "/")
		if !slices.Contains(types, word) {
			return nil, false
		}
		names = append(names, n)
	}
	return names, true
}

// bareName is the name of the one ImoocPod that was named without a type, "" if there is
// none.
func (f *targetFlags) bareName() string {
	if f.given() || len(f.args) != 1 || strings.Contains(f.args[0], "/") {
		return ""
	}
	return f.args[0]
}

// name resolves arguments that name objects, without asking whether there are
// such: nothing where they do not.
func (f *targetFlags) name(ctx context.Context, c *kube.Factory) ([]observe.Target, []error) {
	if _, ok := f.imoocPods(f.args); ok || f.given() || len(f.args) == 0 {
		return nil, nil
	}
	namespace, _, err := c.Namespace()
	if err != nil {
		return nil, []error{err}
	}
	var found []observe.Target
	var errs []error
	for i, arg := range f.args {
		word, name, slash := strings.Cut(arg, "/")
		if !slash && i == 0 {
			continue // it is the type of the others
		}
		if !slash {
			word, name = f.args[0], arg
		}
		kind, err := c.KindNamed(ctx, word)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		found = append(found, observe.Named(kind, namespace, name))
	}
	return found, errs
}

// find resolves arguments and flags to objects. Some may be found although
// others are not: the errors are of those.
func (f *targetFlags) find(ctx context.Context, c *kube.Factory) ([]observe.Target, []error) {
	namespace, enforced, err := c.Namespace()
	if err != nil {
		return nil, []error{err}
	}
	if names, ok := f.imoocPods(f.args); ok {
		var found []observe.Target
		for _, n := range names {
			found = append(found, observe.Target{Kind: kinds.ImoocPod(), Namespace: namespace, Name: n})
		}
		return found, nil
	}
	tellOthers(c, f.args)
	infos, err := f.infos(c, namespace, enforced)
	found := make([]observe.Target, 0, len(infos))
	for _, info := range infos {
		obj, _ := info.Object.(*unstructured.Unstructured)
		if f.fromFiles() {
			obj = nil // what the file says is not what the server has
		}
		kind, err := c.KindOf(ctx, info.Mapping)
		if err != nil {
			return found, []error{err}
		}
		found = append(found, observe.Target{Kind: kind, Namespace: info.Namespace, Name: info.Name, Object: obj})
	}
	return found, f.explainTypes(separate(err))
}

// infos resolves the arguments and flags by kubectl's builder. Whoever enforces a namespace
// refuses files with objects of another one.
func (f *targetFlags) infos(c *kube.Factory, namespace string, enforced bool) ([]*resource.Info, error) {
	if _, err := c.Config(); err != nil {
		return nil, err // the builder would try a server on localhost
	}
	return resource.NewBuilder(c.Flags).
		Unstructured().
		ContinueOnError().
		NamespaceParam(namespace).DefaultNamespace().AllNamespaces(f.allNamespaces).
		FilenameParam(enforced && !f.allNamespaces, &f.files).
		LabelSelectorParam(f.selector).
		ResourceTypeOrNameArgs(f.all || f.allNamespaces, f.args...).
		Flatten().
		Do().
		Infos()
}

// tellOthers lists at -v=1 the types that share a name with the one that is
// chosen, which is the one that kubectl would choose.
func tellOthers(c *kube.Factory, args []string) {
	mapper, err := c.Flags.ToRESTMapper()
	if err != nil || !klog.V(1).Enabled() {
		return
	}
	for i, arg := range args {
		word, _, slash := strings.Cut(arg, "/")
		if i > 0 && !slash {
			break
		}
		others, err := mapper.ResourcesFor(schema.ParseGroupResource(word).WithVersion(""))
		if err == nil && len(others) > 1 {
			klog.V(1).InfoS("Several types match; using the first. Write TYPE.GROUP for another.", "type", word, "meanings", others)
		}
	}
}

// separate takes apart what the builder collected.
func separate(err error) []error {
	if err == nil {
		return nil
	}
	if many, ok := err.(utilerrors.Aggregate); ok { //nolint:errorlint // the builder does not wrap it
		return utilerrors.Flatten(many).Errors()
	}
	return []error{err}
}

// explainTypes says what to install for a type that is missing, and how several
// ImoocPods are named to a person who gave bare words of which the first is no type.
func (f *targetFlags) explainTypes(errs []error) []error {
	args := f.args
	for i, err := range errs {
		errs[i] = kube.ExplainType(err)
	}
	if len(args) == 0 || strings.Contains(args[0], "/") {
		return errs
	}
	for i, err := range errs {
		switch unknown := (*outcome.UnknownTypeError)(nil); {
		case !errors.As(err, &unknown):
		case len(args) > 1:
			errs[i] = outcome.WithHint(err, "with several arguments, the first is the TYPE; to name several ImoocPods", f.command(args))
		default:
			errs[i] = outcome.WithAdvice(err, "with -l, --all or -A, an argument is a TYPE; to name an ImoocPod, use imoocpod/"+args[0])
		}
	}
	return errs
}

// errNothingFound is the error of a verb that finds no object to change or to wait for.
var errNothingFound = errors.New("no matching resources found")

// sayNothingFound says that there are no objects in a namespace, or in all for "". That is
// no error of a verb that reads, deletes, or parks objects, or waits until they are gone.
func sayNothingFound(w io.Writer, objects, namespace string) error {
	if namespace != "" {
		namespace = " in " + namespace + " namespace"
	}
	return escape.PrintLine(w, "No %s found%s.", objects, namespace)
}

// sayNothingFound says that nothing matches the arguments.
func (f *targetFlags) sayNothingFound(o *commonOptions) error {
	namespace, _, err := o.clients.Namespace()
	if err != nil {
		return err
	}
	if f.allNamespaces {
		namespace = ""
	}
	return sayNothingFound(o.streams.ErrOut, "resources", namespace)
}

// nameProblem says what is wrong with the name of an object, before a server is
// asked, in fewer words than the API machinery's.
func nameProblem(name string) string {
	switch problems := validation.IsDNS1123Subdomain(name); {
	case name == "":
		return "it is empty"
	case len(name) > validation.DNS1123SubdomainMaxLength:
		return fmt.Sprintf("it must be no longer than %d characters", validation.DNS1123SubdomainMaxLength)
	case len(problems) > 0:
		return "only lowercase letters, digits, '-', and '.' are allowed, with a letter or digit at the start, at the end, and around each '.'"
	}
	return ""
}

// checkLength refuses what is too long for the name of a new object of a kind
// that this program ships. The other verbs ask a server for longer names too,
// which an older CRD may have let in.
func checkLength(objectName string) error {
	if len(objectName) > apis.MaxNameLength {
		return fmt.Errorf("invalid name %q: it must be no longer than %d characters", objectName, apis.MaxNameLength)
	}
	return nil
}
