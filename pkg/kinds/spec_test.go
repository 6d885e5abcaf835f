package kinds

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// PutSpec sets the count, the image, and the command at the paths of the kind.
func TestPutSpec(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind    Kind
		image   string
		command []string
		want    string
	}{
		"the defaults":               {ImoocPod(), "", nil, `{"replicas":2}`},
		"an image":                   {ImoocPod(), "nginx", nil, `{"replicas":2,"template":{"metadata":{},"spec":{"containers":[{"image":"nginx","name":"main","resources":{}}]}}}`},
		"an image and a command":     {ImoocPod(), "nginx", []string{"a", "b"}, `{"replicas":2,"template":{"metadata":{},"spec":{"containers":[{"command":["a","b"],"image":"nginx","name":"main","resources":{}}]}}}`},
		"an image at another path":   {AppService(), "nginx", nil, `{"deploymentName":"foo","image":"nginx","replicas":2}`},
		"a kind without a count":     {MyDaemonSet(), "nginx", nil, `{"image":"nginx"}`},
		"a command at another path":  {Kind{ReplicasPath: []string{"spec", "size"}, Mapping: Mapping{CommandPath: []string{"spec", "run"}}}, "", []string{"a"}, `{"run":["a"],"size":2}`},
		"the name of the Deployment": {Kind{ReplicasPath: []string{"spec", "size"}, Mapping: Mapping{DeploymentNamePath: []string{"spec", "name"}}}, "", nil, `{"name":"foo","size":2}`},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetName("foo")
		err := test.kind.PutSpec(obj, 2, test.image, test.command)
		if got, _ := json.Marshal(obj.Object["spec"]); err != nil || string(got) != test.want {
			t.Errorf("%s: spec %s, error %v; want %s", name, got, err, test.want)
		}
	}
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	if err := ImoocPod().PutSpec(obj, 2, "", []string{"sleep", "60"}); err != nil {
		t.Fatal(err)
	}
	template, err := Template(ImoocPod(), obj)
	if err != nil || len(template.Spec.Containers) != 1 || len(template.Spec.Containers[0].Command) != 2 || template.Spec.Containers[0].Image == "" {
		t.Errorf("template with a command = %+v, %v, want one container with the default image", template, err)
	}
	if len(ImoocPod().Mapping.Template.Spec.Containers[0].Command) == 2 && ImoocPod().Mapping.Template.Spec.Containers[0].Command[1] == "60" {
		t.Error("PutSpec changed the default template of the kind")
	}
}
