package kube

import (
	"cmp"
	"fmt"

	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
)

// Clients are the clients of a command.
type Clients struct {
	*Factory
	Dynamic dynamic.Interface
	Core    corev1client.CoreV1Interface // uses protobuf
	// Finder caches responses in memory, and discovery on disk, like kubectl.
	Finder *discover.Finder
}

// newClients makes all clients at once, so that no later part of the command fails to make one.
func (c *Factory) newClients() (*Clients, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	all := &Clients{Factory: c, Finder: &discover.Finder{}}
	var errs [3]error
	all.Dynamic, errs[0] = dynamic.NewForConfig(config)
	all.Core, errs[1] = corev1client.NewForConfig(WithProtobuf(config))
	all.Finder.Discovery, errs[2] = c.Flags.ToDiscoveryClient()
	if err := cmp.Or(errs[:]...); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	all.Finder.Dynamic = all.Dynamic
	return all, nil
}
