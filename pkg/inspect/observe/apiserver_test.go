package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// apiServer serves a few resource types from memory. Watches fail as they do on a real server.
type apiServer struct {
	// latency is how long a request takes.
	latency time.Duration
	// delays adds time to requests of a kind, such as "list events".
	delays map[string]time.Duration

	mu       sync.Mutex
	revision int
	// objects maps a resource to its objects by namespace and name.
	objects map[string]map[string]*unstructured.Unstructured
	log     []change // one for each revision
	// compacted is the oldest revision that can be watched from.
	compacted int
	// stalled holds the resources whose watches send only bookmarks.
	stalled map[string]bool
	// forbidden holds the requests for which the user has no permission, such as "watch nodes".
	forbidden map[string]bool
	changed   chan struct{}
	watches   map[*watchStream]bool
	requests  map[string]int
	// listed counts the objects of a resource in all lists.
	listed map[string]int
	// pageSize is the maximum number of objects in a list; zero means all.
	pageSize int
	// failing holds the requests that get an internal error, such as "list pods".
	failing map[string]bool
}

type change struct {
	kind, resource string
	object         *unstructured.Unstructured
	// before is the object before the change, or nil if there was none.
	before *unstructured.Unstructured
}

// watchStream is an open watch. A message on end is sent to the client, and ends the watch.
type watchStream struct {
	resource string
	end      chan string
}

// resources returns the kinds that the server serves, by version and resource.
func resources() map[string]map[string]string {
	return map[string]map[string]string{
		"v1":                      {"pods": "Pod", "events": "Event", "nodes": "Node"},
		"apps/v1":                 {"deployments": "Deployment", "replicasets": "ReplicaSet", "statefulsets": "StatefulSet", "daemonsets": "DaemonSet"},
		"coordination.k8s.io/v1":  {"leases": "Lease"},
		"autoscaling/v2":          {"horizontalpodautoscalers": "HorizontalPodAutoscaler"},
		"policy/v1":               {"poddisruptionbudgets": "PodDisruptionBudget"},
		"apiextensions.k8s.io/v1": {"customresourcedefinitions": "CustomResourceDefinition"},
		"example.com/v1":          {"sets": "Set", "cells": "Cell"},

		kinds.ImoocPod().Resource.GroupVersion().String(): {"imoocpods": "ImoocPod"},
	}
}

// scaled reports whether a type has /scale.
func scaled(version, resource string) bool {
	return version == "apps/v1" && resource != "daemonsets" || resource == "sets"
}

// clusterwide reports whether a type is cluster-scoped.
func clusterwide(resource string) bool {
	return resource == "nodes" || resource == "customresourcedefinitions"
}

// typeOf returns the version and the kind of a resource, or "" if it is not served.
func typeOf(resource string) (version, kind string) {
	for version, all := range resources() {
		if kind, served := all[resource]; served {
			return version, kind
		}
	}
	return "", ""
}

func newAPIServer() *apiServer {
	return &apiServer{
		revision: 1, log: []change{{}}, objects: map[string]map[string]*unstructured.Unstructured{}, stalled: map[string]bool{}, forbidden: map[string]bool{},
		changed: make(chan struct{}), watches: map[*watchStream]bool{}, requests: map[string]int{}, listed: map[string]int{}, failing: map[string]bool{},
	}
}

// factory returns the factory of clients for the server.
func (s *apiServer) factory(t testing.TB) *kube.Factory {
	t.Helper()
	c := kube.New("test", genericiooptions.NewTestIOStreamsDiscard())
	*c.Flags.APIServer, *c.Flags.CacheDir = "http://server", os.DevNull // nothing is kept on disk
	wrap := c.Flags.WrapConfigFn
	c.Flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config = wrap(config)
		config.Transport = s
		return config
	}
	return c
}

// deployments returns the kind of Deployments.
func deployments() kinds.Kind { return kindOf("deployments") }

// imoocPods returns the kind of ImoocPods.
func imoocPods() kinds.Kind { return kinds.ImoocPod() }

// kindOf returns the kind of a resource that the server serves.
func kindOf(resource string) kinds.Kind {
	version, kind := typeOf(resource)
	gv := schema.FromAPIVersionAndKind(version, kind).GroupVersion()
	scope := meta.RESTScopeNamespace
	if clusterwide(resource) {
		scope = meta.RESTScopeRoot
	}
	return kinds.KindOf(&meta.RESTMapping{Resource: gv.WithResource(resource), GroupVersionKind: gv.WithKind(kind), Scope: scope})
}

