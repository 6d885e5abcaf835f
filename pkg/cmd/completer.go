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
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
)

// completionProgram is the name under which kubectl calls the program for what
// could come next on the command line.
const completionProgram = "kubectl_complete-imoocpod"

// completionTimeout is how long a person at the keyboard waits for completions.
const completionTimeout = 2 * time.Second

// Arguments are those of the command that a process was started for. Under the
// name by which kubectl asks for completions, it is the command of cobra that
// gives them: kubectl understands its answer.
func Arguments(argv []string) []string {
	if strings.TrimSuffix(filepath.Base(argv[0]), ".exe") == completionProgram {
		return append([]string{cobra.ShellCompRequestCmd}, argv[1:]...)
	}
	return argv[1:]
}

// found is what could come next.
type found struct {
	words []cobra.Completion
	// noSpace says that a word is not at its end yet.
	noSpace bool
}

// completer finds what could come next on the command line of a verb.
type completer struct {
	c *kube.Factory
}

// addCompletion makes arguments and flags of all verbs complete. Where nothing
// is known of what can come, nothing is offered, least of all a file.
func addCompletion(root *cobra.Command, c *kube.Factory) {
	f := completer{c}
	values := map[string]cobra.CompletionFunc{
		"namespace":     bounded(f.namespaces),
		"context":       f.configured(func(c clientcmdapi.Config) iter.Seq[string] { return maps.Keys(c.Contexts) }),
		"cluster":       f.configured(func(c clientcmdapi.Config) iter.Seq[string] { return maps.Keys(c.Clusters) }),
		"user":          f.configured(func(c clientcmdapi.Config) iter.Seq[string] { return maps.Keys(c.AuthInfos) }),
		"replicas-path": bounded(f.paths),
	}
	files := []string{"filename", "kustomize", "template", "kubeconfig", "certificate-authority", "client-certificate", "client-key", "cache-dir"}
	offer := func(of *cobra.Command) func(*pflag.Flag) {
		return func(flag *pflag.Flag) {
			complete := values[flag.Name]
			_, known := of.GetFlagCompletionFunc(flag.Name)
			switch {
			case known || slices.Contains(files, flag.Name):
				return // said where it is added, or what shells do by themselves
			case flag.Value.Type() == "bool":
				complete = oneOf("true", "false")
			case complete == nil:
				complete = cobra.NoFileCompletions
			}
			completeFlagBy(of, flag.Name, complete)
		}
	}
	root.PersistentFlags().VisitAll(offer(root))
	for _, verb := range commandsBelow(root) {
		verb.LocalNonPersistentFlags().VisitAll(offer(verb))
		if len(verb.ValidArgs) > 0 {
			continue
		}
		switch {
		case verb.Flags().Lookup("selector") != nil && verb.Name() != "run-controller":
			verb.ValidArgsFunction = bounded(f.objects)
		case verb.Name() == "create":
			verb.ValidArgsFunction = bounded(f.typesToCreate)
		default:
			verb.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}

// commandsBelow are the commands below another, at any depth.
func commandsBelow(cmd *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, sub := range cmd.Commands() {
		all = append(append(all, sub), commandsBelow(sub)...)
	}
	return all
}

// bounded makes a completion of something that asks a server: it says nothing
// where the answer takes too long.
func bounded(find func(ctx context.Context, cmd *cobra.Command, args []string, word string) found) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		answer := make(chan found, 1)
		// Not all that is called below ends with a context: discovery does not, nor
		// a program that gives credentials. What is late is left behind.
		go func() { answer <- find(ctx, cmd, args, word) }()
		directive := cobra.ShellCompDirectiveNoFileComp
		select {
		case a := <-answer:
			if a.noSpace {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
			return beginningWith(word, harmless(a.words)), directive
		case <-ctx.Done():
			return nil, directive
		}
	}
}

// harmless are completions that a shell can show. A word that a terminal must not
// see as it is cannot be typed either, so it is left out.
func harmless(words []cobra.Completion) []cobra.Completion {
	var all []cobra.Completion
	for _, w := range words {
		word, description, _ := strings.Cut(w, "\t")
		switch {
		case word != escape.Line(word):
		case description == "":
			all = append(all, word)
		default:
			all = append(all, cobra.CompletionWithDesc(word, escape.Cell(description)))
		}
	}
	return all
}

func completeFlag[T ~string](cmd *cobra.Command, flag string, words ...T) {
	completions := make([]cobra.Completion, 0, len(words))
	for _, word := range words {
		completions = append(completions, string(word))
	}
	completeFlagBy(cmd, flag, oneOf(completions...))
}

func completeFlagBy(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // cannot be: the flag is there, and is met once
	}
}

func oneOf(words ...cobra.Completion) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return beginningWith(word, slices.Clone(words)), cobra.ShellCompDirectiveNoFileComp
	}
}

func beginningWith(word string, words []cobra.Completion) []cobra.Completion {
	return slices.DeleteFunc(words, func(w cobra.Completion) bool { return !strings.HasPrefix(w, word) })
}

