// Package apiserver is an in-memory Kubernetes API server for tests: it stores objects, serves
// watches, and responds like a real server. It has no sockets, and its goroutines end with their
// requests, so it also runs in a testing/synctest bubble, where delays pass instantly.
//
// The server itself deletes dependents and establishes CRDs. Package play simulates controllers. As on a
// real server, a request cannot create an object in a missing namespace. Actor.Create creates the namespace first.
package apiserver

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
)

// Server is an API server in memory. Its methods may be called concurrently, and from hooks of OnWrite.
type Server struct {
	// Actor reads and writes objects for the test, with the field manager "test".
	Actor

	t testing.TB

	mu        sync.Mutex
	resources []*resource
	// objects are keyed by type and namespace/name.
	objects map[schema.GroupResource]map[string]*unstructured.Unstructured
	// history has one change for each revision after the first.
	history []Change
	// compacted is the oldest revision from which a watch can start.
	compacted int
	uids      int
	// changed is closed and replaced at every change, and by Stall.
	changed chan struct{}
	// pages holds the remaining items of paged lists, by continue token.
	pages map[string]page
	hooks []func(Change)
	// check is the hook of OnRequest.
	check func(Actor, Request, Change)
	// untold holds the changes that the hooks have not received.
	untold []Change

	// managed lists the resources with managed fields. If managed is nil, all resources have managed fields.
	managed []string

	requests []Request
	faults   []*fault
	forbids  []Match
	streams  map[*stream]bool
	stalled  []string
	closed   bool
}

// Change is the creation, update, or deletion of an object.
type Change struct {
	Type watch.EventType
	// Resource is the type, such as "deployments.apps".
	Resource schema.GroupResource
	// Before is nil for a new object. After is nil for a deleted object.
	Before, After *unstructured.Unstructured

	revision int
}

// Object returns the object after the change, or the last state of a deleted object.
func (c Change) Object() *unstructured.Unstructured {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// New returns a server with the built-in types and the namespaces default and kube-system. It stops with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{
		t: t, resources: builtInResources(), objects: map[schema.GroupResource]map[string]*unstructured.Unstructured{}, changed: make(chan struct{}),
		pages: map[string]page{}, streams: map[*stream]bool{}, compacted: 1,
	}
	s.Actor = s.As("test")
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem} {
		s.ensureNamespace(name)
	}
	s.untold = nil // hooks do not receive these namespaces
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closed = true
		clear(s.objects) // to free memory: cobra retains the commands, which refer to the server
		s.history, s.hooks = nil, nil
	})
	return s
}

// RESTConfig returns a configuration for clients of the server, without a client-side rate limit.
func (s *Server) RESTConfig() *rest.Config {
	return &rest.Config{Host: "http://server", Transport: s, QPS: -1}
}

// Connect sets flags so that the clients created from them use the server, read no kubeconfig, and keep no discovery
// cache on disk.
func (s *Server) Connect(flags *genericclioptions.ConfigFlags) {
	*flags.KubeConfig, *flags.APIServer, *flags.CacheDir = os.DevNull, "http://server", os.DevNull
	wrap := flags.WrapConfigFn
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		if wrap != nil {
			config = wrap(config)
		}
		config.Transport = s
		return config
	}
}

// OnWrite registers a hook that runs after each change. The server is not locked, so the hook can write objects.
func (s *Server) OnWrite(hook func(Change)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = append(s.hooks, hook)
}

// OnRequest sets a hook that runs before a get, create, update, patch, or delete of one object takes effect. Dry runs
// and reads of /scale do not call it. For a get, Change.Type is empty, and Before and After are equal. The server is
// locked, so the hook must call only Get and List of the Actor that it receives.
func (s *Server) OnRequest(hook func(Actor, Request, Change)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.check = hook
}

// checkRequest calls the hook of OnRequest. It ignores writes by an Actor. The caller must hold the lock.
func (s *Server) checkRequest(r Request, kind watch.EventType, before, after *unstructured.Unstructured) {
	if s.check != nil && r.Verb != "" {
		s.check(Actor{s: s, locked: true}, r, Change{Type: kind, Resource: r.resource.gr(), Before: before.DeepCopy(), After: after.DeepCopy()})
	}
}

// After calls f when d has passed, unless the test has ended.
func (s *Server) After(d time.Duration, f func()) {
	time.AfterFunc(d, func() {
		s.mu.Lock()
		closed := s.closed
		s.mu.Unlock()
		if !closed {
			f()
		}
	})
}

// unlock unlocks the server, and then calls the hooks with the new changes.
func (s *Server) unlock() {
	changes, hooks := s.untold, s.hooks
	s.untold = nil
	if s.closed {
		hooks = nil
	}
	s.mu.Unlock()
	for _, c := range changes {
		for _, hook := range hooks {
			hook(c)
		}
	}
}

// Actor reads and writes objects with a field manager. It bypasses the rules for requests: objects keep their status,
// UID, and creation time. Its reads and writes are not logged, and faults do not affect them.
type Actor struct {
	s       *Server
	manager string
	// locked means that the caller holds the lock.
	locked bool
}

// As returns an actor that writes as the given field manager.
func (s *Server) As(manager string) Actor { return Actor{s: s, manager: manager} }

// lock locks the server, and returns a function that unlocks it. If the caller holds the lock, both do nothing.
func (a Actor) lock() (unlock func()) {
	if a.locked {
		return func() {}
	}
	a.s.mu.Lock()
	return a.s.mu.Unlock
}

