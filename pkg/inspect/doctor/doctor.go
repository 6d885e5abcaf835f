// Package doctor checks whether a user can work in a namespace. It reads the server's version and
// CRDs, the user's permissions, the controllers, and the objects whose pods are blocked. Package
// check evaluates the data.
package doctor

import (
	"cmp"
	"context"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
)

// Doctor checks a cluster.
type Doctor struct {
	Namespace string // where the user works; empty for all namespaces
	Version   string // the version of this program

	client    dynamic.Interface
	discovery discovery.DiscoveryInterface
	access    authorizationv1client.SelfSubjectAccessReviewsGetter
	user      string              // the user name on the server, or "you" if it is unknown
	commands  commandline.Context // formats the commands that fix problems

	served   []kinds.Kind // the shipped kinds that the server serves
	declared []string     // the kinds (plural.group) that CRDs declare and that have objects
}

// Run runs all checks, and returns their results in order.
func (d *Doctor) Run(ctx context.Context, c *kube.Factory) ([]check.Result, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	if d.client, err = c.Dynamic(); err != nil {
		return nil, err
	}
	if d.access, err = c.Access(); err != nil {
		return nil, err
	}
	server, err := c.ServerVersion(ctx)
	if err != nil {
		return nil, err // no other check can run
	}
	cached, err := c.Flags.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	cached.Invalidate() // the cache may lack new CRDs
	d.discovery = cached
	d.commands = c.ClusterContext()
	d.user = cmp.Or(c.User(ctx), "you")
	checks := []check.Result{check.Server(server.GitVersion, config.Host)}
	if namespace, missing := c.NoNamespace(ctx); missing && d.Namespace != "" {
		checks = append(checks, check.MissingNamespace(namespace, d.commands))
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
