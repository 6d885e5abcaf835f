package discover

import (
	"cmp"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/objects"
)

// server is an API server whose discovery is not cached.
type server struct {
	*apiserver.Server
	discovery.DiscoveryInterface

	dynamic dynamic.Interface
	// ServerPreferredResources also returns the lists in more and the error partial, as if a group did not respond.
	more    []*metav1.APIResourceList
	partial error
}

// newServer returns a server with CRDs.
func newServer(t *testing.T, crds ...string) *server {
	t.Helper()
	s := &server{Server: apiserver.New(t)}
	for _, text := range crds {
		s.Create(parse(t, text))
	}
	var err error
	if s.DiscoveryInterface, err = discovery.NewDiscoveryClientForConfig(s.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	if s.dynamic, err = dynamic.NewForConfig(s.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *server) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	lists, err := s.DiscoveryInterface.ServerPreferredResources()
	return append(lists, s.more...), cmp.Or(err, s.partial)
}

func (s *server) Fresh() bool { return true }

func (s *server) Invalidate() {}

func (s *server) finder() *Finder { return &Finder{Discovery: s, Dynamic: s.dynamic} }

// readsCRD matches requests for a CRD.
func readsCRD() apiserver.Match { return apiserver.On("get", "customresourcedefinitions") }

func (s *server) count(match apiserver.Match) int { return len(s.Requests(match)) }

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: objects.Parse(t, text)}
}

// crd returns the Set CRD with annotations and subresources.
func crd(annotations, subresources string) string {
	return crdOf(annotations, subresources, "size: {type: integer}, image: {type: string}")
}

// crdOf is like crd, but with the given properties of .spec.
func crdOf(annotations, subresources, spec string) string {
	return fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: sets.example.com, annotations: %s}, spec: {group: example.com, scope: Namespaced,
		names: {kind: Set, plural: sets, singular: set}, versions: [{name: v0, served: true, subresources: {scale: {specReplicasPath: .spec.old}}}, {name: v1, served: true, storage: true, subresources: %s,
		schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {%s}},
		status: {type: object, properties: {readyReplicas: {type: integer}, replicas: {type: integer}}}}}}}]}}`, annotations, subresources, spec)
}

// set returns the kind Set, as discovery describes it.
func set() kinds.Kind {
	return kinds.KindOf(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "sets"}, "Set", false)
}

func deployment() kinds.Kind {
	return kinds.KindOf(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "Deployment", false)
}