// do makes a change, and wakes the watches.
func (s *apiServer) do(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

// put stores an object as a new revision.
func (s *apiServer) put(resource string, obj *unstructured.Unstructured) {
	key := obj.GetNamespace() + "/" + obj.GetName()
	if s.objects[resource] == nil {
		s.objects[resource] = map[string]*unstructured.Unstructured{}
	}
	kind := "MODIFIED"
	if s.objects[resource][key] == nil {
		kind = "ADDED"
	}
	s.revise(kind, resource, obj)
	s.objects[resource][key] = s.log[len(s.log)-1].object
}

// remove removes an object in a new revision.
func (s *apiServer) remove(resource string, obj *unstructured.Unstructured) {
	s.revise("DELETED", resource, obj)
	delete(s.objects[resource], obj.GetNamespace()+"/"+obj.GetName())
}

func (s *apiServer) revise(kind, resource string, obj *unstructured.Unstructured) {
	s.revision++
	obj = obj.DeepCopy()
	obj.SetResourceVersion(strconv.Itoa(s.revision))
	s.log = append(s.log, change{kind, resource, obj, s.objects[resource][obj.GetNamespace()+"/"+obj.GetName()]})
}

// all returns the objects of a resource, in the order of their names.
func (s *apiServer) all(resource string) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, key := range slices.Sorted(maps.Keys(s.objects[resource])) {
		all = append(all, s.objects[resource][key])
	}
	return all
}

// endWatches sends an event to the watches of a resource, or to all if it is "", and ends them.
func (s *apiServer) endWatches(resource, event string) {
	for w := range s.watches {
		if resource == "" || w.resource == resource {
			w.end <- event
			delete(s.watches, w)
		}
	}
}

// expire makes all revisions too old to watch from, and returns the error event for the watches.
func (s *apiServer) expire() string {
	s.compacted = s.revision
	return `{"type":"ERROR","object":` + statusOf(http.StatusGone, "Expired", "too old resource version") + "}\n"
}

