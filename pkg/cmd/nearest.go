package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// nearestTo are those of some words that a word may be meant to be. cobra knows how near
// two names are, but only for commands.
func nearestTo(word string, words []string) []string {
	if len(word) < 3 {
		return nil // it would be near to many
	}
	all := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, w := range words {
		all.AddCommand(&cobra.Command{Use: w, Run: func(*cobra.Command, []string) {}})
	}
	return all.SuggestionsFor(word)
}

func didYouMean(nearest []string) string {
	if len(nearest) == 0 {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", strings.Join(nearest, " or "))
}
