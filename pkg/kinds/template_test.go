package kinds

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// Template returns the stored template or, for objects older than the template field of the CRD, the
// template of the kind. For a kind without a template, it creates a container with the image of the
// object or the default image. An invalid template is an error.
func TestTemplate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind   Kind
		object string
		want   string // the image, or "" for an error
	}{
		{ImoocPod(), "spec: {replicas: 1}", "busybox"},
		{ImoocPod(), "spec: {template: {spec: {containers: [{name: main, image: web}]}}}", "web"},
		{ImoocPod(), "spec: {template: small}", ""},
		{ImoocPod(), "spec: {template: {metadata: {labels: app}}}", ""},
		{ImoocPod(), "spec: {template: {spec: what}}", ""},
		{MyDaemonSet(), "spec: {image: web}", "web"},
		{MyDaemonSet(), "spec: {}", ""},
		{AppService(), "spec: {deploymentName: a}", "nginx"},
		{AppService(), "spec: {image: web}", "web"},
		{HelloWorld(), "spec: {image: ignored}", "nginx"},
	} {
		obj := object(t, test.object)
		obj.SetAnnotations(map[string]string{apis.AnnotationRestartedAt: "noon", "other": "not copied"})
		template, err := Template(test.kind, obj)
		if test.want == "" {
			if err == nil {
				t.Errorf("%s %s: template %+v, want an error", test.kind.Kind, test.object, template)
			}
			continue
		}
		if err != nil || len(template.Spec.Containers) != 1 || template.Spec.Containers[0].Image != test.want {
			t.Errorf("%s %s: template %+v, error %v; want the image %s", test.kind.Kind, test.object, template, err, test.want)
			continue
		}
		want := map[string]string{apis.AnnotationRestartedAt: "noon"}
		if len(test.kind.Mapping.TemplatePath) > 0 {
			want = nil // the annotation of the object has no effect
		}
		if got := template.Annotations; len(got) != len(want) || got[apis.AnnotationRestartedAt] != want[apis.AnnotationRestartedAt] {
			t.Errorf("%s: the annotations of the pods are %v, want %v", test.kind.Kind, got, want)
		}
	}
}

// TemplateHash must be the same in all versions of this program, because otherwise an upgrade would
// replace the pods. An invalid template has no hash.
func TestTemplateHash(t *testing.T) {
	t.Parallel()
	const template, another = "spec: {template: {spec: {containers: [{name: a, image: a}]}}}", "spec: {template: {spec: {containers: [{name: a, image: b}]}}}"
	for _, test := range []struct {
		name   string
		kind   Kind
		object string
		at     string
		want   string
	}{
		{"a template", ImoocPod(), template, "", "368ea137f1e715e0"},
		{"another template", ImoocPod(), another, "", "7cab0317d5ed5a27"},
		{"no template", ImoocPod(), "spec: {}", "", "d37febed92a19fa6"},
		{"an invalid template", ImoocPod(), "spec: {template: small}", "", ""},
		{"restarted, with a template", ImoocPod(), template, "noon", "368ea137f1e715e0"},
		{"an image", MyDaemonSet(), "spec: {image: a}", "", "374d583938eb1b16"},
		{"restarted, without a template", MyDaemonSet(), "spec: {image: a}", "noon", "81a520a73860a6e8"},
		{"the default image", AppService(), "spec: {deploymentName: a}", "", "3042addb4df3eeeb"},
		{"the default image, set in the object", AppService(), "spec: {deploymentName: b, image: nginx}", "", "3042addb4df3eeeb"},
	} {
		obj := object(t, test.object)
		if test.at != "" {
			obj.SetAnnotations(map[string]string{apis.AnnotationRestartedAt: test.at})
		}
		if got := TemplateHash(test.kind, obj); got != test.want {
			t.Errorf("%s: TemplateHash = %s, want %s", test.name, got, test.want)
		}
	}
}

// Template removes labels and annotations of the controller, because they link a pod to its object. It
// also removes nulls, so that labels can be added.
func TestTemplateDropsControllerMetadata(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		metadata, want string
	}{
		"labels and annotations": {"{labels: {app: mine, imoocpod.dev/bypasses: x, imoocpod.dev/slot: '7', imoocpod.dev/owner-uid: y}, annotations: {note: mine, imoocpod.dev/anything: z}}", "map[app:mine] map[note:mine]"},
		"only labels":            {"{labels: {app: mine, imoocpod.dev/template-hash: x}, annotations: null}", "map[app:mine] map[]"},
		"null":                   {"null", "map[] map[]"},
		"null labels":            {"{labels: null}", "map[] map[]"},
	} {
		obj := object(t, "spec: {template: {metadata: "+test.metadata+"}}")
		template, err := Template(ImoocPod(), obj)
		if err != nil || fmt.Sprint(template.Labels, template.Annotations) != test.want {
			t.Errorf("%s: template %+v (%v), want labels and annotations %s", name, template, err, test.want)
		}
		fields, err := TemplateFields(ImoocPod(), obj)
		if err == nil {
			err = unstructured.SetNestedField(fields, "x", "metadata", "labels", "new")
		}
		if err != nil {
			t.Errorf("%s: no label can be added: %v", name, err)
		}
	}
}

// The container and the hash of a kind without a template include the command and the environment, so
// that changing them replaces the pods. The hash of a declared kind includes its name label.
func TestTemplateOfADeclaredKind(t *testing.T) {
	t.Parallel()
	kind := kindNamed("widgets.example.com")
	kind.Mapping = Mapping{Strategy: StrategyPods, ImagePath: []string{"spec", "image"}, CommandPath: []string{"spec", "run"}, EnvPath: []string{"spec", "env"}}
	seen := map[string]string{}
	for name, test := range map[string]struct {
		label, object string
		command, env  int
	}{
		"an image":            {"", "spec: {image: a}", 0, 0},
		"a name label":        {"app", "spec: {image: a}", 0, 0},
		"another name label":  {"name", "spec: {image: a}", 0, 0},
		"a command":           {"", "spec: {image: a, run: [sleep, '1']}", 2, 0},
		"another command":     {"", "spec: {image: a, run: [sleep, '2']}", 2, 0},
		"an environment":      {"", "spec: {image: a, env: [{name: A, value: '1'}]}", 0, 1},
		"another environment": {"", "spec: {image: a, env: [{name: A, value: '2'}]}", 0, 1},
	} {
		kind.Mapping.NameLabel = test.label
		obj := object(t, test.object)
		hash := TemplateHash(kind, obj)
		if other, again := seen[hash]; again {
			t.Errorf("%s has the same template hash as %s", name, other)
		}
		seen[hash] = name
		template, err := Template(kind, obj)
		if err != nil || len(template.Spec.Containers) != 1 {
			t.Fatalf("%s: template %+v (%v), want one container", name, template, err)
		}
		if c := template.Spec.Containers[0]; len(c.Command) != test.command || len(c.Env) != test.env {
			t.Errorf("%s: command %v, environment %v; want %d and %d entries", name, c.Command, c.Env, test.command, test.env)
		}
	}
}
