package outcome

import (
	"errors"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
)

// HintedError is an error with a hint about what to do next. The hint is no part of the
// message: main prints it on a line of its own, with the flags that reach the same cluster.
type HintedError struct {
	Err  error
	Text string
	// Command follows the text if it is not nil.
	Command *commandline.Command
}

// WithHint returns the error with a hint, such as "to continue", and the command for it.
func WithHint(err error, text string, cmd commandline.Command) error {
	return &HintedError{Err: err, Text: text, Command: &cmd}
}

// WithAdvice returns the error with a hint that has no command.
func WithAdvice(err error, text string) error { return &HintedError{Err: err, Text: text} }

func (e *HintedError) Error() string { return e.Err.Error() }

// Unwrap returns the error without the hint.
func (e *HintedError) Unwrap() error { return e.Err }

// Line returns the hint as one line.
func (e *HintedError) Line(c commandline.Context) string {
	if e.Command == nil {
		return e.Text
	}
	return e.Text + ": " + c.Line(*e.Command)
}

// WithoutHints returns the error without the hints in it.
func WithoutHints(err error) error { return &unhintedError{err} }

// unhintedError hides what it wraps from Hints, which looks for Unwrap.
type unhintedError struct{ err error }

func (e *unhintedError) Error() string { return e.err.Error() }

// Is makes the error the one that it wraps.
func (e *unhintedError) Is(target error) bool { return errors.Is(e.err, target) }

// As does the same.
func (e *unhintedError) As(target any) bool { return errors.As(e.err, target) }

// Hints returns the hints in an error and everything that it wraps, in the order in which
// they were added.
func Hints(err error) []*HintedError {
	var hints []*HintedError
	switch wrapper := err.(type) { //nolint:errorlint // it walks the tree itself
	case interface{ Unwrap() error }:
		hints = Hints(wrapper.Unwrap())
	case interface{ Unwrap() []error }:
		for _, inner := range wrapper.Unwrap() {
			hints = append(hints, Hints(inner)...)
		}
	}
	if hinted, is := err.(*HintedError); is { //nolint:errorlint // likewise
		hints = append(hints, hinted)
	}
	return hints
}
