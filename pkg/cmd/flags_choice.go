package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
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
