package observe

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// server is an API server in memory. It serves two kinds that another program reconciles: Sets, which
// have /scale, and Cells, which have two similar counts.
type server struct{ *apiserver.Server }

func newServer(t testing.TB) *server {
	t.Helper()
	s := &server{apiserver.New(t)}
	s.Create(crdOf(t, "Set", setSpec, "{status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}}"))
	s.Create(crdOf(t, "Cell", cellSpec, "{status: {}}"))
	return s
}

const (
	setSpec  = "replicas: {type: integer}, size: {type: integer}"
	cellSpec = "readers: {type: object, properties: {replicas: {type: integer}}}, writers: {type: object, properties: {replicas: {type: integer}}}"
)

func crdOf(t testing.TB, kind, spec, subresources string) *unstructured.Unstructured {
	t.Helper()
	return parse(t, fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %[1]ss.example.com},
		spec: {group: example.com, names: {kind: %[2]s, plural: %[1]ss, singular: %[1]s}, scope: Namespaced, versions: [{name: v1, served: true, storage: true, subresources: %[4]s,
		schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {%[3]s}}, status: {type: object, properties: {
		observedGeneration: {type: integer}, replicas: {type: integer}, readyReplicas: {type: integer}, wanted: {type: integer}, selector: {type: string}}}}}}}]}}`,
		strings.ToLower(kind), kind, spec, subresources))
}

func (s *server) clients() *kube.Clients {
	factory := kube.New("test", genericiooptions.NewTestIOStreamsDiscard())
	s.Connect(factory.Flags)
	c, err := factory.Connect()
	if err != nil {
		panic(err)
	}
	return c
}

// kindOf returns a namespaced kind with a guessed resource name.
func kindOf(apiVersion, kind string) kinds.Kind {
	gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	return kinds.KindOf(resource, kind, false)
}

func deployments() kinds.Kind { return kindOf("apps/v1", "Deployment") }

func imoocPods() kinds.Kind { return kinds.ImoocPod() }

// put creates an object or replaces the existing one. An annotation ensures that each replacement is a change.
func (s *server) put(obj *unstructured.Unstructured) {
	obj = obj.DeepCopy()
	if s.Update(strings.ToLower(obj.GetKind()), obj.GetNamespace(), obj.GetName(), func(now *unstructured.Unstructured) {
		obj.SetGeneration(now.GetGeneration())
		obj.SetUID(cmp.Or(obj.GetUID(), now.GetUID()))
		_ = unstructured.SetNestedField(obj.Object, now.GetResourceVersion(), "metadata", "annotations", "example.com/replaces")
		now.Object = obj.Object
	}) == nil {
		s.Create(obj)
	}
}

func (s *server) remove(obj *unstructured.Unstructured) {
	s.Remove(strings.ToLower(obj.GetKind()), obj.GetNamespace(), obj.GetName())
}

// on matches requests such as "list pods".
func on(request string) apiserver.Match {
	verb, resource, _ := strings.Cut(request, " ")
	return apiserver.On(verb, resource)
}

func (s *server) forbid(request string) { s.Forbid(on(request)) }

// fail makes a request fail with an internal error until end is called.
func (s *server) fail(request string) (end func()) {
	return s.Fail(on(request), apiserver.Fault{Err: apierrors.NewInternalError(errors.New("cannot " + request))})
}

func (s *server) delay(request string, d time.Duration) {
	s.Fail(on(request), apiserver.Fault{Delay: d})
}

func (s *server) count(request string) int { return len(s.Requests(on(request))) }

// sent returns the distinct requests for objects, in alphabetical order.
func (s *server) sent() []string {
	var all []string
	for _, r := range s.Requests(on("* *")) {
		if r.Resource != "" {
			all = append(all, r.Verb+" "+strings.TrimSuffix(r.Resource+"/"+r.Subresource, "/"))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// selected reports whether all requests of a type, such as "list pods", have the selector.
func (s *server) selected(request, selector string) bool {
	return !slices.ContainsFunc(s.Requests(on(request)), func(r apiserver.Request) bool {
		return r.Query.Get("labelSelector") != selector && r.Query.Get("fieldSelector") != selector
	})
}

// pass advances the time in the bubble of the test, and waits until all goroutines are blocked.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
