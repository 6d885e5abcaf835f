package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"
)

// objects is an API server in memory for one command: it serves objects as they were given,
// carries out creates and patches, and logs what it was asked. Its watches say nothing.
type objects struct {
	URL string

	mu sync.Mutex
	// resources are the types, by the path of their group version.
	resources map[string][]resourceType
	// all are the objects, by their paths.
	all map[string]map[string]any
	// answers answer some requests, such as "GET /api/v1/pods", in the place of the server.
	answers map[string]http.HandlerFunc
	log     []string
}

// resourceType is a type whose objects are served.
type resourceType struct {
	version, name, kind string
	namespaced, scale   bool
}

// serveObjects serves some types, and objects of them given as YAML.
func serveObjects(t *testing.T, types []resourceType, manifests ...string) *objects {
	t.Helper()
	s := &objects{resources: map[string][]resourceType{}, all: map[string]map[string]any{}, answers: map[string]http.HandlerFunc{}}
	for _, r := range types {
		s.resources[r.version] = append(s.resources[r.version], r)
	}
	for _, manifest := range manifests {
		obj := map[string]any{}
		if err := yaml.Unmarshal([]byte(manifest), &obj); err != nil {
			t.Fatal(err)
		}
		s.all[s.path(t, obj)] = obj
	}
	s.URL = handle(t, s.serve)
	return s
}