// objects completes what targetFlags reads: NAME, TYPE/NAME… or TYPE NAME….
func (f completer) objects(ctx context.Context, cmd *cobra.Command, args []string, word string) found {
	selected := slices.ContainsFunc([]string{"selector", "all", "all-namespaces"}, cmd.Flags().Changed)
	kindWord, _, slash := strings.Cut(word, "/")
	switch {
	case cmd.Flags().Changed("filename") || cmd.Flags().Changed("kustomize"):
		return found{}
	case selected && len(args) == 0:
		return found{words: f.types("")}
	case selected:
		return found{}
	case slash:
		return found{words: f.names(ctx, kindWord, kindWord+"/", args)}
	case len(args) == 0:
		own := f.names(ctx, kinds.ImoocPod().Singular, "", nil)
		return found{words: append(own, f.types("")...)}
	case strings.Contains(args[0], "/"):
		return found{words: f.types("/"), noSpace: true}
	}
	// The first word is a type, or else the name of the one ImoocPod meant.
	return found{words: f.names(ctx, args[0], "", args[1:])}
}

// typesToCreate completes TYPE/NAME as far as the type: the name is new.
func (f completer) typesToCreate(_ context.Context, _ *cobra.Command, args []string, word string) found {
	if len(args) > 0 || strings.Contains(word, "/") {
		return found{}
	}
	return found{words: f.types("/"), noSpace: true}
}

// types lists the types that carry a replica count or could, by the word that
// names no other.
func (f completer) types(suffix string) []cobra.Completion {
	finder, err := f.c.Finder()
	if err != nil {
		return nil
	}
	kinds, _ := finder.Kinds() // what could be read is better than nothing
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

// names lists the objects of a type but those that are named already, each
// with how it is doing.
func (f completer) names(ctx context.Context, kindWord, prefix string, named []string) []cobra.Completion {
	t := observe.Target{Kind: kinds.ImoocPod()}
	namespace, _, err := f.c.Namespace()
	if err != nil {
		return nil
	}
	t.Namespace = namespace
	if !slices.Contains(kube.TypeNames(kinds.ImoocPod()), kindWord) {
		if t.Kind, err = f.c.KindNamed(ctx, kindWord); err != nil {
			return nil
		}
	}
	client, err := f.c.Dynamic()
	if err != nil {
		return nil
	}
	// Zero is any version: that of the server's cache is near enough.
	list, err := t.Resource(client).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil
	}
	var words []cobra.Completion
	for i := range list.Items {
		name := prefix + list.Items[i].GetName()
		if !slices.Contains(named, name) {
			words = append(words, cobra.CompletionWithDesc(name, doing(t.Kind, &list.Items[i])))
		}
	}
	return words
}

// doing says in a few words how an object is doing, "" where it does not tell.
func doing(kind kinds.Kind, obj *unstructured.Unstructured) string {
	o, err := facts.Of(kind, obj)
	switch {
	case err != nil || o.WithoutReplicas:
		return ""
	case !o.Deleted.IsZero():
		return "being deleted"
	}
	return fmt.Sprintf("%d/%d ready", o.Ready, o.Desired)
}

// paths lists the fields of the object named that could be its replica count,
// the one that is it first.
func (f completer) paths(ctx context.Context, _ *cobra.Command, args []string, _ string) found {
	targets, _ := (&targetFlags{args: args}).find(ctx, f.c)
	finder, err := f.c.Finder()
	if err != nil || len(targets) == 0 {
		return found{}
	}
	t := targets[0]
	if err := t.Read(ctx, finder.Dynamic); err != nil {
		return found{}
	}
	var words []cobra.Completion
	known := ""
	if field, err := finder.Find(ctx, t.Kind, t.Object, nil); err == nil {
		path := field.Path
		if path == nil {
			path = t.Kind.Path()
		}
		if path != nil {
			known = path.String()
			words = append(words, cobra.CompletionWithDesc(known, field.Found))
		}
	}
	schema, err := finder.Schema(t.Kind)
	if err != nil {
		return found{words: words}
	}
	for _, candidate := range candidates.Fields(schema, t.Object.Object) {
		if !candidate.Pattern && candidate.Path != known {
			words = append(words, cobra.CompletionWithDesc(candidate.Path, strings.TrimLeft(remarks(candidate), " :")))
		}
	}
	return found{words: words}
}

func (f completer) namespaces(ctx context.Context, _ *cobra.Command, _ []string, _ string) found {
	core, err := f.c.Core()
	if err != nil {
		return found{}
	}
	list, err := core.Namespaces().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return found{}
	}
	var words []cobra.Completion
	for _, n := range list.Items {
		words = append(words, n.Name)
	}
	return found{words: words}
}

// configured completes the names of something that is in the kubeconfig.
func (f completer) configured(names func(clientcmdapi.Config) iter.Seq[string]) cobra.CompletionFunc {
	return bounded(func(context.Context, *cobra.Command, []string, string) found {
		config, _ := f.c.Flags.ToRawKubeConfigLoader().RawConfig()
		return found{words: slices.Sorted(names(config))}
	})
}
