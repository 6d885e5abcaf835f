// Package doctor looks whether all is in place to work in a namespace: the server, its
// CRDs, the rights of the user, the loops that run, and what holds up pods.
package doctor

import (
	"cmp"
	"context"

	"k8s.io/client-go/dynamic"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
)

// Doctor looks at a cluster.
type Doctor struct {
	// Namespace is where somebody wants to work; empty means in all.
	Namespace string
	// Version is that of this program.
	Version string

	client dynamic.Interface
	access authorizationv1client.SelfSubjectAccessReviewsGetter
	// user is the name under which the server knows who asks, "you" if it does not say.
	user string

	// commands makes commands that fix what is missing.
	commands commandline.Context

	// declared are the kinds that CRDs declare, and of which there are objects.
	declared []string
}

// Run makes all checks.
func (d *Doctor) Run(ctx context.Context, c *kube.Factory) ([]check.Result, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	if d.client, err = kube.DynamicFor(config); err != nil {
		return nil, err
	}
	if d.access, err = c.Access(); err != nil {
		return nil, err
	}
	server, err := c.ServerVersion(ctx)
	if err != nil {
		return nil, err // nothing else can be looked at
	}
	d.commands = c.ClusterContext()
	d.user = cmp.Or(c.User(ctx), "you")
	checks := []check.Result{check.Server(server.GitVersion, config.Host)}
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