// Create stores a new object, and creates its namespace if it is missing.
func (a Actor) Create(obj runtime.Object) *unstructured.Unstructured {
	a.s.t.Helper()
	created, err := a.create(obj)
	if err != nil {
		a.s.t.Errorf("test server: cannot create an object: %v", err)
	}
	return created
}

// ownCRDs returns the CRDs of this program. It parses them only once, because they are long.
var ownCRDs = sync.OnceValue(deploy.CRDs) //nolint:gochecknoglobals // never changed

// CreateCRDs creates the CRDs of this program.
func (a Actor) CreateCRDs() {
	a.s.t.Helper()
	for _, crd := range ownCRDs() {
		a.Create(crd)
	}
}

// CreateYAML creates objects from YAML documents separated by "---".
func (a Actor) CreateYAML(text string) {
	a.s.t.Helper()
	for document := range strings.SplitSeq(text, "\n---\n") {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &obj.Object); err != nil {
			a.s.t.Errorf("test server: invalid YAML: %v in\n%s", err, document)
			continue
		}
		a.Create(obj)
	}
}

func (a Actor) create(obj runtime.Object) (*unstructured.Unstructured, error) {
	u, err := toUnstructured(obj)
	if err != nil {
		return nil, err
	}
	a.s.mu.Lock()
	defer a.s.unlock()
	r, v := a.s.servedKind(u.GroupVersionKind())
	if r == nil {
		return nil, fmt.Errorf("the type %s is not served", u.GroupVersionKind())
	}
	if !r.clusterwide {
		if u.GetNamespace() == "" {
			u.SetNamespace(metav1.NamespaceDefault)
		}
		a.s.ensureNamespace(u.GetNamespace())
	}
	return a.s.add(write{resource: r, version: v, manager: a.manager, trusted: true}, u)
}

// ensureNamespace creates a namespace if it is missing. The caller must hold the lock unless the server is new.
func (s *Server) ensureNamespace(name string) {
	r := s.served("namespaces")
	if s.objects[r.gr()]["/"+name] != nil {
		return
	}
	ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
		"status": map[string]any{"phase": "Active"}}}
	if _, err := s.add(write{resource: r, version: r.versions[0], manager: "kube-apiserver", trusted: true}, ns); err != nil {
		s.t.Errorf("test server: cannot create a namespace: %v", err)
	}
}

// toUnstructured converts an object of any Go type.
func toUnstructured(obj runtime.Object) (*unstructured.Unstructured, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return normal(u)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: fields}
	if u.GetKind() == "" {
		kinds, _, err := scheme.Scheme.ObjectKinds(obj)
		if err != nil {
			return nil, err
		}
		u.SetGroupVersionKind(kinds[0])
	}
	return normal(u)
}

// Get returns a copy of an object, or nil if it does not exist. resource is a name that kubectl
// accepts, such as "deployments", "po", or "sets.example.com".
func (a Actor) Get(resource, namespace, name string) *unstructured.Unstructured {
	a.s.t.Helper()
	defer a.lock()()
	_, obj := a.s.find(resource, namespace, name)
	return obj.DeepCopy()
}

// List returns copies of the objects of a type, sorted by namespace and name. An empty namespace selects all objects.
func (a Actor) List(resource, namespace string) []*unstructured.Unstructured {
	a.s.t.Helper()
	defer a.lock()()
	var list []*unstructured.Unstructured
	for _, obj := range a.s.all(a.s.named(resource).gr(), namespace) {
		list = append(list, obj.DeepCopy())
	}
	return list
}

// Update changes an object, including its status, and returns a copy of the result.
// It returns nil if the object does not exist or cannot be updated.
func (a Actor) Update(resource, namespace, name string, change func(*unstructured.Unstructured)) *unstructured.Unstructured {
	a.s.t.Helper()
	a.s.mu.Lock()
	defer a.s.unlock()
	r, before := a.s.find(resource, namespace, name)
	if before == nil {
		return nil
	}
	after := before.DeepCopy()
	change(after)
	after, err := normal(after)
	if err == nil {
		after, err = a.s.replace(write{resource: r, version: r.version(after.GroupVersionKind().Version), manager: a.manager, trusted: true}, before, after)
	}
	if err != nil {
		a.s.t.Errorf("test server: cannot update %s %s: %v", resource, name, err)
		return nil
	}
	return after.DeepCopy()
}

// Delete deletes an object like a request does. It does nothing if the object does not exist.
func (a Actor) Delete(resource, namespace, name string) {
	a.s.t.Helper()
	a.s.mu.Lock()
	defer a.s.unlock()
	if r, obj := a.s.find(resource, namespace, name); obj != nil {
		a.s.end(r, obj, nil)
	}
}

// Remove removes an object immediately, regardless of finalizers and the grace period. The
// simulated kubelet calls it for a terminated pod without finalizers.
func (a Actor) Remove(resource, namespace, name string) {
	a.s.t.Helper()
	a.s.mu.Lock()
	defer a.s.unlock()
	if r, obj := a.s.find(resource, namespace, name); obj != nil {
		a.s.remove(r, obj)
	}
}

// find returns a type by name, and an object by namespace and name. The object is nil if it does not exist.
func (s *Server) find(word, namespace, name string) (*resource, *unstructured.Unstructured) {
	s.t.Helper()
	r := s.named(word)
	return r, s.objects[r.gr()][namespace+"/"+name]
}

// named returns a type by name. If the type is not served, the test fails.
func (s *Server) named(word string) *resource {
	s.t.Helper()
	r := s.served(word)
	if r == nil {
		s.t.Errorf("test server: unknown type %q", word)
		return &resource{plural: word, versions: []*version{{}}}
	}
	return r
}
