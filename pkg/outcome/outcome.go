// Package outcome holds the ways in which a command ends without success. Main alone
// makes a message and an exit code of them.
package outcome

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// UsageError says that the command line is wrong. Nothing was changed.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *UsageError) Unwrap() error { return e.Err }

// The errors that have an exit code of their own; they are wrapped with what
// happened to which object.
var (
	// ErrPrecondition: the object is not as the command line said it must be.
	ErrPrecondition = errors.New("precondition not met")
	// ErrFailed: the object will not become ready without help.
	ErrFailed = errors.New("failed")
	// ErrPaused: the object is held, and somebody must let it go on.
	ErrPaused = errors.New("paused")
	// ErrTimeout: what was waited for did not come in time.
	ErrTimeout = errors.New("timed out")
	// ErrOverwritten: someone else changed what this command had written.
	ErrOverwritten = errors.New("overwritten")
	// ErrUndone: the change failed, and what was there before was put back.
	ErrUndone = errors.New("undone")
	// ErrUnknown: the server did not answer a write, and may have carried it out.
	ErrUnknown = errors.New("no answer")
	// ErrInterrupted: a person ended the command before it was done.
	ErrInterrupted = errors.New("interrupted")
	// ErrGone: the object was deleted while it was waited for.
	ErrGone = errors.New("deleted")
	// ErrNotReady: the object is not ready, and may become so.
	ErrNotReady = errors.New("not ready")
	// ErrForbidden: the user may not read what the command needs to know.
	ErrForbidden = errors.New("forbidden")
	// ErrRefused: it would do more than was said to be meant.
	ErrRefused = errors.New("refused")
)

// Errors are those of several objects, of which none stops the others.
type Errors []error

func (e Errors) Error() string { return errors.Join(e...).Error() }

// Unwrap returns the errors.
func (e Errors) Unwrap() []error { return e }

// Join makes one error of those of several objects: nil of none.
func Join(errs []error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return Errors(errs)
}

// UnknownTypeError says that the server has no resource type of a name.
type UnknownTypeError struct {
	// Type is the name.
	Type string
	// Nearest are the types that may be meant.
	Nearest []string
}

func (e *UnknownTypeError) Error() string {
	text := fmt.Sprintf("the server doesn't have a resource type %q", e.Type)
	if len(e.Nearest) > 0 {
		text += "; did you mean " + strings.Join(e.Nearest, " or ") + "?"
	}
	return text
}

// NotServedError says that the server does not have a resource type.
type NotServedError struct {
	// CRD is the name of the custom resource definition that is missing.
	CRD string
	// Shipped says that this program can install it.
	Shipped bool
	Err     error
}

func (e *NotServedError) Error() string {
	return fmt.Sprintf("the server does not serve %s", e.CRD)
}

// Unwrap returns the server's own error.
func (e *NotServedError) Unwrap() error { return e.Err }
