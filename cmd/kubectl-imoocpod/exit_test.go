package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/cmd"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// docs/exit-codes.md and the help describe each exit code except 0. The page also lists the codes by precedence.
func TestExitCodesAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	streams, _, help, _ := genericiooptions.NewTestIOStreams()
	root := cmd.NewRootCommand("v0.0.0", streams)
	root.SetArgs([]string{"--help"})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, code := range precedence() {
		order = append(order, strconv.Itoa(code))
		if !strings.Contains(string(page), fmt.Sprintf("\n| %d | ", code)) {
			t.Errorf("docs/exit-codes.md has no row for code %d", code)
		}
		if !regexp.MustCompile(fmt.Sprintf(`\s%d [A-Za-z]`, code)).MatchString(help.String()) {
			t.Errorf("the help does not describe exit code %d", code)
		}
	}
	if words := strings.Join(order, ", "); !strings.Contains(string(page), words) {
		t.Errorf("docs/exit-codes.md does not list the codes in their order of precedence, %s", words)
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	imoocpods := schema.GroupResource{Group: "g", Resource: "imoocpods"}
	failedRequest := func(err error) error { return &url.Error{Op: "Get", URL: "https://127.0.0.1:6443/api", Err: err} }
	invalid := func(causes ...*field.Error) error {
		return apierrors.NewInvalid(schema.GroupKind{Group: "g", Kind: "ImoocPod"}, "foo", causes)
	}
	negative := field.Invalid(field.NewPath("spec", "replicas"), -1, "must not be negative")
	for name, test := range map[string]struct {
		err         error
		interrupted bool
		code        int
		message     string
	}{
		"done":        {nil, false, exitDone, ""},
		"interrupted": {fmt.Errorf("wait: %w", context.Canceled), true, exitInterrupted, ""},
		"interrupted during a request": {
			failedRequest(context.Canceled), true, exitInterrupted, "",
		},
		"interrupted together with a credential plugin": {
			failedRequest(errors.New("getting credentials: exec: executable login failed with exit code -1")), true, exitInterrupted, "",
		},
		"failed, and interrupted afterwards": {errors.New("no"), true, exitError, "error: no\n"},
		"usage": {
			&outcome.UsageError{Err: errors.New("--replicas is required")}, false, exitUsage,
			"error: --replicas is required\nSee 'kubectl imoocpod scale --help' for usage.\n",
		},
		"one object failed, another timed out": {
			outcome.Errors{fmt.Errorf("foo: %w: no", outcome.ErrTimeout), fmt.Errorf("bar: %w: quota", outcome.ErrFailed)}, false, exitFailed,
			"error: foo: timed out: no\nerror: bar: failed: quota\n",
		},
		"request timed out": {
			failedRequest(context.DeadlineExceeded), false, exitTimeout,
			"Unable to connect to the server 127.0.0.1:6443: context deadline exceeded\n",
		},
		"a failed wait, and a revert without an answer": {
			fmt.Errorf("foo has %w: quota\nfoo was not undone: %w", outcome.ErrFailed, failedRequest(syscall.ECONNREFUSED)), false, exitFailed,
			"error: foo has failed: quota\nfoo was not undone: Get \"https://127.0.0.1:6443/api\": connection refused\n",
		},
		"unknown type": {
			outcome.WithAdvice(&outcome.UnknownTypeError{Type: "imoocpd", Nearest: []string{"imoocpod"}}, "name it"), false, exitNotFound,
			"error: the server doesn't have a resource type \"imoocpd\"; did you mean imoocpod?\nhint: name it\n",
		},
		"hints": {
			outcome.WithHint(outcome.WithHint(errors.New("no"), "to go back", commandline.Plugin("undo", "foo").In("n")), "", commandline.Kubectl("get", "nodes")), false, exitError,
			"error: no\nhint: to go back: kubectl imoocpod undo foo -n n --context=staging\nhint: kubectl get nodes --context=staging\n",
		},
		"a file with an object of a missing type": {
			fmt.Errorf("resource mapping not found for foo.yaml: %w", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "g", Kind: "Foo"}, SearchedVersions: []string{"v1"}}), false, exitNotFound,
			"error: resource mapping not found for foo.yaml: no matches for kind \"Foo\" in version \"g/v1\"\n",
		},
		"not found": {
			apierrors.NewNotFound(imoocpods, "foo"), false, exitNotFound,
			"Error from server (NotFound): imoocpods.g \"foo\" not found\n",
		},
		"not served": {
			&outcome.NotServedError{CRD: "imoocpods.g", Shipped: true, Err: apierrors.NewNotFound(imoocpods, "")}, false, exitNotFound,
			"error: the server does not serve imoocpods.g\nhint: to install it: kubectl imoocpod install --context=staging\n",
		},
		"none of several types served": {
			&outcome.NotServedError{CRD: "imoocpods.g", Shipped: true}, false, exitNotFound,
			"error: the server does not serve imoocpods.g\nhint: to install it: kubectl imoocpod install --context=staging\n",
		},
		"exists": {
			apierrors.NewAlreadyExists(imoocpods, "foo"), false, exitPrecondition,
			"Error from server (AlreadyExists): imoocpods.g \"foo\" already exists\n",
		},
		"conflict": {
			apierrors.NewConflict(imoocpods, "foo", errors.New("it was modified")), false, exitPrecondition,
			"Error from server (Conflict): Operation cannot be fulfilled on imoocpods.g \"foo\": it was modified\n",
		},
		"forbidden, in an error that names the action": {
			fmt.Errorf("wait for foo: %w", apierrors.NewForbidden(imoocpods, "foo", errors.New("no"))), false, exitForbidden,
			"Error from server (Forbidden): wait for foo: imoocpods.g \"foo\" is forbidden: no\n",
		},
		"not logged in": {
			apierrors.NewUnauthorized("Unauthorized"), false, exitForbidden,
			"error: You must be logged in to the server (Unauthorized)\n",
		},
		"invalid": {
			invalid(negative), false, exitError,
			"The ImoocPod \"foo\" is invalid: spec.replicas: Invalid value: -1: must not be negative\n",
		},
		"invalid in two ways": {
			invalid(negative, field.Required(field.NewPath("spec", "template"), "")), false, exitError,
			"The ImoocPod \"foo\" is invalid:\n* spec.replicas: Invalid value: -1: must not be negative\n* spec.template: Required value\n",
		},
		"invalid as a whole": {
			invalid(field.Invalid(nil, "", "the name is too long")), false, exitError,
			"The ImoocPod \"foo\" is invalid: Invalid value: \"\": the name is too long\n",
		},
		"server error without a reason": {
			&apierrors.StatusError{ErrStatus: metav1.Status{Message: "what now"}}, false, exitError,
			"Error from server: what now\n",
		},
		"too many requests": {
			apierrors.NewTooManyRequests("slow down", 1), false, exitError,
			"Error from server (TooManyRequests): slow down\n",
		},
		"control characters in an error": {
			fmt.Errorf("foo: %w", errors.New("no\rerror: yes\x1b[2J\u202e\xff")), false, exitError,
			`error: foo: no\x0derror: yes\x1b[2J\u202e\xff` + "\n",
		},
		"newlines in a message of the server": {
			fmt.Errorf("scale foo: %w", &apierrors.StatusError{ErrStatus: metav1.Status{Reason: "No\nfoo scaled", Message: "no\nfoo scaled"}}), false, exitError,
			"Error from server (No foo scaled): scale foo: no foo scaled\n",
		},
		"newlines in the causes of an invalid object": {
			&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonInvalid, Details: &metav1.StatusDetails{
				Kind: "K\nk", Name: "n\rn", Causes: []metav1.StatusCause{{Field: "a\nb", Message: "c\nd"}, {Message: "e\x1b"}},
			}}}, false, exitError,
			"The K k \"n" + `\x0dn` + "\" is invalid:\n* a b: c d\n* e" + `\x1b` + "\n",
		},
		"refused connection": {
			failedRequest(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), false, exitError,
			"The connection to the server 127.0.0.1:6443 was refused - did you specify the right host or port?\n",
		},
		"unknown host": {
			failedRequest(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "nope", IsNotFound: true}}), false, exitError,
			"Unable to connect to the server 127.0.0.1:6443: lookup nope: no such host\n",
		},
		"other connection error": {
			failedRequest(errors.New("tls: no")), false, exitError,
			"Unable to connect to the server 127.0.0.1:6443: tls: no\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w strings.Builder
			if code := report(&w, test.err, scaleOnStaging(t), test.interrupted); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if w.String() != test.message {
				t.Errorf("message %q, want %q", w.String(), test.message)
			}
		})
	}
}

