package kinds

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/test/objects"
)

// RevisionData keeps the fields that define the pods, so the result and the object have the same template hash.
func TestRevisionData(t *testing.T) {
	t.Parallel()
	whole := Kind{Mapping: Mapping{ImagePath: []string{"spec", "run", "image"}, CommandPath: []string{"spec", "run", "command"}, EnvPath: []string{"spec", "env"}}}
	const restarted = "metadata: {annotations: {kubectl.kubernetes.io/restartedAt: now, other: x}, name: foo}"
	for name, test := range map[string]struct {
		kind      Kind
		obj, want string
		wrong     bool
	}{
		"template": {ImoocPod(), "{spec: {replicas: 3, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: web}]}}}, status: {replicas: 3}}",
			"{spec: {template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: web}]}}}}", false},
		"restarted":      {ImoocPod(), "{spec: {template: {metadata: {annotations: {kubectl.kubernetes.io/restartedAt: now}}}}, " + restarted + "}", "{spec: {template: {metadata: {annotations: {kubectl.kubernetes.io/restartedAt: now}}}}}", false},
		"empty template": {ImoocPod(), "{spec: {template: {}}}", "{spec: {template: {}}}", false},
		"null template":  {ImoocPod(), "{spec: {template: null}}", "{spec: {template: null}}", false},
		"no template":    {ImoocPod(), "{spec: {replicas: 3}}", "{}", false},
		"no spec":        {ImoocPod(), "{}", "{}", false},
		"image":          {AppService(), "{spec: {image: web, replicas: 3, deploymentName: api}}", "{spec: {image: web}}", false},
		"no image":       {AppService(), "{spec: {replicas: 3}}", "{}", false},
		"image, restarted": {MyDaemonSet(), "{spec: {image: web}, " + restarted + "}",
			"{spec: {image: web}, metadata: {annotations: {kubectl.kubernetes.io/restartedAt: now}}}", false},
		"only the restart": {HelloWorld(), "{spec: {size: 3}, " + restarted + "}", "{metadata: {annotations: {kubectl.kubernetes.io/restartedAt: now}}}", false},
		"all fields": {whole, "{spec: {run: {image: web, command: [a, b], user: me}, env: [{name: A, value: b}], size: 1}}",
			"{spec: {run: {image: web, command: [a, b]}, env: [{name: A, value: b}]}}", false},
		"a later field alone":                 {whole, "{spec: {env: [{name: A, value: b}]}}", "{spec: {env: [{name: A, value: b}]}}", false},
		"a step of the path is not an object": {whole, "{spec: {run: web}}", "", true},
	} {
		obj := object(t, test.obj)
		if test.wrong {
			if fields, err := TemplateFields(test.kind, obj); err == nil {
				t.Errorf("%s: the template is %v, want an error", name, fields)
			}
			continue
		}
		before := obj.DeepCopy()
		got := RevisionData(test.kind, obj)
		if !reflect.DeepEqual(got, objects.Parse(t, test.want)) {
			t.Errorf("%s: RevisionData = %v, want %s", name, got, test.want)
		}
		if !reflect.DeepEqual(obj, before) {
			t.Errorf("%s: RevisionData changed the object", name)
		}
		kept := &unstructured.Unstructured{Object: got}
		if TemplateHash(test.kind, kept) != TemplateHash(test.kind, obj) {
			t.Errorf("%s: the revision data and the object have different template hashes", name)
		}
	}
}

func TestRevisionHistoryLimit(t *testing.T) {
	t.Parallel()
	declared := Kind{Mapping: Mapping{HistoryLimit: new(int32(3))}}
	for _, test := range []struct {
		kind Kind
		obj  string
		want int
	}{
		{ImoocPod(), "{}", 10},
		{ImoocPod(), "{spec: {revisionHistoryLimit: 0}}", 0},
		{ImoocPod(), "{spec: {revisionHistoryLimit: 25}}", 25},
		{ImoocPod(), "{spec: {revisionHistoryLimit: 2147483647}}", 2147483647},
		{ImoocPod(), "{spec: {revisionHistoryLimit: 2147483648}}", 10},
		{ImoocPod(), "{spec: {revisionHistoryLimit: -1}}", 10},
		{ImoocPod(), "{spec: {revisionHistoryLimit: many}}", 10},
		{ImoocPod(), "{spec: none}", 10},
		{declared, "{}", 3},
		{declared, "{spec: {revisionHistoryLimit: 5}}", 5},
	} {
		if got := RevisionHistoryLimit(test.kind, object(t, test.obj)); got != test.want {
			t.Errorf("limit of %s = %d, want %d", test.obj, got, test.want)
		}
	}
}
