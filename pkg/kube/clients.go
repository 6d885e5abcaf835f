package kube

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
)

// Clients are the clients of a command.
type Clients struct {
	*Factory
	Host    string // the address of the server
	Dynamic dynamic.Interface
	Core    corev1client.CoreV1Interface // uses protobuf
	Mapper  meta.RESTMapper
	// Finder caches responses in memory, and discovery on disk, like kubectl.
	Finder   *discover.Finder
	metadata metadata.Interface
	access   authorizationv1client.SelfSubjectAccessReviewsGetter
	users    authenticationv1client.SelfSubjectReviewsGetter
}

// newClients makes all clients at once, so that no later part of the command fails to make one.
func (f *Factory) newClients() (*Clients, error) {
	config, err := f.Config()
	if err != nil {
		return nil, err
	}
	all := &Clients{Factory: f, Host: config.Host, Finder: &discover.Finder{}}
	var errs [7]error
	all.Dynamic, errs[0] = dynamic.NewForConfig(config)
	all.Core, errs[1] = corev1client.NewForConfig(WithProtobuf(config))
	all.Mapper, errs[2] = f.Flags.ToRESTMapper()
	all.Finder.Discovery, errs[3] = f.Flags.ToDiscoveryClient()
	all.metadata, errs[4] = metadata.NewForConfig(config)
	all.access, errs[5] = authorizationv1client.NewForConfig(config)
	all.users, errs[6] = authenticationv1client.NewForConfig(config)
	if err := cmp.Or(errs[:]...); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	all.Finder.Dynamic = all.Dynamic
	return all, nil
}
