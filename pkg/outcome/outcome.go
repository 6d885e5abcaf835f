// Package outcome contains the errors that determine the exit code of a command, and hints that main prints with them.
package outcome

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// UsageError means that the command line is invalid. Nothing was changed.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

func (e *UsageError) Unwrap() error { return e.Err }

// Errors with an exit code other than 1. Errors that wrap them describe what happened.
var (
	// ErrPrecondition means that the current state does not allow the change.
	ErrPrecondition = errors.New("precondition not met")
	// ErrFailed means that the object does not become ready without intervention.
	ErrFailed = errors.New("failed")
	// ErrPaused means that the object is paused until a user resumes it.
	ErrPaused = errors.New("paused")
	// ErrTimeout means that a wait has exceeded its timeout.
	ErrTimeout = errors.New("timed out")
	// ErrOverwritten means that another user or program changed a value that this program had written.
	ErrOverwritten = errors.New("overwritten")
	// ErrUndone means that the change failed and was reverted.
	ErrUndone = errors.New("undone")
	// ErrUnknown means that the server did not respond to a write, but might have executed it.
	ErrUnknown = errors.New("no answer")
	// ErrInterrupted means that the user interrupted the command.
	ErrInterrupted = errors.New("interrupted")
	// ErrGone means that the object was deleted while the command waited for it or watched it.
	ErrGone = errors.New("deleted")
	// ErrNotReady means that the object is not ready, but might become ready.
	ErrNotReady = errors.New("not ready")
	// ErrForbidden means that the user is not allowed to read a resource that the command needs.
	ErrForbidden = errors.New("forbidden")
	// ErrRefused means that the command refuses a request that is unsafe or does not apply to the object.
	ErrRefused = errors.New("refused")
)

// Errors contains the errors of several objects. After the error of one object, the command continues with the next.
type Errors []error

func (e Errors) Error() string { return errors.Join(e...).Error() }

func (e Errors) Unwrap() []error { return e }

// InParallel calls do for each index below n, all at the same time. It returns the errors by index.
func InParallel(n int, do func(i int) error) []error {
	errs := make([]error, n)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { errs[i] = do(i) })
	}
	running.Wait()
	return errs
}

// Join returns the errors of several objects as one error, or nil if there are none.
func Join(errs []error) error {
	var all Errors
	for _, err := range errs {
		if several, joined := err.(Errors); joined { //nolint:errorlint // a wrapper of Errors has its own message
			all = append(all, several...)
		} else if err != nil {
			all = append(all, err)
		}
	}
	if len(all) < 2 {
		return cmp.Or(all...)
	}
	return all
}

// UnknownTypeError means that the server has no such resource type.
type UnknownTypeError struct {
	Type string
	// Nearest lists types with similar names.
	Nearest []string
}

func (e *UnknownTypeError) Error() string {
	return fmt.Sprintf("the server doesn't have a resource type %q%s", e.Type, DidYouMean(e.Nearest))
}

// DidYouMean returns a suffix with suggestions for an error about a misspelled word.
func DidYouMean(nearest []string) string {
	if len(nearest) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(nearest, " or ") + "?"
}

// NotServedError means that the server does not serve a resource type whose full name is known.
type NotServedError struct {
	// CRD is the name of the missing custom resource definition.
	CRD string
	// Shipped means that this program can install the CRD.
	Shipped bool
	Err     error
}

func (e *NotServedError) Error() string { return "the server does not serve " + e.CRD }

func (e *NotServedError) Unwrap() error { return e.Err }
