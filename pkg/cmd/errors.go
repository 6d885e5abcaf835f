package cmd

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// UsageError says that the command line is wrong. Nothing was changed.
type UsageError struct {
	// Command is the command whose help tells more, such as "kubectl imoocpod scale".
	Command string
	Err     error
}

func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *UsageError) Unwrap() error { return e.Err }

func usageErrorf(cmd *cobra.Command, format string, args ...any) error {
	return &UsageError{Command: cmd.CommandPath(), Err: fmt.Errorf(format, args...)}
}

// The errors that have an exit code of their own; they are wrapped with what
// happened to which object.
var (
	// ErrFailed: the object will not become ready without help.
	ErrFailed = errors.New("failed")
	// ErrPaused: the object is held, and somebody must let it go on.
	ErrPaused = errors.New("paused")
	// ErrNotReady: the object is not ready, and may become so.
	ErrNotReady = errors.New("not ready")
	// ErrTimeout: what was waited for did not come in time.
	ErrTimeout = errors.New("timed out")
	// ErrReverted: another undid the change.
	ErrReverted = errors.New("reverted")
	// ErrRefused: it would do more than was said to be meant.
	ErrRefused = errors.New("refused")
	// ErrPrecondition: the object is not as the command line said it must be.
	ErrPrecondition = errors.New("precondition not met")
	// ErrGone: the object was deleted while it was waited for.
	ErrGone = errors.New("deleted")
)

// Errors are those of several objects, of which none stops the others.
type Errors []error

func (e Errors) Error() string { return errors.Join(e...).Error() }

// Unwrap returns the errors.
func (e Errors) Unwrap() []error { return e }

// together makes one error of those of several objects: nil of none.
func together(errs []error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return Errors(errs)
}

// notServed reports whether an error means that the server has no such resource
// type, rather than no such object.
func notServed(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == ""
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
	if !e.Shipped {
		return fmt.Sprintf("the server does not serve %s, or not what was asked of it", e.CRD)
	}
	return fmt.Sprintf("the server does not serve %s: run \"kubectl imoocpod install\" first", e.CRD)
}

// Unwrap returns the server's own error.
func (e *NotServedError) Unwrap() error { return e.Err }

// explain makes an error that the API server gave for an object of a kind say
// what is missing, where the server's own words do not.
func explain(kind kinds.Kind, err error) error {
	if notServed(err) {
		return &NotServedError{CRD: kind.CRD(), Shipped: kind.Shipped(), Err: err}
	}
	return err
}
