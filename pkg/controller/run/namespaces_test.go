package run

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// Some errors end the loops of all namespaces. Other errors affect only one namespace.
func TestTriedAgain(t *testing.T) {
	t.Parallel()
	pods := schema.GroupResource{Resource: "pods"}
	for name, test := range map[string]struct {
		err          error
		first, later bool
	}{
		"nothing":        {nil, false, false},
		"missing rights": {apierrors.NewForbidden(pods, "", nil), true, true},
		"no namespace":   {apierrors.NewNotFound(pods, "a"), true, true},
		"no credentials": {apierrors.NewUnauthorized("expired"), false, true},
		"500":            {apierrors.NewInternalError(errors.New("etcd")), false, true},
		"503":            {apierrors.NewServiceUnavailable("later"), false, true},
		"no server":      {errors.New("connection refused"), false, true},
		"the lease":      {fmt.Errorf("%w: held by another", outcome.ErrPrecondition), false, false},
	} {
		if first, later := triedAgain(test.err, true), triedAgain(test.err, false); first != test.first || later != test.later {
			t.Errorf("%s: at first %v, later %v; want %v and %v", name, first, later, test.first, test.later)
		}
	}
}