func statusOf(code int, reason, message string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`, message, reason, code)
}

// RoundTrip answers a request.
func (s *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := follow.Sleep(r.Context(), s.latency); err != nil {
		return nil, err
	}
	if strings.HasPrefix(r.URL.Path, "/openapi/") {
		return respond(r, http.StatusOK, openAPI(r.URL.Path)), nil
	}
	version, path, found := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/"), "/")
	if found && !strings.HasPrefix(r.URL.Path, "/api/") {
		var rest string
		rest, path, found = strings.Cut(path, "/")
		version += "/" + rest
	}
	if !found {
		return respond(r, http.StatusOK, discovery(r.URL.Path, version)), nil
	}
	namespace := ""
	if rest, is := strings.CutPrefix(path, "namespaces/"); is {
		namespace, path, _ = strings.Cut(rest, "/")
	}
	resource, name, one := strings.Cut(path, "/")
	if of, subresource, is := strings.Cut(name, "/"); is {
		resource, name = resource+"/"+subresource, of
	}
	query := r.URL.Query()
	verb := "list"
	switch {
	case query.Get("watch") != "":
		verb = "watch"
	case one:
		verb = "get"
	}
	if err := follow.Sleep(r.Context(), s.delays[verb+" "+resource]); err != nil {
		return nil, err
	}
	matches := selecting(namespace, query.Get("labelSelector"), query.Get("fieldSelector"))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[verb+" "+resource]++
	switch {
	case s.forbidden[verb+" "+resource]:
		return respond(r, http.StatusForbidden, statusOf(http.StatusForbidden, "Forbidden", "no right to "+verb+" "+resource)), nil
	case s.failing[verb+" "+resource]:
		return respond(r, http.StatusInternalServerError, statusOf(http.StatusInternalServerError, "InternalError", "cannot "+verb+" "+resource)), nil
	case verb == "watch":
		since, err := strconv.Atoi(query.Get("resourceVersion"))
		if err != nil || since < s.compacted {
			return respond(r, http.StatusGone, statusOf(http.StatusGone, "Expired", "too old resource version")), nil
		}
		return s.watch(r, resource, since, matches), nil
	case one:
		obj := s.objects[resource][namespace+"/"+name]
		if obj == nil {
			return respond(r, http.StatusNotFound, statusOf(http.StatusNotFound, "NotFound", name+" not found")), nil
		}
		return respond(r, http.StatusOK, asJSON(obj.Object)), nil
	}
	items := []any{}
	for _, obj := range s.all(resource) {
		if matches(obj) {
			items = append(items, obj.Object)
		}
	}
	about := map[string]any{"resourceVersion": strconv.Itoa(s.revision)}
	begin, _ := strconv.Atoi(query.Get("continue"))
	if end := begin + s.pageSize; begin < end && end < len(items) {
		items, about["continue"] = items[:end], strconv.Itoa(end)
	}
	items = items[begin:]
	s.listed[resource] += len(items)
	return respond(r, http.StatusOK, asJSON(map[string]any{
		"apiVersion": version, "kind": resources()[version][resource] + "List", "items": items, "metadata": about,
	})), nil
}

// openAPI returns the schemas of pods and of Cells, which have two similar counts.
func openAPI(path string) string {
	if path == "/openapi/v3" {
		return `{"paths":{"apis/example.com/v1":{"serverRelativeURL":"/openapi/v3/apis/example.com/v1"},"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1"}}}`
	}
	return `{"components":{"schemas":{"pod":{"type":"object","x-kubernetes-group-version-kind":[{"group":"","version":"v1","kind":"Pod"}]},"cell":{"type":"object","x-kubernetes-group-version-kind":[{"group":"example.com","version":"v1","kind":"Cell"}],"properties":{
		"spec":{"type":"object","properties":{"readers":{"type":"object","properties":{"replicas":{"type":"integer"}}},"writers":{"type":"object","properties":{"replicas":{"type":"integer"}}}}},
		"status":{"type":"object","properties":{"readyReplicas":{"type":"integer"},"replicas":{"type":"integer"}}}}}}}}`
}

// discovery returns the discovery document of a path.
func discovery(path, version string) string {
	switch path {
	case "/api":
		return `{"kind":"APIVersions","versions":["v1"]}`
	case "/apis":
		var groups []any
		for _, of := range slices.Sorted(maps.Keys(resources())) {
			if group, version, grouped := strings.Cut(of, "/"); grouped {
				one := map[string]any{"groupVersion": of, "version": version}
				groups = append(groups, map[string]any{"name": group, "versions": []any{one}, "preferredVersion": one})
			}
		}
		return asJSON(map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
	}
	var all []any
	for name, kind := range resources()[version] {
		if scaled(version, name) {
			all = append(all, map[string]any{"name": name + "/scale", "group": "autoscaling", "version": "v1", "kind": "Scale", "namespaced": true, "verbs": []any{"get"}})
		}
		all = append(all, map[string]any{"name": name, "singularName": strings.ToLower(kind), "kind": kind, "namespaced": !clusterwide(name), "verbs": []any{"get", "list", "watch"}})
	}
	return asJSON(map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": all})
}

// selecting returns a function that reports whether a request selects an object.
func selecting(namespace, byLabel, byField string) func(*unstructured.Unstructured) bool {
	label, labelErr := labels.Parse(byLabel)
	field, fieldErr := fields.ParseSelector(byField)
	return func(obj *unstructured.Unstructured) bool {
		about, _, _ := unstructured.NestedString(obj.Object, "involvedObject", "uid")
		kind, _, _ := unstructured.NestedString(obj.Object, "involvedObject", "kind")
		reason, _, _ := unstructured.NestedString(obj.Object, "reason")
		return labelErr == nil && fieldErr == nil && obj.GetNamespace() == namespace && label.Matches(labels.Set(obj.GetLabels())) &&
			field.Matches(fields.Set{"metadata.name": obj.GetName(), "involvedObject.uid": about, "involvedObject.kind": kind, "reason": reason})
	}
}

func respond(r *http.Request, code int, body string) *http.Response {
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

func asJSON(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // plain values can always be marshaled
	}
	return string(data)
}

// watch returns a response that sends all changes after a revision.
func (s *apiServer) watch(r *http.Request, resource string, since int, matches func(*unstructured.Unstructured) bool) *http.Response {
	w := &watchStream{resource: resource, end: make(chan string, 1)}
	s.watches[w] = true
	from, to := io.Pipe()
	go s.tell(r.Context(), w, since, matches, to)
	resp := respond(r, http.StatusOK, "")
	resp.Body, resp.ContentLength = from, -1
	return resp
}

func (s *apiServer) tell(ctx context.Context, w *watchStream, since int, matches func(*unstructured.Unstructured) bool, to *io.PipeWriter) {
	defer func() { _ = to.Close() }()
	gone := context.AfterFunc(ctx, func() { _ = to.CloseWithError(ctx.Err()) })
	defer gone()
	for {
		s.mu.Lock()
		var said strings.Builder
		for !s.stalled[w.resource] && since < s.revision {
			switch c := s.log[since]; {
			case c.resource != w.resource:
			case matches(c.object):
				fmt.Fprintf(&said, "{\"type\":%q,\"object\":%s}\n", c.kind, asJSON(c.object.Object))
			case c.before != nil && matches(c.before): // it is not selected any more
				fmt.Fprintf(&said, "{\"type\":\"DELETED\",\"object\":%s}\n", asJSON(c.object.Object))
			}
			since++
		}
		if said.Len() == 0 {
			version, kind := typeOf(w.resource)
			fmt.Fprintf(&said, "{\"type\":\"BOOKMARK\",\"object\":{\"apiVersion\":%q,\"kind\":%q,\"metadata\":{\"resourceVersion\":\"%d\"}}}\n", version, kind, since)
		}
		changed := s.changed
		s.mu.Unlock()
		if _, err := io.WriteString(to, said.String()); err != nil {
			return // the client is gone
		}
		select {
		case <-changed:
		case event := <-w.end:
			_, _ = io.WriteString(to, event) // the client may be gone
			return
		case <-ctx.Done():
			return
		}
	}
}

// sent returns the different requests so far, except those for discovery, in alphabetical order.
func (s *apiServer) sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.requests))
}

// pass lets time pass in the bubble of the test, and waits for everything that is due.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
