package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// object decodes the object in the body of a request, and checks its kind.
func (r Request) object() (*unstructured.Unstructured, error) {
	obj, err := decode(r.ContentType, r.Body)
	if err != nil {
		return nil, err
	}
	want := r.resource.gvk(r.Version)
	if r.Subresource == "scale" {
		want = scaleKind()
	}
	if got := obj.GroupVersionKind(); got.Empty() {
		obj.SetGroupVersionKind(want)
	} else if got != want {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: no kind %q is registered for version %q", got.Kind, got.GroupVersion(), want.Kind, got.Kind, got.GroupVersion()))
	}
	return obj, nil
}

// decode decodes JSON and YAML, and the protobuf of built-in types.
func decode(contentType string, body []byte) (*unstructured.Unstructured, error) {
	if strings.HasPrefix(contentType, runtime.ContentTypeProtobuf) {
		obj, gvk, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		obj.GetObjectKind().SetGroupVersionKind(*gvk)
		return toUnstructured(obj)
	}
	if obj, err := decodeJSON(body); err == nil {
		return obj, nil // the YAML decoder also accepts JSON, but takes ten times as long
	}
	text, err := yaml.YAMLToJSON(body)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return decodeJSON(text)
}

func isApply(r Request) bool { return strings.HasPrefix(r.ContentType, string(types.ApplyPatchType)) }

// modify replaces or patches an object, and returns the result.
func (s *Server) modify(r Request, before *unstructured.Unstructured) (any, error) {
	w := r.write()
	after, err := s.modified(r, &w, r.view(before))
	if err != nil {
		return nil, err
	}
	if err := r.sameObject(before, after); err != nil {
		return nil, err
	}
	if after, err = s.replace(w, before, after); err != nil {
		return nil, err
	}
	return r.view(after), nil
}

// sameObject returns an error if the new object has a different name, UID, or resource version than
// the stored object. An empty UID or resource version always matches.
func (r Request) sameObject(before, after *unstructured.Unstructured) error {
	if name := after.GetName(); name != before.GetName() {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", name, before.GetName()))
	}
	if uid := after.GetUID(); uid != "" && uid != before.GetUID() {
		return apierrors.NewConflict(r.resource.gr(), before.GetName(), fmt.Errorf("precondition failed: UID in precondition: %s, UID in object meta: %s", uid, before.GetUID()))
	}
	if version := after.GetResourceVersion(); version != "" && version != before.GetResourceVersion() {
		return apierrors.NewConflict(r.resource.gr(), before.GetName(),
			errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	return nil
}

// modified returns the object after an update or a patch, but before defaulting and validation. For an
// apply, it also sets w.managed.
func (s *Server) modified(r Request, w *write, before *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if r.Verb == "update" {
		return r.object()
	}
	kind, _, _ := strings.Cut(r.ContentType, ";")
	if isApply(r) {
		return s.applied(r, w, before)
	}
	was, err := json.Marshal(before.Object)
	if err != nil {
		return nil, err
	}
	is, err := patched(types.PatchType(kind), was, r.Body, before.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	after, err := decodeJSON(is)
	if err != nil {
		return nil, err
	}
	if before.GroupVersionKind() != after.GroupVersionKind() {
		return nil, apierrors.NewBadRequest("a patch may not change apiVersion and kind")
	}
	return after, nil
}

func patched(kind types.PatchType, was, patch []byte, gvk schema.GroupVersionKind) ([]byte, error) {
	switch kind {
	case types.JSONPatchType:
		operations, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		is, err := operations.Apply(was)
		if err != nil {
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
		}
		return is, nil
	case types.MergePatchType:
		is, err := jsonpatch.MergePatch(was, patch)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return is, nil
	case types.StrategicMergePatchType:
		typed, err := scheme.Scheme.New(gvk)
		if err != nil {
			break // custom resources do not support this patch type
		}
		is, err := strategicpatch.StrategicMergePatch(was, patch, typed)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return is, nil
	}
	return nil, apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "patch", schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, "",
		fmt.Sprintf("the body of the request was in an unknown format - accepted media types include: %s, %s, %s", types.JSONPatchType, types.MergePatchType, types.ApplyPatchType), 0, false)
}