// scaleOnStaging returns the command "scale" with --context=staging.
func scaleOnStaging(t *testing.T) *cobra.Command {
	t.Helper()
	root := cmd.NewRootCommand("", genericiooptions.NewTestIOStreamsDiscard())
	if err := root.PersistentFlags().Set("context", "staging"); err != nil {
		t.Fatal(err)
	}
	scale, _, err := root.Find([]string{"scale"})
	if err != nil {
		t.Fatal(err)
	}
	return scale
}

// The most serious outcome of several objects determines the exit code, regardless of the order of the objects. report
// prints each error, except errors of requests that Ctrl-C canceled.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	imoocpods := schema.GroupResource{Group: "g", Resource: "imoocpods"}
	// Outcomes in the order of precedence.
	outcomes := []struct {
		code int
		err  error
	}{
		{exitInterrupted, context.Canceled},
		{exitInterrupted, outcome.ErrInterrupted},
		{exitUnknown, outcome.ErrUnknown},
		{exitForbidden, outcome.ErrForbidden},
		{exitForbidden, apierrors.NewForbidden(imoocpods, "a", errors.New("no"))},
		{exitUsage, &outcome.UsageError{Err: errors.New("no")}},
		{exitError, errors.New("no")},
		{exitNotFound, outcome.ErrGone},
		{exitPrecondition, outcome.ErrPrecondition},
		{exitPrecondition, outcome.ErrRefused},
		{exitFailed, outcome.ErrFailed},
		{exitFailed, outcome.ErrPaused},
		{exitOverwritten, outcome.ErrOverwritten},
		{exitTimeout, outcome.ErrTimeout},
		{exitTimeout, outcome.ErrNotReady},
		{exitUndone, outcome.ErrUndone},
	}
	for i, first := range outcomes {
		for _, second := range outcomes[i:] {
			one, other := fmt.Errorf("wait for foo: %w; last seen: nothing", first.err), fmt.Errorf("wait for bar: %w", second.err)
			for _, several := range []outcome.Errors{{one, other}, {other, one}} {
				var w strings.Builder
				if code := report(&w, several, scaleOnStaging(t), true); code != first.code {
					t.Errorf("errors %q: exit code %d, want %d", several, code, first.code)
				}
				if printed := strings.Contains(w.String(), one.Error()+"\n"); printed == errors.Is(one, context.Canceled) {
					t.Errorf("errors %q: output %q, want the more serious one printed, unless it is a canceled request", several, w.String())
				}
			}
		}
	}
}
