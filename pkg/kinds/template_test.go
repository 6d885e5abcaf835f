package kinds

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// For a kind without a template, Template makes a single container with the image of the object or
// the default image.
func TestTemplateOfAnImage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind Kind
		spec map[string]any
		want string // "" is an error
	}{
		{MyDaemonSet(), map[string]any{"image": "web"}, "web"},
		{MyDaemonSet(), map[string]any{}, ""},
		{AppService(), map[string]any{"deploymentName": "a"}, "nginx"},
		{AppService(), map[string]any{"image": "web"}, "web"},
		{HelloWorld(), map[string]any{"image": "ignored"}, "nginx"},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": test.spec}}
		obj.SetAnnotations(map[string]string{apis.AnnotationRestartedAt: "noon", "other": "not copied"})
		template, err := Template(test.kind, obj)
		if test.want == "" {
			if err == nil {
				t.Errorf("%s %v has the template %+v", test.kind.Kind, test.spec, template)
			}
			continue
		}
		if err != nil || len(template.Spec.Containers) != 1 || template.Spec.Containers[0].Image != test.want {
			t.Errorf("%s %v has %+v, %v; want the image %s", test.kind.Kind, test.spec, template, err, test.want)
		}
		if got := template.Annotations; len(got) != 1 || got[apis.AnnotationRestartedAt] != "noon" {
			t.Errorf("%s: the annotations of the pods are %v", test.kind.Kind, got)
		}
	}
}

// TemplateHash must not change between versions of this program, or pods would look outdated.
func TestTemplateHash(t *testing.T) {
	t.Parallel()
	template := func(image string) map[string]any {
		return map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "a", "image": image}}}}}
	}
	for _, test := range []struct {
		name string
		kind Kind
		spec map[string]any
		at   string
		want string
	}{
		{"a template", ImoocPod(), template("a"), "", "368ea137f1e715e0"},
		{"another", ImoocPod(), template("b"), "", "7cab0317d5ed5a27"},
		{"none", ImoocPod(), map[string]any{}, "", "d37febed92a19fa6"},
		{"restarted, which a kind with a template has in there", ImoocPod(), template("a"), "noon", "368ea137f1e715e0"},
		{"an image", MyDaemonSet(), map[string]any{"image": "a"}, "", "374d583938eb1b16"},
		{"restarted", MyDaemonSet(), map[string]any{"image": "a"}, "noon", "81a520a73860a6e8"},
		{"an image that is the default", AppService(), map[string]any{"deploymentName": "a"}, "", "3042addb4df3eeeb"},
		{"the same in words", AppService(), map[string]any{"deploymentName": "b", "image": "nginx"}, "", "3042addb4df3eeeb"},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": test.spec}}
		if test.at != "" {
			obj.SetAnnotations(map[string]string{apis.AnnotationRestartedAt: test.at})
		}
		if got := TemplateHash(test.kind, obj); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// Template removes labels and annotations of the controller, because they decide to which object a
// pod belongs.
func TestTemplateHasNothingOfTheControllersOwn(t *testing.T) {
	t.Parallel()
	for name, metadata := range map[string]any{
		"labels and annotations": map[string]any{
			"labels":      map[string]any{"app": "mine", "imoocpod.dev/bypasses": "x", "imoocpod.dev/slot": "7", "imoocpod.dev/owner-uid": "y"},
			"annotations": map[string]any{"note": "mine", "imoocpod.dev/anything": "z"},
		},
		"labels alone": map[string]any{"labels": map[string]any{"app": "mine", "imoocpod.dev/template-hash": "x"}, "annotations": nil},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": metadata}}}}
		template, err := Template(ImoocPod(), obj)
		if err != nil || len(template.Labels) != 1 || template.Labels["app"] != "mine" || len(template.Annotations) > 1 {
			t.Errorf("%s: the template has the metadata %+v (%v)", name, template, err)
		}
	}
	for name, metadata := range map[string]any{"null": nil, "null labels": map[string]any{"labels": nil}} {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": metadata}}}}
		fields, err := TemplateFields(ImoocPod(), obj)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := unstructured.SetNestedField(fields, "x", "metadata", "labels", "app"); err != nil {
			t.Errorf("%s: no label can be added: %v", name, err)
		}
	}
}

// An invalid template is an error, and has no hash.
func TestTemplateThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, template := range []any{"small", map[string]any{"metadata": map[string]any{"labels": "app"}}} {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": template}}}
		if got, err := Template(ImoocPod(), obj); err == nil {
			t.Errorf("%v makes %+v", template, got)
		}
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": "small"}}}
	if hash := TemplateHash(ImoocPod(), obj); hash != "" {
		t.Errorf("a word has the hash %s", hash)
	}
}

// The hash of a declared kind includes its name label.
func TestTemplateHashOfADeclaredKind(t *testing.T) {
	t.Parallel()
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"image": "a"}}}
	kind := Kind{Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"},
		Mapping: Mapping{Strategy: StrategyPods, ImagePath: []string{"spec", "image"}}}
	seen := map[string]string{}
	for _, label := range []string{"", "app", "name"} {
		kind.Mapping.NameLabel = label
		hash := TemplateHash(kind, obj)
		if other, again := seen[hash]; again {
			t.Errorf("with the name label %q the hash is that of %q", label, other)
		}
		seen[hash] = label
	}
}

// The container and the hash of a kind without a template include the command and the environment,
// so that changing them replaces the pods.
func TestCommandAndEnvironment(t *testing.T) {
	t.Parallel()
	kind := Kind{Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"},
		Mapping: Mapping{Strategy: StrategyPods, ImagePath: []string{"spec", "image"}, CommandPath: []string{"spec", "run"}, EnvPath: []string{"spec", "env"}}}
	seen := map[string]string{}
	for name, spec := range map[string]map[string]any{
		"an image":            {"image": "a"},
		"a command":           {"image": "a", "run": []any{"sleep", "1"}},
		"another command":     {"image": "a", "run": []any{"sleep", "2"}},
		"an environment":      {"image": "a", "env": []any{map[string]any{"name": "A", "value": "1"}}},
		"another environment": {"image": "a", "env": []any{map[string]any{"name": "A", "value": "2"}}},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		hash := TemplateHash(kind, obj)
		if other, again := seen[hash]; again {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[hash] = name
		template, err := Template(kind, obj)
		if err != nil || len(template.Spec.Containers) != 1 {
			t.Fatalf("%s: %+v (%v)", name, template, err)
		}
		c := template.Spec.Containers[0]
		if _, runs := spec["run"]; runs != (len(c.Command) == 2) {
			t.Errorf("%s: the container runs %v", name, c.Command)
		}
		if _, set := spec["env"]; set != (len(c.Env) == 1) {
			t.Errorf("%s: the container has the environment %v", name, c.Env)
		}
	}
}

// An object that is older than the template field of its CRD has the default template.
func TestTemplate(t *testing.T) {
	t.Parallel()
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(1)}}}
	template, err := Template(ImoocPod(), obj)
	if err != nil || template.Spec.Containers[0].Image != "busybox" {
		t.Errorf("got %+v, %v", template, err)
	}
	obj.Object["spec"] = map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "main", "image": "web"}}}}}
	if template, err = Template(ImoocPod(), obj); err != nil || template.Spec.Containers[0].Image != "web" {
		t.Errorf("got %+v, %v", template, err)
	}
	obj.Object["spec"] = map[string]any{"template": map[string]any{"spec": "what"}}
	if _, err := Template(ImoocPod(), obj); err == nil {
		t.Error("a template that is none was read")
	}
}
