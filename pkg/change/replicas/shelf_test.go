package replicas

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/objects"
)

// shelf is a server with objects in the namespace shop. It lets other clients write before each request.
type shelf struct {
	*apiserver.Server

	t       *testing.T
	objects dynamic.Interface
	pods    corev1client.CoreV1Interface
	// others contains writes of other clients. The server executes one of them before each request.
	others []func()
	// writes contains all changes to existing objects, except the writes in others.
	writes []apiserver.Change
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{Server: apiserver.New(t), t: t}
	var err error
	if s.objects, err = dynamic.NewForConfig(s.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	if s.pods, err = corev1client.NewForConfig(s.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	others := false
	s.Fail(func(apiserver.Request) bool { return len(s.others) > 0 }, apiserver.Fault{Before: func() {
		write := s.others[0]
		s.others = s.others[1:]
		others = true
		write()
		others = false
	}})
	s.OnWrite(func(c apiserver.Change) {
		if c.Before != nil && !others {
			s.writes = append(s.writes, c)
		}
	})
	return s
}

// parse returns an object in the namespace shop. Its UID is "uid-of-" followed by its name.
func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{Object: objects.Parse(t, text)}
	obj.SetNamespace("shop")
	obj.SetUID(types.UID("uid-of-" + obj.GetName()))
	return obj
}

// put creates an object, with at most one owner.
func (s *shelf) put(text string, owners ...*unstructured.Unstructured) *unstructured.Unstructured {
	s.t.Helper()
	obj := parse(s.t, text)
	for _, owner := range owners {
		obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())})
	}
	return s.Create(obj)
}

const (
	containers = "{containers: [{name: main, image: 'example.com/web:1'}]}"
	template   = "template: {metadata: {labels: {app: web}}, spec: " + containers + "}"
	workload   = "selector: {matchLabels: {app: web}}, " + template
)

// kindOf returns a kind that this program does not ship.
func kindOf(group, version, kind string) kinds.Kind {
	singular := strings.ToLower(kind)
	resource := schema.GroupVersionResource{Group: group, Version: version, Resource: singular + "s"}
	return kinds.Kind{Resource: resource, Kind: kind, Singular: singular}
}

// deployment returns the Deployment web as YAML.
func deployment(count int64) string {
	return fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web},
  spec: {replicas: %d, paused: false, %s}}`, count, workload)
}

// imoocPod returns the ImoocPod foo as YAML.
func imoocPod(count int64) string {
	return fmt.Sprintf(`{apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod, metadata: {name: foo},
  spec: {replicas: %d, %s}}`, count, template)
}

// cloneSets is the CRD of a kind whose objects may have any fields.
const cloneSets = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: clonesets.apps.kruise.io},
  spec: {group: apps.kruise.io, scope: Namespaced, names: {kind: CloneSet, plural: clonesets},
    versions: [{name: v1alpha1, served: true, storage: true,
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`

func ofCloneSet() observe.Target {
	return observe.Target{Kind: kindOf("apps.kruise.io", "v1alpha1", "CloneSet"), Namespace: "shop", Name: "web"}
}

func ofWeb() observe.Target {
	return observe.Target{Kind: kindOf("apps", "v1", "Deployment"), Namespace: "shop", Name: "web"}
}

func ofFoo() observe.Target {
	return observe.Target{Kind: kinds.ImoocPod(), Namespace: "shop", Name: "foo"}
}

func (s *shelf) stored(of observe.Target) *unstructured.Unstructured {
	return s.Get(of.Kind.CRD(), of.Namespace, of.Name)
}

func (s *shelf) count(of observe.Target) int64 {
	n, _, _ := unstructured.NestedInt64(s.stored(of).Object, "spec", "replicas")
	return n
}

// scaled returns a function that sets the count as another client.
func (s *shelf) scaled(of observe.Target, count int64) func() {
	return func() {
		s.Update(of.Kind.CRD(), of.Namespace, of.Name, func(obj *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(obj.Object, count, "spec", "replicas")
		})
	}
}

// noted returns a function that changes a label as another client.
func (s *shelf) noted(of observe.Target) func() {
	return func() {
		s.Update(of.Kind.CRD(), of.Namespace, of.Name, func(obj *unstructured.Unstructured) {
			obj.SetLabels(map[string]string{"note": obj.GetResourceVersion()})
		})
	}
}

// refuse makes the server reject requests such as "get", "get scale", or "patch scale".
func (s *shelf) refuse(of observe.Target, errs map[string]error) {
	for request, err := range errs {
		verb, subresource, _ := strings.Cut(request, " ")
		s.Fail(apiserver.On(verb, strings.Trim(of.Kind.Resource.Resource+"/"+subresource, "/")), apiserver.Fault{Err: err})
	}
}

// sent returns the requests so far, such as "get scale, patch scale".
func (s *shelf) sent() string {
	var all []string
	for _, r := range s.Requests(nil) {
		all = append(all, strings.TrimSpace(r.Verb+" "+r.Subresource))
	}
	return strings.Join(all, ", ")
}

// options returns the field manager and the dryRun option of the last patch.
func (s *shelf) options() string {
	patches := s.Requests(apiserver.On("patch", "*"))
	query := patches[len(patches)-1].Query
	return query.Get("fieldManager") + " " + query.Get("dryRun")
}
