// Package doctor checks whether a user can work in a namespace. It reads the server's version and CRDs, the user's
// permissions, the controllers, and the objects of the kinds that they reconcile. Package check evaluates the data.
package doctor

import (
	"cmp"
	"context"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
)

// Doctor checks a cluster.
type Doctor struct {
	*kube.Clients
	check.Checker

	served   []kinds.Kind // the shipped kinds that the server serves
	declared []kinds.Kind // the kinds that CRDs declare and that have objects
}

// Run runs all checks, and returns their results in order.
func (d *Doctor) Run(ctx context.Context) ([]check.Result, error) {
	server, err := d.ServerVersion(ctx)
	if err != nil {
		return nil, err // no other check can run
	}
	d.Finder.Invalidate() // the cache might lack new CRDs
	d.Commands = d.ClusterContext()
	d.User = cmp.Or(d.Clients.User(ctx), "USER") // USER is a placeholder
	checks := []check.Result{check.Server(server.GitVersion, d.Host)}
	if d.LacksNamespace(ctx, d.Namespace) {
		checks = append(checks, d.MissingNamespace())
	}
	for _, look := range []func(context.Context) ([]check.Result, error){
		d.definitions, d.declarations, d.rights, d.loops, d.controllers, d.heldUp,
	} {
		found, err := look(ctx)
		if err != nil {
			return nil, err
		}
		checks = append(checks, found...)
	}
	return checks, nil
}