// declared is the CRD of a kind without /scale that "run-controller" reconciles.
func declared(plural, kind string) string {
	return fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %[1]s.example.com, annotations: {imoocpod.dev/plan: pods, imoocpod.dev/image: nginx}},
		spec: {group: example.com, scope: Namespaced, names: {kind: %[2]s, plural: %[1]s}, versions: [{name: v1, served: true, storage: true, subresources: {status: {}},
		schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {replicas: {type: integer}}}, status: {type: object, properties: {observedGeneration: {type: integer}}}}}}}]}}`, plural, kind)
}

// path is where an object is served.
func (s *objects) path(t *testing.T, obj map[string]any) string {
	t.Helper()
	version, metadata := fmt.Sprint(obj["apiVersion"]), part(obj, "metadata")
	for _, r := range s.resources[version] {
		if r.kind == obj["kind"] {
			return fmt.Sprint(prefix(version), inNamespace(metadata["namespace"]), "/", r.name, "/", metadata["name"])
		}
	}
	t.Fatalf("no type has %s, %s", version, obj["kind"])
	return ""
}

// part is the metadata, or another part, of an object.
func part(obj map[string]any, name string) map[string]any {
	part, _ := obj[name].(map[string]any)
	return part
}

func inNamespace(namespace any) string {
	if namespace == nil {
		return ""
	}
	return fmt.Sprint("/namespaces/", namespace)
}

func prefix(version string) string {
	if strings.Contains(version, "/") {
		return "/apis/" + version
	}
	return "/api/" + version
}

// requests are those that the server has had, but for discovery, in the order of their
// arrival.
func (s *objects) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

func (s *objects) serve(w http.ResponseWriter, r *http.Request) {
	if body := s.discovery(r.URL.Path); body != nil {
		reply(w, http.StatusOK, body)
		return
	}
	request := r.Method + " " + r.URL.Path
	watched := r.URL.Query().Has("watch")
	if watched {
		request = "WATCH " + r.URL.Path
	}
	s.mu.Lock()
	s.log = append(s.log, request)
	answer := s.answers[request]
	s.mu.Unlock()
	switch {
	case answer != nil:
		answer(w, r)
	case watched:
		w.Header().Set("Content-Type", "application/json")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	default:
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.answer(w, r, data)
	}
}

// answer answers a request for objects.
func (s *objects) answer(w http.ResponseWriter, r *http.Request, data []byte) {
	if kind, version := s.listed(r.URL.Path); kind != "" && r.Method == http.MethodGet {
		items := []any{}
		for _, path := range slices.Sorted(maps.Keys(s.all)) {
			if path[:strings.LastIndex(path, "/")] == r.URL.Path {
				items = append(items, s.all[path])
			}
		}
		reply(w, http.StatusOK, map[string]any{"apiVersion": version, "kind": kind + "List", "metadata": map[string]any{"resourceVersion": "1"}, "items": items})
		return
	}
	path, scale := strings.CutSuffix(r.URL.Path, "/scale")
	if r.Method == http.MethodPost {
		obj := map[string]any{}
		if json.Unmarshal(data, &obj) == nil {
			reply(w, http.StatusCreated, obj)
			s.all[path+"/"+fmt.Sprint(part(obj, "metadata")["name"])] = obj
		}
		return
	}
	obj, found := s.all[path]
	switch {
	case !found:
		status(http.StatusNotFound, "NotFound")(w, r)
		return
	case scale:
		obj = map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": obj["metadata"], "spec": map[string]any{"replicas": part(obj, "spec")["replicas"]}}
	}
	if r.Method == http.MethodPatch {
		changed, err := patched(obj, data)
		if err != nil {
			status(http.StatusBadRequest, "BadRequest")(w, r)
			return
		}
		obj = changed
		if scale {
			part(s.all[path], "spec")["replicas"] = part(obj, "spec")["replicas"]
		} else {
			s.all[path] = obj
		}
	}
	reply(w, http.StatusOK, obj)
}

// listed is the kind and version of the objects of a list, "" for what is none.
func (s *objects) listed(path string) (kind, version string) {
	for version, all := range s.resources {
		rest, is := strings.CutPrefix(path, prefix(version)+"/")
		words := strings.Split(rest, "/")
		for _, r := range all {
			if is && (len(words) == 1 || len(words) == 3 && words[0] == "namespaces") && words[len(words)-1] == r.name {
				return r.kind, version
			}
		}
	}
	return "", ""
}

// patched is an object after a JSON patch or a merge patch.
func patched(obj map[string]any, patch []byte) (map[string]any, error) {
	before, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var after []byte
	if patch[0] == '[' {
		var edits jsonpatch.Patch
		if edits, err = jsonpatch.DecodePatch(patch); err == nil {
			after, err = edits.Apply(before)
		}
	} else {
		after, err = jsonpatch.MergePatch(before, patch)
	}
	changed := map[string]any{}
	if err == nil {
		err = json.Unmarshal(after, &changed)
	}
	return changed, err
}

// discovery lists the types, or returns nil if the path is that of an object.
func (s *objects) discovery(path string) map[string]any {
	switch path {
	case "/api":
		return map[string]any{"kind": "APIVersions", "versions": []any{"v1"}}
	case "/apis":
		var groups []any
		for _, version := range slices.Sorted(maps.Keys(s.resources)) {
			if name, v, grouped := strings.Cut(version, "/"); grouped {
				gv := map[string]any{"groupVersion": version, "version": v}
				groups = append(groups, map[string]any{"name": name, "versions": []any{gv}, "preferredVersion": gv})
			}
		}
		return map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
	}
	if rest, is := strings.CutPrefix(path, "/openapi/v3"); is {
		return s.openAPI(rest)
	}
	version := strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/")
	types, served := s.resources[version]
	if !served && path != "/api/v1" {
		return nil
	}
	all := []any{}
	for _, r := range types {
		all = append(all, map[string]any{"name": r.name, "singularName": strings.ToLower(r.kind), "kind": r.kind, "namespaced": r.namespaced, "verbs": []any{"get", "list", "watch", "create", "patch"}})
		if r.scale {
			all = append(all, map[string]any{"name": r.name + "/scale", "group": "autoscaling", "version": "v1", "kind": "Scale", "namespaced": r.namespaced, "verbs": []any{"get", "patch"}})
		}
	}
	return map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": all}
}

// openAPI has a schema for each type, with a replica count and the status of one.
func (s *objects) openAPI(path string) map[string]any {
	paths, schemas := map[string]any{}, map[string]any{}
	for version, types := range s.resources {
		of := prefix(version)
		paths[of[1:]] = map[string]any{"serverRelativeURL": "/openapi/v3" + of}
		group, v, grouped := strings.Cut(version, "/")
		if !grouped {
			group, v = "", version
		}
		for _, r := range types {
			if path != of {
				continue
			}
			integer := map[string]any{"type": "integer"}
			schemas[r.kind] = map[string]any{"type": "object", "x-kubernetes-group-version-kind": []any{map[string]any{"group": group, "version": v, "kind": r.kind}}, "properties": map[string]any{
				"spec":   map[string]any{"type": "object", "properties": map[string]any{"replicas": integer}},
				"status": map[string]any{"type": "object", "properties": map[string]any{"replicas": integer, "readyReplicas": integer, "observedGeneration": integer}},
			}}
		}
	}
	if path == "" {
		return map[string]any{"paths": paths}
	}
	return map[string]any{"components": map[string]any{"schemas": schemas}}
}

func reply(w http.ResponseWriter, code int, body map[string]any) {
	data, err := json.Marshal(body)
	if err != nil {
		panic(err) // it was decoded
	}
	always(code, "application/json", string(data))(w, nil)
}
