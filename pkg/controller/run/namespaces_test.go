package run

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// triedAgain returns true for an error that affects only one namespace. Any other error ends all loops.
func TestTriedAgain(t *testing.T) {
	t.Parallel()
	pods := schema.GroupResource{Resource: "pods"}
	for name, test := range map[string]struct {
		err          error
		first, later bool
	}{
		"no error":                   {nil, false, false},
		"missing permission":         {apierrors.NewForbidden(pods, "", nil), true, true},
		"missing namespace":          {apierrors.NewNotFound(pods, "a"), true, true},
		"expired credentials":        {apierrors.NewUnauthorized("expired"), false, true},
		"status 500":                 {apierrors.NewInternalError(errors.New("etcd")), false, true},
		"status 503":                 {apierrors.NewServiceUnavailable("later"), false, true},
		"server unreachable":         {errors.New("connection refused"), false, true},
		"lease held by another loop": {fmt.Errorf("%w: held by another", outcome.ErrPrecondition), false, false},
	} {
		if first, later := triedAgain(test.err, true), triedAgain(test.err, false); first != test.first || later != test.later {
			t.Errorf("%s: retried at the start: %v, later: %v; want %v and %v", name, first, later, test.first, test.later)
		}
	}
}
