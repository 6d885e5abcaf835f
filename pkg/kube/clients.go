package kube

import (
	"cmp"
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
)

// Clients are the clients of a command.
type Clients struct {
	*Factory
	Host    string // the address of the server
	Dynamic dynamic.Interface
	Core    corev1client.CoreV1Interface // uses protobuf
	Leases  coordinationv1client.LeasesGetter
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
	var errs [8]error
	all.Dynamic, errs[0] = dynamic.NewForConfig(config)
	all.Core, errs[1] = corev1client.NewForConfig(WithProtobuf(config))
	all.Mapper, errs[2] = f.Flags.ToRESTMapper()
	all.Finder.Discovery, errs[3] = f.Flags.ToDiscoveryClient()
	all.metadata, errs[4] = metadata.NewForConfig(config)
	all.access, errs[5] = authorizationv1client.NewForConfig(config)
	all.users, errs[6] = authenticationv1client.NewForConfig(config)
	all.Leases, errs[7] = coordinationv1client.NewForConfig(config)
	if err := cmp.Or(errs[:]...); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	all.Finder.Dynamic = all.Dynamic
	return all, nil
}

// ServerVersion returns the version of the server.
func (c *Clients) ServerVersion(ctx context.Context) (*version.Info, error) {
	return discovery.ToServerVersionInterfaceWithContext(c.Finder.Discovery).ServerVersionWithContext(ctx)
}

// LacksNamespace reports whether the server reports that a namespace does not exist.
func (c *Clients) LacksNamespace(ctx context.Context, name string) bool {
	if name == metav1.NamespaceAll || name == metav1.NamespaceDefault {
		return false
	}
	_, err := c.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Get(ctx, name, metav1.GetOptions{})
	return NotFound(err)
}

// User returns the name of the user, like "kubectl auth whoami". Changes record this name, because
// managedFields contain only names of programs. If the request fails, User returns "", so that the
// change can be made without a name. It is a method of Factory, because a client-side dry run has no Clients.
func (f *Factory) User(ctx context.Context) string {
	clients, err := f.Connect()
	if err != nil {
		return "" // the change will fail with the same error
	}
	review, err := clients.users.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		klog.FromContext(ctx).V(1).Info("The server does not report the user name", "err", err)
		return ""
	}
	return review.Status.UserInfo.Username
}

// Allowed reports whether the user has a permission. If the review fails, it returns nil.
func (c *Clients) Allowed(ctx context.Context, right authorizationv1.ResourceAttributes) *bool {
	review, err := c.access.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil
	}
	return &review.Status.Allowed
}
