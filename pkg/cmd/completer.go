package cmd

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
)

// completionProgram is the name under which kubectl calls this program for completions.
const completionProgram = "kubectl_complete-imoocpod"

// Arguments returns argv without its first element. If kubectl called this program for completions, Arguments prepends
// cobra's completion command, whose output kubectl can parse.
func Arguments(argv []string) []string {
	if strings.TrimSuffix(filepath.Base(argv[0]), ".exe") == completionProgram {
		return append([]string{cobra.ShellCompRequestCmd}, argv[1:]...)
	}
	return argv[1:]
}

// addCompletion registers completions for all verbs. By default, a completion offers nothing, not even files.
func addCompletion(root *cobra.Command, common commonOptions) {
	values := map[string]cobra.CompletionFunc{
		"namespace":     common.bounded(namespaces),
		"context":       common.configured(func(c clientcmdapi.Config) iter.Seq[string] { return maps.Keys(c.Contexts) }),
		"cluster":       common.configured(func(c clientcmdapi.Config) iter.Seq[string] { return maps.Keys(c.Clusters) }),
		"user":          common.configured(func(c clientcmdapi.Config) iter.Seq[string] { return maps.Keys(c.AuthInfos) }),
		"replicas-path": common.bounded(paths),
	}
	files := []string{"filename", "kustomize", "template", "kubeconfig", "certificate-authority", "client-certificate", "client-key", "cache-dir", "kind-file"}
	for _, verb := range append(commandsBelow(root), root) {
		verb.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			complete := values[flag.Name]
			switch {
			case slices.Contains(files, flag.Name):
				return // completed by the shell
			case flag.Value.Type() == "bool":
				complete = oneOf("true", "false")
			case complete == nil:
				complete = cobra.NoFileCompletions
			}
			_ = verb.RegisterFlagCompletionFunc(flag.Name, complete) // fails if the verb has registered another one
		})
		switch {
		case verb == root || len(verb.ValidArgs) > 0 || verb.ValidArgsFunction != nil: // completed by cobra
		case verb.Flags().Lookup("all") != nil, verb.Name() == "create":
			verb.ValidArgsFunction = common.bounded(objects)
		default:
			verb.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}

func commandsBelow(cmd *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, sub := range cmd.Commands() {
		all = append(append(all, sub), commandsBelow(sub)...)
	}
	return all
}

// bounded returns a completion that calls find. It offers nothing if no cluster is configured, or if find takes longer
// than two seconds.
func (o *commonOptions) bounded(find func(context.Context, *cluster, *cobra.Command, []string, string) []cobra.Completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp
		c, err := o.connect()
		if err != nil {
			return nil, directive
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
		defer cancel()
		// Discovery and credential plugins ignore the context, so find may outlast the context.
		found := make(chan []cobra.Completion, 1)
		go func() { found <- find(ctx, c, cmd, args, word) }()
		var words []cobra.Completion
		select {
		case words = <-found:
		case <-ctx.Done():
		}
		if slices.ContainsFunc(words, func(w cobra.Completion) bool { return strings.Contains(w, "/\t") }) {
			directive |= cobra.ShellCompDirectiveNoSpace // a name follows the slash
		}
		return harmless(word, words), directive
	}
}

// unquoted lists characters that are dangerous in an unquoted word: a shell could run a command or write a
// file. Some versions of kubectl do not quote completions in bash.
const unquoted = "$`;&|<>!\\"

// harmless returns the completions that begin with the typed word and are safe in a terminal and in a command, with
// escaped descriptions.
func harmless[T ~string](typed string, words []T) []cobra.Completion {
	var all []cobra.Completion
	for _, w := range words {
		word, description, _ := strings.Cut(string(w), "\t")
		switch {
		case !strings.HasPrefix(word, typed), word != escape.Line(word), strings.ContainsAny(word, unquoted):
		case description == "":
			all = append(all, word)
		default:
			all = append(all, cobra.CompletionWithDesc(word, escape.Cell(description)))
		}
	}
	return all
}

func completeFlag[T ~string](cmd *cobra.Command, flag string, words ...T) {
	utilruntime.Must(cmd.RegisterFlagCompletionFunc(flag, oneOf(words...))) // the flag exists and is registered once
}

func oneOf[T ~string](words ...T) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return harmless(word, words), cobra.ShellCompDirectiveNoFileComp
	}
}

