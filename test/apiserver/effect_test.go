package apiserver_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// TestEffectOfOthers checks that commands write only the replica count, the pod template, and the annotations
// of this program, whatever another user wrote to the object. Undo and unpark print the change.
func TestEffectOfOthers(t *testing.T) {
	parked := func(path string, replicas int) string {
		return fmt.Sprintf(`{"replicas":%d,"path":%q,"by":"alice"}`, replicas, path)
	}
	annotated := func(key, value string) func(*apiserver.Server, *unstructured.Unstructured) {
		return func(s *apiserver.Server, obj *unstructured.Unstructured) {
			s.As("mallory").Update(plural(obj), "default", "web", func(obj *unstructured.Unstructured) {
				set(obj, int64(0), "spec", "replicas")
				set(obj, int64(0), "spec", "minReadySeconds")
				set(obj, int64(0), "spec", "template", "spec", "priority")
				set(obj, value, "metadata", "annotations", key)
			})
		}
	}
	// declared returns a function that annotates the CRD of widgets.
	declared := func(key, value string) func(*apiserver.Server, *unstructured.Unstructured) {
		return func(s *apiserver.Server, _ *unstructured.Unstructured) {
			s.As("mallory").Update("customresourcedefinitions", "", "widgets.example.com", func(crd *unstructured.Unstructured) {
				set(crd, value, "metadata", "annotations", key)
			})
		}
	}
	// revised returns a function that creates a ControllerRevision whose owner reference names the object.
	revised := func(number int64, data string) func(*apiserver.Server, *unstructured.Unstructured) {
		return func(s *apiserver.Server, obj *unstructured.Unstructured) {
			s.As("mallory").CreateYAML(fmt.Sprintf(`{apiVersion: apps/v1, kind: ControllerRevision, revision: %d, data: %s, metadata: {name: web-%d, labels: {app: web},
				ownerReferences: [{apiVersion: %s, kind: %s, name: web, uid: %s, controller: true}]}}`, number, data, number, obj.GetAPIVersion(), obj.GetKind(), obj.GetUID()))
		}
	}
	const evil = `{$patch: replace, metadata: {labels: {app: web}}, spec: {hostNetwork: true, serviceAccountName: admin, containers: [{name: app, image: evil}]}}`
	for _, test := range []struct {
		what, workload, line string
		write                func(*apiserver.Server, *unstructured.Unstructured)
		// says is a part of standard error. If writes is false, the command must fail without a write.
		says   string
		writes bool
	}{
		{"a parked count", "deployments", "unpark deployment/web", annotated(apis.AnnotationParked, parked(".spec.replicas", 500)), "deployment/web: 0 → 500\ndeployment/web: parked by alice, according to its annotation\n", true},
		{"a parked count elsewhere", "deployments", "unpark deployment/web", annotated(apis.AnnotationParked, parked(".spec.minReadySeconds", 500)), "", false},
		{"a parked count in the template", "statefulsets", "unpark statefulset/web", annotated(apis.AnnotationParked, parked(".spec.template.spec.priority", 500)), "", false},
		{"a parked count of one of many", "deployments", "unpark -l app=web", annotated(apis.AnnotationParked, parked(".spec.minReadySeconds", 500)), "", false},
		{"a parked count that is claimed by its path", "widgets", "unpark widget/web", annotated(apis.AnnotationParked, parked(".spec['replicas']", 500)), "widget/web: 0 → 500", true},
		{"parked again elsewhere", "deployments", "park deployment/web", annotated(apis.AnnotationParked, parked(".spec.minReadySeconds", 500)), "", false},
		{"a count before", "imoocpods", "scale imoocpod/web --undo", annotated(apis.AnnotationLastScale, `{"from":500,"to":0,"path":".spec.replicas"}`), "", false},
		{"a revision", "statefulsets", "undo statefulset/web", revised(7, "{spec: {template: "+evil+"}}"), "+      hostNetwork: true\n", true},
		{"a revision of everything", "statefulsets", "undo statefulset/web", revised(7, "{spec: {$patch: replace, replicas: 500, template: "+evil+"}}"), "", false},
		{"a revision of the metadata", "statefulsets", "undo statefulset/web", revised(7, "{metadata: {$patch: replace, finalizers: [a/b]}}"), "", false},
		{"a revision of the selector", "statefulsets", "undo statefulset/web", revised(7, "{spec: {template: "+evil+", selector: {$patch: replace, matchLabels: {app: x}}}}"), "+      serviceAccountName: admin\n", true},
		{"a revision of another field", "widgets", "undo widget/web", revised(7, "{spec: {more: "+evil+"}}"), "", false},
		{"a revision of the status", "widgets", "undo widget/web", revised(7, "{status: {a: "+evil+"}}"), "", false},
		{"a revision of a custom kind", "widgets", "undo widget/web", revised(7, "{spec: {template: "+evil+"}}"), "+      hostNetwork: true\n", true},
		{"a field to restart by", "widgets", "restart widget/web", declared(apis.Prefix+"restart-path", ".metadata.labels.app"), "", false},
		{"a field to restart by, all", "widgets", "restart widget/web", declared(apis.Prefix+"restart-path", ".spec"), "", false},
		{"a replica field in the metadata", "things", "scale thing/web --replicas 3", nil, "", false},
	} {
		t.Run(test.what, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := apiserver.New(t)
				s.Create(imoocPodCRD())
				s.CreateYAML(widgets)
				s.CreateYAML(strings.NewReplacer("widget", "thing", "Widget", "Thing", "scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}", "",
					"metadata: {", "metadata: {annotations: {imoocpod.dev/replicas-path: .metadata.generation}, ").Replace(widgets))
				manifest := "{kind: Thing, apiVersion: example.com/v1, metadata: {name: web}, spec: {replicas: 3}}"
				for _, w := range workloads() {
					if w.resource == test.workload {
						manifest = strings.Replace(w.manifest, "name: web}", "name: web, labels: {app: web}}", 1)
					}
				}
				s.CreateYAML(manifest)
				if test.write != nil {
					test.write(s, s.Get(test.workload, "default", "web"))
				}
				before := s.Get(test.workload, "default", "web")
				_, stderr, err := run(t, s, test.line)
				after := s.Get(test.workload, "default", "web")
				if (err == nil) != test.writes || (len(s.Requests(apiserver.Writes)) > 0) != test.writes {
					t.Errorf("%v after %d writes, it printed %q", err, len(s.Requests(apiserver.Writes)), stderr)
				}
				if !strings.Contains(stderr, test.says) {
					t.Errorf("it printed %q, want %q", stderr, test.says)
				}
				for _, obj := range []*unstructured.Unstructured{before, after} {
					unstructured.RemoveNestedField(obj.Object, "spec", "replicas")
					unstructured.RemoveNestedField(obj.Object, "spec", "template")
					for _, field := range []string{"generation", "resourceVersion", "managedFields", "annotations"} {
						unstructured.RemoveNestedField(obj.Object, "metadata", field)
					}
				}
				if !reflect.DeepEqual(before.Object, after.Object) {
					was, _ := json.Marshal(before.Object)
					is, _ := json.Marshal(after.Object)
					t.Errorf("it changed\n%s to\n%s", was, is)
				}
			})
		})
	}
}

func plural(obj *unstructured.Unstructured) string { return strings.ToLower(obj.GetKind()) + "s" }
