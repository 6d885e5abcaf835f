package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// The exit codes, as documented in docs/exit-codes.md.
const (
	exitDone         = 0
	exitError        = 1
	exitUsage        = 2
	exitFailed       = 3
	exitTimeout      = 4
	exitOverwritten  = 5
	exitNotFound     = 6
	exitPrecondition = 7
	exitForbidden    = 8
	exitUndone       = 9
	exitUnknown      = 10
	exitInterrupted  = 130
)

// report prints the errors of a command, except errors of requests that Ctrl-C canceled. It returns the exit code with
// the highest precedence.
func report(w io.Writer, err error, command *cobra.Command, interrupted bool) int {
	if err == nil {
		return exitDone
	}
	all := outcome.Errors{err}
	errors.As(err, &all)
	var codes []int
	for _, err := range all {
		codes = append(codes, reportOne(w, err, command, interrupted))
	}
	order := precedence()
	return slices.MinFunc(codes, func(a, b int) int { return cmp.Compare(slices.Index(order, a), slices.Index(order, b)) })
}

// precedence returns the exit codes of errors, highest precedence first.
func precedence() []int {
	return []int{exitInterrupted, exitUnknown, exitForbidden, exitUsage, exitError, exitNotFound, exitPrecondition, exitFailed, exitOverwritten, exitTimeout, exitUndone}
}

func reportOne(w io.Writer, err error, command *cobra.Command, interrupted bool) int {
	// Ctrl-C also stops a credential plugin. client-go reports that with an untyped error.
	if interrupted && (errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "getting credentials: exec: ")) {
		return exitInterrupted
	}
	hints := outcome.HintLines(err, kube.CommandContext(command.Root().PersistentFlags()))
	fmt.Fprintln(w, escape.Text(message(err)+hints)) //nolint:errcheck // no stream is left for this error
	code := exitCode(err)
	if code == exitUsage {
		fmt.Fprintf(w, "See '%s --help' for usage.\n", command.CommandPath()) //nolint:errcheck // as above
	}
	return code
}

func exitCode(err error) int {
	switch {
	case errors.As(err, new(*outcome.UsageError)):
		return exitUsage
	case errors.Is(err, outcome.ErrUnknown):
		return exitUnknown
	case errors.Is(err, outcome.ErrInterrupted):
		return exitInterrupted
	case errors.Is(err, outcome.ErrUndone):
		return exitUndone
	case errors.Is(err, outcome.ErrOverwritten):
		return exitOverwritten
	case errors.Is(err, outcome.ErrFailed), errors.Is(err, outcome.ErrPaused):
		return exitFailed
	case errors.Is(err, outcome.ErrTimeout), errors.Is(err, outcome.ErrNotReady), noAnswer(err):
		return exitTimeout
	case errors.Is(err, outcome.ErrGone), errors.As(err, new(*outcome.NotServedError)), errors.As(err, new(*outcome.UnknownTypeError)),
		apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return exitNotFound
	case errors.Is(err, outcome.ErrPrecondition), errors.Is(err, outcome.ErrRefused), apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return exitPrecondition
	case errors.Is(err, outcome.ErrForbidden), apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return exitForbidden
	}
	return exitError
}

func noAnswer(err error) bool {
	failed, is := errors.AsType[*url.Error](err)
	return errors.Is(err, context.DeadlineExceeded) || is && failed.Timeout()
}

// message formats an error like kubectl (StandardErrorMessage in k8s.io/kubectl/pkg/cmd/util). It never starts a line
// with text from the server, because such text could forge a message of this program.
func message(err error) string {
	var server apierrors.APIStatus
	var failed *url.Error
	words := err.Error()
	if errors.As(err, &server) && server.Status().Message != "" {
		text := server.Status().Message
		words = strings.ReplaceAll(words, text, escape.Line(text))
	}
	switch {
	case errors.Is(err, outcome.ErrFailed), errors.Is(err, outcome.ErrPaused), errors.Is(err, outcome.ErrTimeout), errors.As(err, new(*outcome.NotServedError)):
		return "error: " + words // if a revert also failed, the message describes both failures
	case errors.Is(err, outcome.ErrUnknown) && errors.As(err, &failed):
		return "error: " + strings.TrimPrefix(failed.Err.Error(), failed.Op+" ")
	case server != nil:
		return serverMessage(words, server.Status())
	case errors.As(err, &failed):
		return connectionMessage(failed)
	case noAnswer(err):
		return "error: the server did not answer in time: " + words
	}
	return "error: " + words
}

// serverMessage formats an error from the server. words is the escaped text of the whole error.
func serverMessage(words string, s metav1.Status) string {
	switch {
	case s.Reason == metav1.StatusReasonUnauthorized:
		return "error: You must be logged in to the server (" + words + ")"
	case s.Reason == metav1.StatusReasonInvalid && s.Details != nil && len(s.Details.Causes) > 0:
		return escape.Line("The "+s.Details.Kind+" \""+s.Details.Name+"\" is invalid:") + causes(s.Details.Causes)
	case s.Reason != "":
		return fmt.Sprintf("Error from server (%s): %s", escape.Line(string(s.Reason)), words)
	}
	return "Error from server: " + words
}

// causes formats the causes of an Invalid error. If a cause is about the whole object, its field is "" or "<nil>".
func causes(list []metav1.StatusCause) string {
	var lines []string
	for _, c := range list {
		line := c.Message
		if c.Field != "" && c.Field != "<nil>" {
			line = c.Field + ": " + line
		}
		lines = append(lines, escape.Line(line))
	}
	if len(lines) == 1 {
		return " " + lines[0]
	}
	return "\n* " + strings.Join(lines, "\n* ")
}

func connectionMessage(failed *url.Error) string {
	server := failed.URL
	if u, err := url.Parse(failed.URL); err == nil {
		server = u.Host
	}
	var lookup *net.DNSError
	var bad *kube.BadResponseError
	switch {
	case errors.As(failed, &bad):
		return "error: " + bad.Error()
	case errors.Is(failed, syscall.ECONNREFUSED):
		return fmt.Sprintf("The connection to the server %s was refused - did you specify the right host or port?", server)
	case errors.As(failed, &lookup):
		return fmt.Sprintf("Unable to connect to the server %s: %v", server, lookup)
	}
	return fmt.Sprintf("Unable to connect to the server %s: %v", server, failed.Err)
}
