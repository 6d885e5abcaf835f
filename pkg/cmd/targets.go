package cmd

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// targetFlags are kubectl's flags and arguments that name or select objects.
type targetFlags struct {
	files    resource.FilenameOptions
	selector string
	all      bool
	// allNamespaces is only for verbs that read.
	allNamespaces bool
	// without decides which objects are selected if no type is given.
	without everyKind
	// optional means that a command succeeds even if no object matches.
	optional bool

	args []string
}

func (f *targetFlags) addFlags(cmd *cobra.Command) {
	f.addFileFlags(cmd, "identifying the objects")
	f.addSelectFlags(cmd)
}

func (f *targetFlags) addSelectFlags(cmd *cobra.Command) {
	addSelectorFlag(cmd, &f.selector)
	cmd.Flags().BoolVar(&f.all, "all", false, "Select all objects of the TYPE in the namespace; without a TYPE, of those that kubectl imoocpod status lists (delete, scale, set, and undo require a TYPE).")
}

func addSelectorFlag(cmd *cobra.Command, selector *string) {
	cmd.Flags().StringVarP(selector, "selector", "l", "", "Selector (label query) to filter on (e.g. -l key1=value1,key2=value2).")
}

// addFileFlags adds the flags for files. what is the end of the usage text of --filename.
func (f *targetFlags) addFileFlags(cmd *cobra.Command, what string) {
	cmd.Flags().StringSliceVarP(&f.files.Filenames, "filename", "f", nil, "Filename, directory, or URL to files "+what+".")
	cmd.Flags().BoolVarP(&f.files.Recursive, "recursive", "R", false, "Process the directory used in -f, --filename recursively.")
	cmd.Flags().StringVarP(&f.files.Kustomize, "kustomize", "k", "", "Process the kustomization directory. This flag can't be used together with -f or -R.")
}

// given reports whether a flag selects objects. If so, a bare word is a type.
func (f *targetFlags) given() bool {
	return f.selector != "" || f.all || f.allNamespaces || f.fromFiles()
}

func (f *targetFlags) fromFiles() bool {
	return len(f.files.Filenames) > 0 || f.files.Kustomize != ""
}

func (f *targetFlags) complete(args []string) error {
	f.args, f.selector = args, strings.TrimSpace(f.selector) // a blank selector counts as no selector
	if word, name := os.Getenv(typeVariable), f.bareName(); word != "" && name != "" {
		args = []string{word + "/" + name}
		f.args = args
	}
	bare := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.Contains(arg, "/") })
	switch _, err := labels.Parse(f.selector); {
	case len(args) == 0 && !f.given():
		return usageErrorf("a NAME or TYPE/NAME is required")
	case len(args) == 0 && !f.fromFiles() && f.without == noKind:
		return usageErrorf("a TYPE is required")
	case f.files.Kustomize != "" && (f.files.Recursive || len(f.files.Filenames) > 0):
		return usageErrorf("-k cannot be used together with -f or -R")
	case len(args) > 0 && f.fromFiles():
		return usageErrorf("-f and -k cannot be used together with arguments")
	case slices.Contains(args, ""):
		return usageErrorf("invalid name \"\": it is empty")
	case err != nil:
		return usageErrorf("invalid argument %q for \"-l, --selector\" flag: %w", f.selector, err)
	case len(bare) > 0 && len(bare) < len(args):
		return usageErrorf("%q needs a type, because other arguments have one: use imoocpod/%s", bare[0], bare[0])
	case f.allNamespaces && f.fromFiles():
		return usageErrorf("-A cannot be used together with -f or -k")
	case f.onlyImoocPods():
		return f.checkNames()
	}
	// Malformed names, and names with flags that select, cause the same errors as in kubectl.
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

// typeVariable is the environment variable with the type of a bare NAME, which is an ImoocPod by default.
const typeVariable = "KUBECTL_IMOOCPOD_TYPE"

func defaultType() string {
	return cmp.Or(os.Getenv(typeVariable), kinds.ImoocPod().Singular)
}

// named returns pairs of a type and a name: the objects that the arguments name. The arguments are TYPE/NAME
// …, TYPE NAME …, or the NAME of an ImoocPod. It returns nothing if flags select the objects.
func (f *targetFlags) named() (all [][2]string) {
	if f.given() {
		return nil
	}
	for i, arg := range f.args {
		word, name, _ := strings.Cut(arg, "/")
		if !strings.Contains(f.args[0], "/") {
			word, name = f.args[0], arg
			if len(f.args) == 1 {
				word = kinds.ImoocPod().Singular
			} else if i == 0 {
				continue // the type of the following names
			}
		}
		all = append(all, [2]string{word, name})
	}
	return all
}

// onlyImoocPods reports whether the arguments name ImoocPods and nothing else. Such arguments need no discovery.
func (f *targetFlags) onlyImoocPods() bool {
	named, types := f.named(), kube.TypeNames(kinds.ImoocPod())
	another := func(pair [2]string) bool { return !slices.Contains(types, pair[0]) }
	return len(named) > 0 && !slices.ContainsFunc(named, another)
}

