package cmd

import (
	"errors"
	"strconv"
	"strings"
)

// choice is the value of a flag that is one of a few words.
type choice[T ~string] struct {
	value *T
	// words are those that may be chosen, quoted, as a message lists them:
	// "wait" or "exit".
	words string
}

// Set takes a value from the command line.
func (c choice[T]) Set(word string) error {
	if !strings.Contains(c.words, strconv.Quote(word)) {
		return errors.New("must be " + c.words)
	}
	*c.value = T(word)
	return nil
}

// String returns the value.
func (c choice[T]) String() string {
	if c.value == nil {
		return ""
	}
	return string(*c.value)
}

// Type names the kind of value in help texts.
func (c choice[T]) Type() string { return "string" }
