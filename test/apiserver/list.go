package apiserver

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// page holds the remaining items of a paged list at the revision of its first page.
type page struct {
	items    []*unstructured.Unstructured
	revision int
}

// list returns the objects that a request selects, or a page of them.
func (s *Server) list(r Request) (any, error) {
	selects, err := r.selector()
	if err != nil {
		return nil, err
	}
	at, known := s.pages[r.Query.Get("continue")]
	if r.Query.Get("continue") != "" {
		if !known {
			return nil, apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result.")
		}
	} else {
		if err := s.knows(r.Query.Get("resourceVersion")); err != nil {
			return nil, err
		}
		at.revision = s.revision()
		for _, obj := range s.all(r.resource.gr(), r.Namespace) {
			if selects(obj) {
				at.items = append(at.items, obj)
			}
		}
	}
	metadata := map[string]any{"resourceVersion": strconv.Itoa(at.revision)}
	if limit, err := strconv.Atoi(r.Query.Get("limit")); err == nil && limit > 0 && limit < len(at.items) {
		token := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", len(s.pages), r.Path))
		s.pages[token] = page{at.items[limit:], at.revision}
		metadata["continue"], metadata["remainingItemCount"] = token, len(at.items)-limit
		at.items = at.items[:limit]
	}
	items := []any{}
	for _, obj := range at.items {
		items = append(items, r.view(obj).Object)
	}
	list := map[string]any{"apiVersion": r.resource.gvk(r.Version).GroupVersion().String(), "kind": r.resource.kind + "List", "metadata": metadata, "items": items}
	if strings.Contains(r.accept, "as=PartialObjectMetadataList") {
		list["apiVersion"], list["kind"] = "meta.k8s.io/v1", "PartialObjectMetadataList"
	}
	return list, nil
}

// knows returns an error for a revision that is in the future or not a number. An empty revision is valid.
func (s *Server) knows(revision string) error {
	if revision == "" || revision == "0" {
		return nil
	}
	switch n, err := strconv.Atoi(revision); {
	case err != nil:
		return apierrors.NewBadRequest("invalid resourceVersion: " + revision)
	case n > s.revision():
		return apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", n, s.revision()), 1)
	}
	return nil
}

// selector returns a predicate for the namespace, name, label selector, and field selector of a request.
func (r Request) selector() (func(*unstructured.Unstructured) bool, error) {
	byLabel, err := labels.Parse(r.Query.Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	byField, err := fields.ParseSelector(r.Query.Get("fieldSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if r.Name != "" {
		byField = fields.AndSelectors(byField, fields.OneTermEqualSelector("metadata.name", r.Name))
	}
	for _, term := range byField.Requirements() {
		if !slices.Contains(fieldLabels(r.resource), term.Field) {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("field label not supported: %s", term.Field))
		}
	}
	return func(obj *unstructured.Unstructured) bool {
		if r.Namespace != "" && obj.GetNamespace() != r.Namespace || !byLabel.Matches(labels.Set(obj.GetLabels())) {
			return false
		}
		set := fields.Set{}
		for _, term := range byField.Requirements() {
			value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, fieldsOf(term.Field)...)
			if set[term.Field] = ""; value != nil {
				set[term.Field] = fmt.Sprint(value)
			}
		}
		return byField.Matches(set)
	}, nil
}

// fieldLabels returns the supported field labels of a type: name and namespace and, for pods and events, several more.
func fieldLabels(r *resource) []string {
	all := []string{"metadata.name", "metadata.namespace"}
	switch r.gr() {
	case schema.GroupResource{Resource: "pods"}:
		all = append(all, "spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName", "status.phase", "status.podIP")
	case schema.GroupResource{Resource: "events"}:
		all = append(all, "reason", "type", "source", "reportingComponent", "involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
			"involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath")
	}
	return all
}
