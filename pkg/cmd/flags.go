package cmd

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/podtemplate"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
)

// parsed is a flag value that a function parses.
type parsed[T any] struct {
	value *T
	parse func(word string) (T, error)
	// kind is the type of the value in help texts.
	kind string
}

func (p parsed[T]) Set(word string) error {
	value, err := p.parse(word)
	if err == nil {
		*p.value = value
	}
	return err
}

func (p parsed[T]) String() string { return fmt.Sprint(*p.value) }

func (p parsed[T]) Type() string { return p.kind }

// optional returns a flag whose value is nil until the user sets the flag.
func optional[T any](value **T, parse func(word string) (T, error), kind string) parsed[*T] {
	return parsed[*T]{value, func(word string) (*T, error) {
		parsed, err := parse(word)
		return &parsed, err
	}, kind}
}

// addChoice adds a flag whose value is one of a few words. The words replace %s in the usage text,
// completion offers the words, and any other value is an error.
func addChoice[T ~string](cmd *cobra.Command, value *T, flag, usage string, words ...T) {
	cmd.Flags().Var(parsed[T]{value, func(word string) (T, error) {
		if !slices.Contains(words, T(word)) {
			return "", errors.New("must be " + alternatives(words))
		}
		return T(word), nil
	}, "string"}, flag, strings.Replace(usage, "%s", alternatives(words), 1))
	completeFlag(cmd, flag, words...)
}

// addChoices is like addChoice, but the value of the flag is a comma-separated list of the words.
func addChoices(cmd *cobra.Command, value *[]string, flag, usage string, words ...string) {
	cmd.Flags().Var(parsed[[]string]{value, func(text string) ([]string, error) {
		chosen := strings.Split(text, ",")
		if slices.ContainsFunc(chosen, func(word string) bool { return !slices.Contains(words, word) }) {
			return nil, errors.New("must be " + alternatives(words))
		}
		return chosen, nil
	}, "strings"}, flag, strings.Replace(usage, "%s", alternatives(words), 1))
	cmd.Flags().Lookup(flag).DefValue = ""
	completeFlag(cmd, flag, words...)
}

// alternatives quotes words, and joins them with commas and "or".
func alternatives[T ~string](words []T) string {
	var quoted []string
	for _, word := range words {
		quoted = append(quoted, fmt.Sprintf("%q", word))
	}
	last := len(quoted) - 1
	if last < 2 {
		return strings.Join(quoted, " or ")
	}
	return strings.Join(quoted[:last], ", ") + ", or " + quoted[last]
}

// addDuration adds a flag for a duration of zero or more, with the current value as its default.
func addDuration(flags *pflag.FlagSet, value *time.Duration, name, usage string) {
	flags.Var(parsed[time.Duration]{value, parseLength, "duration"}, name, usage)
	if *value == 0 {
		flags.Lookup(name).DefValue = ""
	}
}

func parseLength(word string) (time.Duration, error) {
	length, err := parseDuration(word)
	if err == nil && length < 0 {
		err = errors.New("must be 0 or more")
	}
	return length, err
}

// parseDuration is like time.ParseDuration, but also accepts days, such as 2d or 1d12h.
func parseDuration(word string) (time.Duration, error) {
	days, rest, found := strings.Cut(word, "d")
	if !found {
		return time.ParseDuration(word)
	}
	n, err := strconv.ParseUint(days, 10, 16)
	length, invalid := time.ParseDuration(fmt.Sprintf("%dh%s", 24*n, rest))
	if err != nil || invalid != nil {
		return 0, fmt.Errorf("invalid duration %q: use a number and a unit, such as 30s, 5m, 2h, or 1d", word)
	}
	return length, nil
}

func numberFlag[T int | int32 | int64](value *T, least T) parsed[T] {
	bits := reflect.TypeFor[T]().Bits()
	return parsed[T]{value, func(word string) (T, error) {
		n, err := strconv.ParseInt(word, 0, bits) // base 0, as in pflag
		if err != nil || n < int64(least) {
			return 0, fmt.Errorf("must be a whole number from %d to %d", least, uint64(1)<<(bits-1)-1)
		}
		return T(n), nil
	}, fmt.Sprintf("%T", *value)}
}

func imageFlag(value *string) parsed[string] {
	return parsed[string]{value, func(word string) (string, error) { return word, podtemplate.CheckImage(word) }, "string"}
}

func addReplicasPathFlag(cmd *cobra.Command, path **fieldpath.Path) {
	cmd.Flags().Var(optional(path, candidates.ParsePath, "path"), "replicas-path", "JSONPath of the replica field, for types that do not name it.")
}

func addAllNamespacesFlag(cmd *cobra.Command, all *bool) {
	cmd.Flags().BoolVarP(all, "all-namespaces", "A", false, "Act on all namespaces instead of the current one.")
}

func addYesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVar(yes, "yes", false, "Do not ask on a terminal before a change that takes away the pods of objects. Without a terminal, nothing is asked.")
}

// parseSpecField parses the value of --template-path or --image-path: the path of a field in .spec.
func parseSpecField(word string) (fieldpath.Path, error) {
	path, err := fieldpath.ParsePath(word)
	if err == nil && path.Last().Kind != fieldpath.Field {
		err = errors.New("it must be a field, such as .spec.template")
	}
	return path, err
}

// dryRun is the value of kubectl's --dry-run: none, client or server.
type dryRun string

func (d *dryRun) addFlag(cmd *cobra.Command) {
	*d = "none"
	addChoice(cmd, d, "dry-run", `Must be %s. If client strategy, only print the object that would be sent, without sending it. If server strategy, submit server-side request without persisting the resource.`, "none", "server", "client")
	cmd.Flags().Lookup("dry-run").NoOptDefVal = "client"
}

func (d *dryRun) client() bool { return *d == "client" }

// server returns the dryRun option of a write request.
func (d *dryRun) server() []string {
	if *d == "server" {
		return []string{metav1.DryRunAll}
	}
	return nil
}

func (d *dryRun) mark(message string) string {
	return message + map[dryRun]string{"client": " (dry run)", "server": " (server dry run)"}[*d]
}
