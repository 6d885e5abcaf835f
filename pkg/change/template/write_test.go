package template

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/revision"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

// serve returns a server, its client, and the target of a Deployment web that runs the image.
func serve(t *testing.T, image string) (*apiserver.Server, dynamic.Interface, observe.Target) {
	t.Helper()
	target := targetOf(t, kindOf("apps", "deployments"), fmt.Sprintf(`{kind: Deployment, apiVersion: apps/v1, spec: {replicas: 3, selector: {matchLabels: {app: web}},
		template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: %s}]}}}}`, image))
	s, client := serverOf(t, target.Object)
	target.Object = stored(s)
	return s, client, target
}

func stored(s *apiserver.Server) *unstructured.Unstructured { return s.Get("deployments", "ns", "web") }

func wanted(t *testing.T, image string) Wanted {
	t.Helper()
	template := parse(t, fmt.Sprintf("{metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: %s}]}}", image)).Object
	return func(*unstructured.Unstructured) ([]revision.Field, error) {
		return []revision.Field{{Path: fieldpath.Fields("spec", "template"), Value: template}}, nil
	}
}

func imageOf(obj *unstructured.Unstructured) string {
	containers, _, _ := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
	if len(containers) != 1 {
		return ""
	}
	container, _ := containers[0].(map[string]any)
	image, _ := container["image"].(string)
	return image
}

func TestWrite(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what        string
		image       string
		cause, by   string
		annotations map[string]string // before the write
		want        map[string]string
		change      string
		patches     int
	}{
		{"another image", "b", "", "alice", nil, map[string]string{apis.AnnotationChangeCause: "image a → b", apis.AnnotationChangedBy: "alice"}, "image a → b", 1},
		{"with a cause", "b", "faster", "alice", nil, map[string]string{apis.AnnotationChangeCause: "faster", apis.AnnotationChangedBy: "alice"}, "image a → b", 1},
		{"another image by an unknown user", "b", "", "", map[string]string{"note": "kept", apis.AnnotationChangedBy: "bob", apis.AnnotationChangeCause: "older"},
			map[string]string{"note": "kept", apis.AnnotationChangeCause: "image a → b"}, "image a → b", 1},
		{"the same image", "a", "faster", "alice", map[string]string{apis.AnnotationChangedBy: "bob"}, map[string]string{apis.AnnotationChangedBy: "bob"}, "", 0},
	} {
		for _, read := range []bool{true, false} {
			s, client, target := serve(t, "a")
			target.Object = s.Update("deployments", "ns", "web", func(obj *unstructured.Unstructured) { obj.SetAnnotations(test.annotations) })
			if !read {
				target.Object = nil
			}
			cause := func(change string) string { return cmp.Or(test.cause, change) }
			done, err := Write(t.Context(), target.Resource(client), target, wanted(t, test.image), cause, test.by, edit.Options{FieldManager: "tests"})
			obj := stored(s)
			if err != nil || done.Change != test.change || imageOf(obj) != test.image || !reflect.DeepEqual(done.Object, obj) {
				t.Errorf("%s: result %+v, error %v; want change %q, image %q", test.what, done, err, test.change, test.image)
			}
			if got := obj.GetAnnotations(); fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("%s: the annotations are %v, want %v", test.what, got, test.want)
			}
			gets, patches := s.Requests(apiserver.On("get", "deployments")), s.Requests(apiserver.On("patch", "deployments"))
			if n, _, _ := unstructured.NestedInt64(obj.Object, "spec", "replicas"); n != 3 || len(patches) != test.patches || (len(gets) == 0) != read {
				t.Errorf("%s: %d replicas after %v and %v; want 3 replicas, %d patches, object read before %t", test.what, n, gets, patches, test.patches, read)
			}
			for _, r := range patches {
				if r.Query.Get("fieldManager") != "tests" {
					t.Errorf("%s: patch options = %v, want the field manager tests", test.what, r.Query)
				}
			}
			if len(done.Before) != 1 || len(done.After) != 1 || revision.Change(done.Before, done.After) != test.change {
				t.Errorf("%s: fields before %v and after %v, want the change %q", test.what, done.Before, done.After, test.change)
			}
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what   string
		fields string // fields to replace in the object that was read before
		fails  string // the verb of the request that fails; with get, the object was not read before
		want   error
		err    string
	}{
		{"the object is being deleted", "metadata: {deletionTimestamp: '2001-01-01T00:00:00Z'}", "", nil, "deployments/web is being deleted and cannot be changed"},
		{"the new fields cannot be computed", "{}", "", errors.New("it is odd"), "it is odd"},
		{"the object cannot be read", "{}", "get", nil, "the server is away"},
		{".spec is a string", "spec: odd", "", nil, ".spec"},
		{"the annotations are a string", "metadata: {resourceVersion: '1', annotations: odd}", "", nil, "annotations"},
		{"the server rejects the patch", "{}", "patch", nil, "the server is away"},
	} {
		s, client, target := serve(t, "a")
		maps.Copy(target.Object.Object, parse(t, test.fields).Object)
		s.Fail(apiserver.On(test.fails, "deployments"), apiserver.Fault{Err: apierrors.NewServiceUnavailable("the server is away")})
		if test.fails == "get" {
			target.Object = nil
		}
		want := func(obj *unstructured.Unstructured) ([]revision.Field, error) {
			fields, _ := wanted(t, "b")(obj)
			return fields, test.want
		}
		cause := func(change string) string { return change }
		if _, err := Write(t.Context(), target.Resource(client), target, want, cause, "", edit.Options{}); err == nil || !strings.Contains(err.Error(), test.err) || imageOf(stored(s)) != "a" {
			t.Errorf("%s: error %v, want %q and an unchanged image", test.what, err, test.err)
		}
	}
}
