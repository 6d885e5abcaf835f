package outcome

import (
	"errors"
	"fmt"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
)

// HintLines finds hints at any depth. The hints of a wrapped error come before the hints of its wrapper.
func TestHintLines(t *testing.T) {
	t.Parallel()
	failed := WithHint(fmt.Errorf("it: %w", ErrFailed), "to see why", commandline.Kubectl("get", "pod").In("n"))
	staging := commandline.Context{"--context=staging", "--as=alice"}
	const why = "\nhint: to see why: kubectl get pod -n n --context=staging --as=alice"
	const install = "\nhint: to install it: kubectl imoocpod install --context=staging --as=alice"
	missing := &NotServedError{CRD: "foos.x", Shipped: true}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"no hint":                 {ErrFailed, ""},
		"empty advice":            {WithAdvice(ErrFailed, ""), ""},
		"wrapped error":           {fmt.Errorf("later: %w", failed), why},
		"hint and advice":         {WithAdvice(failed, "ask\nme"), why + "\nhint: ask me"},
		"hints of two errors":     {fmt.Errorf("%w, and %w", missing, failed), install + why},
		"CRD that is not shipped": {&NotServedError{CRD: "foos.x"}, ""},
		"hint removed":            {WithoutHints(fmt.Errorf("later: %w", failed)), ""},
		"hint removed, one added": {WithHint(WithoutHints(failed), "", commandline.Plugin("install")), "\nhint: kubectl imoocpod install --context=staging --as=alice"},
	} {
		if got := HintLines(test.err, staging); got != test.want {
			t.Errorf("%s: hints %q, want %q", name, got, test.want)
		}
	}
	if err := WithoutHints(failed); !errors.Is(err, ErrFailed) || err.Error() != failed.Error() {
		t.Errorf("error without its hints = %q, want the same text, and still ErrFailed", err)
	}
}
