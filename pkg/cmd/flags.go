package cmd

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/schemawalk"
)

// choice is the value of a flag that is one of a few words.
type choice[T ~string] struct {
	value *T
	words []T
}

// addChoice adds a flag that is one of a few words. These are what its usage lists in
// the place of %s, what completion offers, and what is not refused.
func addChoice[T ~string](cmd *cobra.Command, value *T, flag, usage string, words ...T) {
	c := choice[T]{value, words}
	cmd.Flags().Var(c, flag, strings.Replace(usage, "%s", c.alternatives(), 1))
	completeFlag(cmd, flag, words...)
}

func (c choice[T]) Set(word string) error {
	if !slices.Contains(c.words, T(word)) {
		return errors.New("must be " + c.alternatives())
	}
	*c.value = T(word)
	return nil
}

// alternatives lists the words as a sentence does.
func (c choice[T]) alternatives() string {
	var quoted []string
	for _, word := range c.words {
		quoted = append(quoted, fmt.Sprintf("%q", word))
	}
	last := len(quoted) - 1
	if last < 2 {
		return strings.Join(quoted, " or ")
	}
	return strings.Join(quoted[:last], ", ") + ", or " + quoted[last]
}

func (c choice[T]) String() string { return string(*c.value) }

func (c choice[T]) Type() string { return "string" }

// count is a flag's number of replicas: of 32 bits, and no less than least.
type count struct {
	value *int32
	least int32
}

func (c count) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < int64(c.least) {
		return fmt.Errorf("must be a whole number from %d to %d", c.least, math.MaxInt32)
	}
	*c.value = int32(n)
	return nil
}

func (c count) String() string { return strconv.FormatInt(int64(*c.value), 10) }

func (c count) Type() string { return "int32" }

// parsedFlag is a flag whose value a function parses: nil until the flag is given.
type parsedFlag[T fmt.Stringer] struct {
	value **T
	parse func(word string) (T, error)
	// kind names the kind of value in help texts.
	kind string
}

func (f parsedFlag[T]) Set(word string) error {
	value, err := f.parse(word)
	if err != nil {
		return err
	}
	*f.value = &value
	return nil
}

func (f parsedFlag[T]) String() string {
	if *f.value == nil {
		return ""
	}
	return (**f.value).String()
}

func (f parsedFlag[T]) Type() string { return f.kind }

func addReplicasPathFlag(cmd *cobra.Command, path **fieldpath.Path) {
	cmd.Flags().Var(replicasPathFlag(path), "replicas-path", "JSONPath of the replica field, for types that do not name it.")
}

func replicasPathFlag(path **fieldpath.Path) parsedFlag[fieldpath.Path] {
	return parsedFlag[fieldpath.Path]{path, parseReplicasPath, "path"}
}

func parseReplicasPath(word string) (fieldpath.Path, error) {
	path, err := fieldpath.ParsePath(word)
	if err == nil && slices.ContainsFunc(path.Steps, hasPlaceholder) {
		err = fmt.Errorf("path %q: replace %s with the key of the element", word, schemawalk.Unknown)
	}
	return path, err
}

// hasPlaceholder reports whether a step of a path was copied from a list of candidates
// without putting in the key.
func hasPlaceholder(s fieldpath.Step) bool {
	return s.Name == schemawalk.Unknown || slices.ContainsFunc(s.Where, func(c fieldpath.Comparison) bool { return c.Value == schemawalk.Unknown })
}

// specFieldFlag is the value of --template-path and --image-path: a field under .spec.
func specFieldFlag(path **fieldpath.Path) parsedFlag[fieldpath.Path] {
	return parsedFlag[fieldpath.Path]{path, parseSpecField, "path"}
}

func parseSpecField(word string) (fieldpath.Path, error) {
	path, err := fieldpath.ParseSteps(word)
	if err != nil {
		return path, fmt.Errorf("path %q: %w", word, err)
	}
	last := path.Steps[len(path.Steps)-1]
	if path.Steps[0].Name != "spec" || len(path.Steps) == 1 || last.Kind != fieldpath.Field {
		return path, errors.New("it must be a field in .spec, such as .spec.template")
	}
	return path, nil
}

// dryRun is kubectl's --dry-run: none, client or server.
type dryRun string

func (d *dryRun) addFlag(cmd *cobra.Command) {
	*d = "none"
	addChoice(cmd, d, "dry-run", `Must be %s. If client strategy, only print the object that would be sent, without sending it. If server strategy, submit server-side request without persisting the resource.`, "none", "server", "client")
	cmd.Flags().Lookup("dry-run").NoOptDefVal = "client"
}

func (d *dryRun) client() bool { return *d == "client" }

// server is what to put into the options of a write request.
func (d *dryRun) server() []string {
	if *d == "server" {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// mark makes a success message say that nothing was kept.
func (d *dryRun) mark(message string) string {
	switch *d {
	case "client":
		return message + " (dry run)"
	case "server":
		return message + " (server dry run)"
	}
	return message
}