// objects completes the arguments that name objects: NAME, TYPE/NAME, or a TYPE followed by names.
func objects(ctx context.Context, c *cluster, cmd *cobra.Command, args []string, word string) []cobra.Completion {
	selected := slices.ContainsFunc([]string{"selector", "all", "all-namespaces"}, cmd.Flags().Changed)
	kindWord, _, slash := strings.Cut(word, "/")
	switch {
	case cmd.Name() == "create" && (slash || len(args) > 0):
		return nil // the name is new
	case cmd.Name() == "create":
		return c.types("/")
	case cmd.Flags().Changed("filename") || cmd.Flags().Changed("kustomize"), selected && len(args) > 0:
		return nil
	case selected:
		return c.types("")
	case slash:
		return c.names(ctx, kindWord, kindWord+"/", args)
	case len(args) == 0:
		return append(c.names(ctx, defaultType(), "", nil), c.types("")...)
	case strings.Contains(args[0], "/"):
		return c.types("/")
	}
	// The first word is a type, because nothing can follow the NAME of an ImoocPod.
	return c.names(ctx, args[0], "", args[1:])
}

// types offers the types that may have pods, each with the suffix. Types that share a name get their full names.
func (c *cluster) types(suffix string) []cobra.Completion {
	kinds, _ := c.Finder.Kinds() // a partial list is better than none
	shared := map[string]int{}
	for _, k := range kinds {
		shared[k.Resource.Resource]++
	}
	var words []cobra.Completion
	for _, k := range kinds {
		name := k.Resource.Resource
		if shared[name] > 1 {
			name = k.CRD()
		}
		words = append(words, cobra.CompletionWithDesc(name+suffix, strings.TrimSpace(k.Kind+" "+k.Resource.Group)))
	}
	return words
}

// names offers the objects of a type as prefix and name, with the state as description. It omits the words in named.
func (c *cluster) names(ctx context.Context, kindWord, prefix string, named []string) []cobra.Completion {
	kind, err := kindNamed(ctx, c.Clients, kindWord)
	if err != nil {
		return nil
	}
	client := observe.Named(kind, c.namespace, "").Resource(c.Dynamic)
	// Resource version 0 allows the server to answer from its cache.
	list, err := client.List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil
	}
	var words []cobra.Completion
	for i := range list.Items {
		name := prefix + list.Items[i].GetName()
		if !slices.Contains(named, name) {
			words = append(words, cobra.CompletionWithDesc(name, doing(kind, &list.Items[i])))
		}
	}
	return words
}

func doing(kind kinds.Kind, obj *unstructured.Unstructured) string {
	o, err := facts.Of(kind, obj)
	switch {
	case err != nil || o.ReadyUnknown:
		return ""
	case !o.Deleted.IsZero():
		return "being deleted"
	}
	return fmt.Sprintf("%d/%d ready", o.Ready, o.Desired)
}

// paths offers the paths of the possible replica fields of the first named object. The known field, if any, is first.
func paths(ctx context.Context, c *cluster, _ *cobra.Command, args []string, _ string) []cobra.Completion {
	var words []cobra.Completion
	targets, _ := (&targetFlags{args: args}).find(ctx, c)
	if len(targets) == 0 || targets[0].Read(ctx, c.Dynamic) != nil {
		return nil
	}
	t, known := targets[0], ""
	if field, err := c.Finder.Find(ctx, t.Kind, t.Object, nil); err == nil && field.Path != nil {
		known = field.Path.String()
		words = append(words, cobra.CompletionWithDesc(known, field.Found))
	}
	schema, err := c.Finder.Schema(t.Kind)
	if err != nil {
		return words
	}
	for _, candidate := range candidates.Fields(schema, t.Object.Object) {
		if path := candidate.Path.String(); !candidate.Pattern && path != known {
			words = append(words, cobra.CompletionWithDesc(path, strings.TrimLeft(candidate.Remarks(), " :")))
		}
	}
	return words
}

func namespaces(ctx context.Context, c *cluster, _ *cobra.Command, _ []string, _ string) []cobra.Completion {
	list, err := c.Core.Namespaces().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil
	}
	var words []cobra.Completion
	for _, n := range list.Items {
		words = append(words, n.Name)
	}
	return words
}

func (o *commonOptions) configured(names func(clientcmdapi.Config) iter.Seq[string]) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		config, _ := o.factory.Flags.ToRawKubeConfigLoader().RawConfig()
		return harmless(word, slices.Sorted(names(config))), cobra.ShellCompDirectiveNoFileComp
	}
}
