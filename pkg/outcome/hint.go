package outcome

import (
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
)

// hintedError is an error with a hint about the next step. The hint is not part of the message (see HintLines).
type hintedError struct {
	error
	// hint returns the text of the hint. A command in the text has the flags in the context.
	hint func(commandline.Context) string
}

// WithHint adds a hint to an error: a text, such as "to continue", and a command. The text may be empty.
func WithHint(err error, text string, cmd commandline.Command) error {
	if text != "" {
		text += ": "
	}
	return &hintedError{err, func(c commandline.Context) string { return text + c.Line(cmd) }}
}

// WithAdvice adds a hint without a command to an error. If the text is empty, it adds no hint.
func WithAdvice(err error, text string) error {
	if text == "" {
		return err
	}
	return &hintedError{err, func(commandline.Context) string { return text }}
}

func (e *hintedError) Unwrap() error { return e.error }

// WithoutHints returns the error without its hints.
func WithoutHints(err error) error { return &unhintedError{err} }

type unhintedError struct{ error }

func (e *unhintedError) Unwrap() error { return e.error }

// HintLines formats the hints of an error and of its wrapped errors, innermost first. Each hint follows a line break.
func HintLines(err error, c commandline.Context) string {
	lines := ""
	switch wrapper := err.(type) { //nolint:errorlint // this function unwraps errors itself
	case *unhintedError:
	case interface{ Unwrap() error }:
		lines = HintLines(wrapper.Unwrap(), c)
	case interface{ Unwrap() []error }:
		for _, inner := range wrapper.Unwrap() {
			lines += HintLines(inner, c)
		}
	}
	switch e := err.(type) { //nolint:errorlint // as above
	case *hintedError:
		lines += "\nhint: " + escape.Line(e.hint(c))
	case *NotServedError:
		if e.Shipped {
			lines += "\nhint: " + escape.Line("to install it: "+c.Line(commandline.Plugin("install")))
		}
	}
	return lines
}
