package apiserver

import (
	"fmt"
	"slices"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// ServerVersion is the version that the server reports.
const ServerVersion = "v1.37.0"

// about responds to requests about the server itself: its version, discovery, and OpenAPI.
func (s *Server) about(r Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	aggregated := strings.Contains(r.accept, "as=APIGroupDiscoveryList")
	switch path := strings.Trim(r.Path, "/"); {
	case path == "version":
		return apiversion.Info{Major: "1", Minor: "37", GitVersion: ServerVersion, Platform: "linux/amd64"}, nil
	case path == "api" && aggregated:
		return s.aggregated(true), nil
	case path == "apis" && aggregated:
		return s.aggregated(false), nil
	case path == "openapi/v3":
		return s.documents(), nil
	case strings.HasPrefix(path, "openapi/v3/"):
		if gv, found := groupVersionAt(strings.TrimPrefix(path, "openapi/v3/")); found && slices.Contains(s.groupVersions(), gv) {
			return s.document(gv), nil
		}
	default:
		if gv, found := groupVersionAt(path); found {
			if list := s.resourcesOf(gv); list != nil {
				return list, nil
			}
		}
	}
	return nil, pageNotFound(r)
}

// groupVersionAt parses a path such as apis/apps/v1. It returns false if the path has another form.
func groupVersionAt(path string) (schema.GroupVersion, bool) {
	parts := strings.Split(path, "/")
	switch {
	case len(parts) == 2 && parts[0] == "api":
		return schema.GroupVersion{Version: parts[1]}, true
	case len(parts) == 3 && parts[0] == "apis":
		return schema.GroupVersion{Group: parts[1], Version: parts[2]}, true
	}
	return schema.GroupVersion{}, false
}

func pathOf(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.String()
}

// groupVersions returns the served group versions in the order of their registration. The core group is first.
func (s *Server) groupVersions() []schema.GroupVersion {
	var all []schema.GroupVersion
	for _, r := range s.resources {
		for _, v := range r.versions {
			if gv := r.gvk(v.name).GroupVersion(); !slices.Contains(all, gv) {
				all = append(all, gv)
			}
		}
	}
	return all
}

// resourcesOf returns the types and subresources of a group version, or nil if it is not served.
func (s *Server) resourcesOf(gv schema.GroupVersion) *metav1.APIResourceList {
	_, lists, _ := discovery.SplitGroupsAndResources(s.aggregated(gv.Group == ""))
	if list := lists[gv]; list != nil {
		list.TypeMeta = metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}
	}
	return lists[gv]
}

// aggregated returns the aggregated discovery document of the core group or, if core is false, of all other groups.
func (s *Server) aggregated(core bool) apidiscoveryv2.APIGroupDiscoveryList {
	list := apidiscoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"}, Items: []apidiscoveryv2.APIGroupDiscovery{}}
	for _, gv := range s.groupVersions() {
		if (gv.Group == "") != core {
			continue
		}
		in := apidiscoveryv2.APIVersionDiscovery{Version: gv.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
		for _, r := range s.resources {
			if v := r.version(gv.Version); v != nil && r.group == gv.Group {
				in.Resources = append(in.Resources, r.discovery(v))
			}
		}
		if n := len(list.Items); n > 0 && list.Items[n-1].Name == gv.Group {
			list.Items[n-1].Versions = append(list.Items[n-1].Versions, in)
			continue
		}
		list.Items = append(list.Items, apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: gv.Group}, Versions: []apidiscoveryv2.APIVersionDiscovery{in}})
	}
	return list
}

// discovery returns the entry of a type in the aggregated discovery document.
func (r *resource) discovery(v *version) apidiscoveryv2.APIResourceDiscovery {
	own := r.gvk(v.name)
	entry := apidiscoveryv2.APIResourceDiscovery{
		Resource: r.plural, SingularResource: r.singular, ResponseKind: (*metav1.GroupVersionKind)(&own), Scope: apidiscoveryv2.ScopeNamespace,
		ShortNames: r.shortNames, Categories: r.categories, Verbs: []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
	}
	if r.clusterwide {
		entry.Scope = apidiscoveryv2.ScopeCluster
	}
	if r.review {
		entry.Verbs = []string{"create"}
	}
	add := func(name string, kind schema.GroupVersionKind, verbs ...string) {
		entry.Subresources = append(entry.Subresources, apidiscoveryv2.APISubresourceDiscovery{Subresource: name, ResponseKind: (*metav1.GroupVersionKind)(&kind), Verbs: verbs})
	}
	if v.scale != nil {
		add("scale", scaleKind(), "get", "patch", "update")
	}
	if v.status {
		add("status", own, "get", "patch", "update")
	}
	if r.kind == "Pod" && r.group == "" {
		add("log", own, "get")
	}
	return entry
}

// documents returns the index of the OpenAPI documents. Each group version has its own document.
func (s *Server) documents() any {
	paths := map[string]any{}
	for _, gv := range s.groupVersions() {
		paths[pathOf(gv)] = map[string]any{"serverRelativeURL": fmt.Sprintf("/openapi/v3/%s?hash=%d", pathOf(gv), s.revision())}
	}
	return map[string]any{"paths": paths}
}

// document returns the OpenAPI document of a group version. The document describes custom types in full, and the
// types of the core and batch groups without their properties. The document omits all other built-in types.
func (s *Server) document(gv schema.GroupVersion) any {
	all := map[string]*spec.Schema{}
	for _, r := range s.resources {
		v := r.version(gv.Version)
		if v == nil || r.group != gv.Group {
			continue
		}
		of := v.schema
		if of == nil && (gv.Group == "" || gv.Group == "batch") {
			of = &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
			of.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{"group": gv.Group, "version": gv.Version, "kind": r.kind}})
		}
		if of != nil {
			all[gv.String()+"."+r.kind] = of
		}
	}
	return map[string]any{
		"openapi": "3.0.0", "info": map[string]any{"title": "Kubernetes", "version": ServerVersion}, "paths": map[string]any{},
		"components": map[string]any{"schemas": all},
	}
}
