package outcome

import (
	"errors"
	"strings"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
)

// HintedError is an error with a hint about the next step. The hint is not part of the message. main prints
// the hint on a separate line, with the flags for the same cluster.
type HintedError struct {
	Err  error
	Text string
	// Command, if not nil, is printed after Text, which can be empty.
	Command *commandline.Command
}

// WithHint adds a hint, such as "to continue", and its command to an error.
func WithHint(err error, text string, cmd commandline.Command) error {
	return &HintedError{Err: err, Text: text, Command: &cmd}
}

// WithAdvice adds a hint without a command to an error. If the text is empty, it adds no hint.
func WithAdvice(err error, text string) error {
	if text == "" {
		return err
	}
	return &HintedError{Err: err, Text: text}
}

func (e *HintedError) Error() string { return e.Err.Error() }

func (e *HintedError) Unwrap() error { return e.Err }

// Line formats the hint as one line.
func (e *HintedError) Line(c commandline.Context) string {
	switch {
	case e.Command == nil:
		return e.Text
	case e.Text == "":
		return c.Line(*e.Command)
	}
	return e.Text + ": " + c.Line(*e.Command)
}

// WithoutHints returns the error without its hints.
func WithoutHints(err error) error { return &unhintedError{err} }

// unhintedError has no Unwrap method, so that Hints does not find the hints of the wrapped error.
type unhintedError struct{ err error }

func (e *unhintedError) Error() string { return e.err.Error() }

// Is reports whether the wrapped error is the target.
func (e *unhintedError) Is(target error) bool { return errors.Is(e.err, target) }

// As finds the target in the wrapped error.
func (e *unhintedError) As(target any) bool { return errors.As(e.err, target) }

// Hints returns the hints in an error and its wrapped errors, in the order in which they were added.
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
	switch e := err.(type) { //nolint:errorlint // as above
	case *HintedError:
		hints = append(hints, e)
	case *NotServedError:
		if e.Shipped {
			hints = append(hints, &HintedError{Err: e, Text: "to install it", Command: new(commandline.Plugin("install"))})
		}
	}
	return hints
}

// HintLines formats the hints in an error, each after a line break.
func HintLines(err error, c commandline.Context) string {
	var lines strings.Builder
	for _, hint := range Hints(err) {
		lines.WriteString("\nhint: " + escape.Line(hint.Line(c)))
	}
	return lines.String()
}