// checkNames returns a usage error for the first invalid name of an object.
func (f *targetFlags) checkNames() error {
	for _, pair := range f.named() {
		if problem := apis.NameProblem(pair[1]); problem != "" {
			return usageErrorf("invalid name %q: %s", pair[1], problem)
		}
	}
	return nil
}

// bareName returns the only argument if it is a NAME without a type, or else "".
func (f *targetFlags) bareName() string {
	if f.given() || len(f.args) != 1 || strings.Contains(f.args[0], "/") {
		return ""
	}
	return f.args[0]
}

func (f *targetFlags) namesType(ctx context.Context, c *cluster) bool {
	name := f.bareName()
	if name == "" {
		return false
	}
	_, err := c.KindNamed(ctx, name)
	return err == nil
}

// kindNamed returns the kind that a word names. An ImoocPod needs no discovery.
func kindNamed(ctx context.Context, c *kube.Clients, word string) (kinds.Kind, error) {
	if slices.Contains(kube.TypeNames(kinds.ImoocPod()), word) {
		return kinds.ImoocPod(), nil
	}
	return c.KindNamed(ctx, word)
}

// name converts the arguments to targets without reading the objects. It returns nothing if flags select the objects.
func (f *targetFlags) name(ctx context.Context, c *cluster) (found []observe.Target, errs []error) {
	return each(f.named(), nil, func(pair [2]string) (observe.Target, error) {
		kind, err := kindNamed(ctx, c.Clients, pair[0])
		return observe.Named(kind, c.namespace, pair[1]), err
	})
}

// find resolves arguments and flags to objects. It returns an error for each argument that it cannot resolve,
// or errNothingFound if no object matches.
func (f *targetFlags) find(ctx context.Context, c *cluster) (found []observe.Target, errs []error) {
	switch {
	case f.untyped():
		found, errs = f.findEveryKind(ctx, c)
	case f.onlyImoocPods():
		found, errs = f.name(ctx, c)
	default:
		found, errs = f.build(ctx, c)
		for i, t := range found {
			if f.fromFiles() || t.Kind.GroupVersionKind() != t.Object.GroupVersionKind() {
				found[i].Object = nil // a file may be outdated, and the CRD's declaration may name another version
			}
		}
	}
	if len(found)+len(errs) == 0 {
		errs = []error{errNothingFound}
	}
	return found, errs
}

// build returns the objects that kubectl's builder finds. With -n, it rejects files with objects of other namespaces.
func (f *targetFlags) build(ctx context.Context, c *cluster) (found []observe.Target, errs []error) {
	infos, err := resource.NewBuilder(c.Flags).
		Unstructured().
		ContinueOnError().
		NamespaceParam(c.namespace).DefaultNamespace().AllNamespaces(f.allNamespaces).
		FilenameParam(c.given && !f.allNamespaces, &f.files).
		LabelSelectorParam(f.selector).
		RequestChunksOf(500). // as kubectl does
		ResourceTypeOrNameArgs(f.all || f.allNamespaces, f.args...).
		Flatten().
		Do().
		Infos()
	if err != nil {
		errs = f.explainTypes(utilerrors.Flatten(utilerrors.NewAggregate([]error{err})).Errors())
	}
	return each(infos, errs, func(info *resource.Info) (observe.Target, error) {
		kind, err := c.KindOf(ctx, info.Mapping)
		obj, _ := info.Object.(*unstructured.Unstructured)
		return observe.Target{Kind: kind, Namespace: info.Namespace, Name: info.Name, Object: obj}, err
	})
}

// explainTypes adds advice to errors about unknown types, such as what to install and how to name objects.
func (f *targetFlags) explainTypes(errs []error) []error {
	named := defaultType() + "/"
	for i, err := range errs {
		err = kube.ExplainType(err)
		unknown, is := errors.AsType[*outcome.UnknownTypeError](err)
		if word := os.Getenv(typeVariable); is && word != "" && unknown.Type == word {
			err = outcome.WithAdvice(err, "the type comes from the environment variable "+typeVariable)
		}
		switch {
		case !is || len(f.args) == 0 || strings.ContainsAny(f.args[0], "/,"):
		case len(f.args) > 1:
			err = outcome.WithAdvice(err, "with several arguments, the first is the TYPE; to name several objects, use "+named+strings.Join(f.args, " "+named))
		default:
			err = outcome.WithAdvice(err, "with -l, --all or -A, an argument is a TYPE; to name an object, use "+named+f.args[0])
		}
		errs[i] = err
	}
	return errs
}

// errNothingFound means that no object matches the arguments. Verbs that show, delete, park, or unpark
// objects succeed anyway, and so does a wait for a deletion.
var errNothingFound = errors.New("no matching resources found")

func (f *targetFlags) sayNothingFound(ctx context.Context, c *cluster) error {
	where := " in " + c.namespace + " namespace."
	if f.allNamespaces {
		where = "."
	} else if c.LacksNamespace(ctx, c.namespace) {
		where += " There is no such namespace."
	}
	return escape.PrintLine(c.streams.ErrOut, "No resources found%s", where)
}
