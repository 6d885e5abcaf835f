package discover

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi/openapitest"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath/fieldpathtest"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// server is a fake server for a Finder. Tests can change its fields between requests.
type server struct {
	discovery.CachedDiscoveryInterface

	resources []*metav1.APIResourceList
	// partial is the error that is returned with the resources, as if an aggregated API did not respond.
	partial error
	schemas map[string]openapi.GroupVersion
	// refused, if set, is the error of all requests for CRDs.
	refused error

	dynamic *fake.FakeDynamicClient
	// asked counts the requests for "crd", "resources", and "schema".
	asked map[string]int
}

// newServer returns a server with CRDs and without resources.
func newServer(t *testing.T, crds ...string) *server {
	t.Helper()
	var objects []runtime.Object
	for _, text := range crds {
		objects = append(objects, parse(t, text))
	}
	s := &server{schemas: map[string]openapi.GroupVersion{}, asked: map[string]int{}}
	s.dynamic = fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{kinds.CRDResource(): "CustomResourceDefinitionList"}, objects...)
	s.dynamic.PrependReactor("get", "customresourcedefinitions", func(clienttesting.Action) (bool, runtime.Object, error) {
		s.asked["crd"]++
		return s.refused != nil, nil, s.refused
	})
	return s
}

func (s *server) finder() *Finder { return &Finder{Discovery: s, Dynamic: s.dynamic} }

// serve adds a resource and its subresources to a version of a group.
func (s *server) serve(version, kind, resource string, subresources ...string) {
	all := []metav1.APIResource{{Name: resource, Kind: kind, Namespaced: true, Verbs: metav1.Verbs{"get", "patch"}}}
	for _, sub := range subresources {
		all = append(all, metav1.APIResource{Name: resource + "/" + sub, Verbs: metav1.Verbs{"get", "patch"}})
	}
	s.resources = append(s.resources, &metav1.APIResourceList{GroupVersion: version, APIResources: all})
}

// describe adds the schema of a spec and a status to the OpenAPI document of a version.
func (s *server) describe(t *testing.T, at, version, kind, spec string) {
	t.Helper()
	gvk := schema.FromAPIVersionAndKind(version, kind)
	text := fmt.Sprintf(`{components: {schemas: {%s: {x-kubernetes-group-version-kind: [{group: "%s", version: %s, kind: %s}], type: object, properties: {
		spec: %s, status: {type: object, properties: {readyReplicas: {type: integer}}}}}}}}`, kind, gvk.Group, gvk.Version, kind, spec)
	document, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s.schemas[at] = openapitest.FakeGroupVersion{GVSpec: document}
}

func (s *server) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	return s.resources, s.partial
}

func (s *server) ServerResourcesForGroupVersion(version string) (*metav1.APIResourceList, error) {
	s.asked["resources"]++
	for _, list := range s.resources {
		if list.GroupVersion == version {
			return list, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, version)
}

func (s *server) OpenAPIV3() openapi.Client {
	s.asked["schema"]++
	return &openapitest.FakeClient{PathsMap: s.schemas}
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: fieldpathtest.Object(t, text)}
}

// forbidden returns the error for a user who is not allowed to read CRDs.
func forbidden() error {
	return apierrors.NewForbidden(kinds.CRDResource().GroupResource(), "sets.example.com", errors.New("no"))
}

// crd returns the CRD of Sets with annotations and subresources.
func crd(annotations, subresources string) string {
	return fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: sets.example.com, annotations: %s}, spec: {group: example.com, scope: Namespaced,
		names: {kind: Set, plural: sets, singular: set}, versions: [{name: v0, served: true, subresources: {scale: {specReplicasPath: .spec.old}}}, {name: v1, served: true, storage: true, subresources: %s,
		schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}, image: {type: string}}},
		status: {type: object, properties: {readyReplicas: {type: integer}, replicas: {type: integer}}}}}}}]}}`, annotations, subresources)
}

// set returns the kind Set, as discovery describes it.
func set() kinds.Kind {
	return kinds.KindOf(mapping(schema.GroupVersion{Group: "example.com", Version: "v1"}, metav1.APIResource{Name: "sets", Kind: "Set", Namespaced: true}))
}

func deployment() kinds.Kind {
	return kinds.KindOf(mapping(schema.GroupVersion{Group: "apps", Version: "v1"}, metav1.APIResource{Name: "deployments", Kind: "Deployment", Namespaced: true}))
}
