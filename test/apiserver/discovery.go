package apiserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// ServerVersion is the version that the server reports.
const ServerVersion = "v1.37.0"

// about responds to requests about the server itself: its version, discovery, and OpenAPI.
func (s *Server) about(q Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	aggregated := strings.Contains(q.accept, "as=APIGroupDiscoveryList")
	switch path := strings.Trim(q.Path, "/"); {
	case path == "version":
		return apiversion.Info{Major: "1", Minor: "37", GitVersion: ServerVersion, Platform: "linux/amd64"}, nil
	case path == "api" && aggregated:
		return s.aggregated(func(group string) bool { return group == "" }), nil
	case path == "apis" && aggregated:
		return s.aggregated(func(group string) bool { return group != "" }), nil
	case path == "openapi/v3":
		return s.documents(), nil
	case strings.HasPrefix(path, "openapi/v3/"):
		if gv, found := groupVersionAt(strings.TrimPrefix(path, "openapi/v3/")); found && slices.Contains(s.groupVersions(), gv) {
			return s.document(gv), nil
		}
	default:
		if gv, found := groupVersionAt(path); found && slices.Contains(s.groupVersions(), gv) {
			return s.resourcesOf(gv), nil
		}
	}
	return nil, pageNotFound(q)
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

// reviews returns the kinds that support only create. The server does not store their objects.
func reviews() map[schema.GroupVersion][]string {
	return map[schema.GroupVersion][]string{
		{Group: "authorization.k8s.io", Version: "v1"}:  {"SelfSubjectAccessReview"},
		{Group: "authentication.k8s.io", Version: "v1"}: {"SelfSubjectReview"},
	}
}

// groupVersions returns the served group versions in the order of their registration. The core
// group is first, and the groups of reviews are last.
func (s *Server) groupVersions() []schema.GroupVersion {
	var all []schema.GroupVersion
	add := func(gv schema.GroupVersion) {
		if !slices.Contains(all, gv) {
			all = append(all, gv)
		}
	}
	for _, r := range s.resources {
		for _, v := range r.versions {
			add(r.gvk(v.name).GroupVersion())
		}
	}
	for _, gv := range slices.SortedFunc(maps.Keys(reviews()), func(a, b schema.GroupVersion) int { return strings.Compare(a.Group, b.Group) }) {
		add(gv)
	}
	return all
}

func (s *Server) resourcesOf(gv schema.GroupVersion) metav1.APIResourceList {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String(), APIResources: []metav1.APIResource{}}
	for _, r := range s.resources {
		v := r.version(gv.Version)
		if r.group != gv.Group || v == nil {
			continue
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: r.plural, SingularName: r.singular, Kind: r.kind, Namespaced: !r.clusterwide, ShortNames: r.shortNames, Categories: r.categories,
			Verbs: metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
		})
		for _, sub := range subresources(r, v) {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: r.plural + "/" + sub.name, Namespaced: !r.clusterwide, Kind: sub.kind.Kind, Group: sub.kind.Group, Version: sub.kind.Version, Verbs: sub.verbs})
		}
	}
	for _, kind := range reviews()[gv] {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: strings.ToLower(kind) + "s", SingularName: strings.ToLower(kind), Kind: kind, Verbs: metav1.Verbs{"create"}})
	}
	return list
}

type subresource struct {
	name  string
	kind  schema.GroupVersionKind
	verbs metav1.Verbs
}

// subresources returns the subresources of a type. If a subresource has the same kind as the type,
// the group and the version of the subresource are empty.
func subresources(r *resource, v *version) []subresource {
	own := schema.GroupVersionKind{Kind: r.kind}
	var all []subresource
	if v.scale != nil {
		all = append(all, subresource{"scale", scaleKind(), metav1.Verbs{"get", "patch", "update"}})
	}
	if v.status {
		all = append(all, subresource{"status", own, metav1.Verbs{"get", "patch", "update"}})
	}
	if r.kind == "Pod" && r.group == "" {
		all = append(all, subresource{"log", own, metav1.Verbs{"get"}})
	}
	return all
}

// aggregated returns the aggregated discovery document. It includes the groups for which of(group) is true.
func (s *Server) aggregated(of func(group string) bool) apidiscoveryv2.APIGroupDiscoveryList {
	list := apidiscoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"}, Items: []apidiscoveryv2.APIGroupDiscovery{}}
	for _, gv := range s.groupVersions() {
		if !of(gv.Group) {
			continue
		}
		in := apidiscoveryv2.APIVersionDiscovery{Version: gv.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
		for _, r := range s.resourcesOf(gv).APIResources {
			kind := gv.WithKind(r.Kind)
			if r.Version != "" {
				kind = schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
			}
			told := &metav1.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind}
			if _, sub, is := strings.Cut(r.Name, "/"); is {
				last := &in.Resources[len(in.Resources)-1]
				last.Subresources = append(last.Subresources, apidiscoveryv2.APISubresourceDiscovery{Subresource: sub, ResponseKind: told, Verbs: r.Verbs})
				continue
			}
			scope := apidiscoveryv2.ScopeCluster
			if r.Namespaced {
				scope = apidiscoveryv2.ScopeNamespace
			}
			in.Resources = append(in.Resources, apidiscoveryv2.APIResourceDiscovery{
				Resource: r.Name, SingularResource: r.SingularName, ResponseKind: told, Scope: scope, ShortNames: r.ShortNames, Categories: r.Categories, Verbs: r.Verbs,
			})
		}
		if n := len(list.Items); n > 0 && list.Items[n-1].Name == gv.Group {
			list.Items[n-1].Versions = append(list.Items[n-1].Versions, in)
			continue
		}
		list.Items = append(list.Items, apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: gv.Group}, Versions: []apidiscoveryv2.APIVersionDiscovery{in}})
	}
	return list
}

// documents returns the index of the OpenAPI documents. Each group version has its own document.
func (s *Server) documents() any {
	paths := map[string]any{}
	for _, gv := range s.groupVersions() {
		paths[pathOf(gv)] = map[string]any{"serverRelativeURL": fmt.Sprintf("/openapi/v3/%s?hash=%d", pathOf(gv), s.revision())}
	}
	return map[string]any{"paths": paths}
}

// document returns the OpenAPI document of a group version. It has the schemas of custom types, and
// schemas without properties for core types. It leaves out other built-in types.
func (s *Server) document(gv schema.GroupVersion) any {
	all := map[string]*spec.Schema{}
	for _, r := range s.resources {
		v := r.version(gv.Version)
		if v == nil || r.group != gv.Group {
			continue
		}
		of := v.schema
		if of == nil && gv.Group == "" {
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
