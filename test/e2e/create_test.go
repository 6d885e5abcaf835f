package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/apis/batch/v1alpha1"
)

const createdFoo = "imoocpod.batch.tutorial.kubebuilder.io/foo created"

// The default pod is admitted under the strictest level of Pod Security. A pod that is
// rejected is reported with the server's words.
func TestCreateUnderPodSecurity(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	harness.Must(t, cluster.Kubectl(t, "", "label", "namespace", ns, "pod-security.kubernetes.io/enforce=restricted"))
	cluster.StartRunController(t, ns)
	if out := cluster.Imoocpod(t, ns, "create", "foo"); out != createdFoo+"\n" {
		t.Errorf("create printed %q", out)
	}
	cluster.Imoocpod(t, ns, "create", "nap", "--replicas", "2", "--", "sleep", "60")
	cluster.AwaitConverged(t, ns, "foo", 1)
	cluster.AwaitConverged(t, ns, "nap", 2)
	foo := cluster.ImoocPod(t, ns, "foo")
	pod := cluster.PodsOf(t, ns, foo.UID)[0]
	if pod.Labels["app"] != "foo" || pod.Labels[apis.LabelOwner] != string(foo.UID) || pod.Labels[apis.LabelSlot] != "0" {
		t.Errorf("the pod has the labels %v", pod.Labels)
	}
	if ref := metav1.GetControllerOf(&pod); ref.Kind != "ImoocPod" || ref.Name != "foo" || ref.BlockOwnerDeletion == nil || !*ref.BlockOwnerDeletion {
		t.Errorf("the pod has the controller %+v", ref)
	}
	for _, v := range pod.Spec.Volumes {
		if v.Projected != nil {
			t.Errorf("the pod has a service account token: %+v", v)
		}
	}
	cluster.Imoocpod(t, ns, "create", "root", "--image", "busybox")
	harness.Eventually(t, "the refusal is reported", func() bool {
		c := harness.Condition(cluster.ImoocPod(t, ns, "root"), apis.ConditionReplicaFailure)
		return c.Status == metav1.ConditionTrue && strings.Contains(c.Message, `violates PodSecurity "restricted:latest"`)
	})
}

func TestCreate(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)

	// Omitted flags are left to the defaults of the CRD.
	cluster.Imoocpod(t, ns, "create", "plain")
	plain := cluster.ImoocPod(t, ns, "plain")
	if *plain.Spec.Replicas != 1 || !equality.Semantic.DeepEqual(plain.Spec.Template, v1alpha1.DefaultTemplate()) {
		t.Errorf("the spec is %+v", plain.Spec)
	}
	if by := plain.ManagedFields; len(by) != 1 || by[0].Manager != "kubectl-imoocpod" {
		t.Errorf("written by %+v", by)
	}

	cluster.Imoocpod(t, ns, "create", "web", "-r", "0", "--image", "nginx")
	web := cluster.ImoocPod(t, ns, "web")
	if c := web.Spec.Template.Spec.Containers; *web.Spec.Replicas != 0 || len(c) != 1 || c[0].Image != "nginx" || len(c[0].Command) != 0 || c[0].SecurityContext != nil {
		t.Errorf("the spec is %+v", web.Spec)
	}

	cluster.Imoocpod(t, ns, "create", "serve", "--image", "httpd", "--", "httpd", "-f", "--", "-v")
	if c := cluster.ImoocPod(t, ns, "serve").Spec.Template.Spec.Containers; !slices.Equal(c[0].Command, []string{"httpd", "-f", "--", "-v"}) {
		t.Errorf("the container is %+v", c)
	}

	cluster.Imoocpod(t, ns, "create", "nap", "--", "sleep", "60")
	want := v1alpha1.DefaultTemplate()
	want.Spec.Containers[0].Command = []string{"sleep", "60"}
	if got := cluster.ImoocPod(t, ns, "nap").Spec.Template; !equality.Semantic.DeepEqual(got, want) {
		t.Errorf("the template is %+v, want %+v", got, want)
	}

	// An invalid format is refused before anything is created.
	refusal{code: harness.ExitUsage, says: []string{"jsonpath"}}.check(t, cluster.Kubectl(t, ns, "imoocpod", "create", "out", "-o", "jsonpath={.spec"))
	for format, want := range map[string]string{
		"name":                      "imoocpod.batch.tutorial.kubebuilder.io/out\n",
		"jsonpath={.spec.replicas}": "7",
		"go-template={{.kind}}":     "ImoocPod",
	} {
		if out := cluster.Imoocpod(t, ns, "create", "out", "--replicas", "7", "-o", format); out != want {
			t.Errorf("-o %s printed %q, want %q", format, out, want)
		}
		cluster.Imoocpod(t, ns, "delete", "out")
	}
	var shown v1alpha1.ImoocPod
	if err := json.Unmarshal([]byte(cluster.Imoocpod(t, ns, "create", "shown", "-o", "json")), &shown); err != nil {
		t.Fatal(err)
	}
	if stored := cluster.ImoocPod(t, ns, "shown"); shown.UID != stored.UID || shown.ResourceVersion != stored.ResourceVersion || shown.ManagedFields != nil {
		t.Errorf("-o json printed %+v", shown)
	}
}

func TestCreateDryRun(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)

	// A client-side dry run prints a manifest to start from, without a server.
	manifest := harness.Must(t, cluster.KubectlWith(t, []string{"KUBECONFIG=" + t.TempDir() + "/none"}, "", "imoocpod", "create", "foo", "--replicas", "3", "--dry-run=client", "-o", "yaml"))
	const want = "apiVersion: batch.tutorial.kubebuilder.io/v1alpha1\nkind: ImoocPod\nmetadata:\n  name: foo\nspec:\n  replicas: 3\n"
	if manifest != want {
		t.Errorf("--dry-run=client -o yaml printed\n%s\nwant\n%s", manifest, want)
	}
	if out := cluster.Imoocpod(t, ns, "create", "foo", "--dry-run=client", "-o", "jsonpath={.metadata.namespace}"); out != ns {
		t.Errorf("a namespace that was given became %q", out)
	}

	// A server-side dry run prints the result of the server.
	var sent v1alpha1.ImoocPod
	if err := json.Unmarshal([]byte(cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "3", "--dry-run=server", "-o", "json")), &sent); err != nil {
		t.Fatal(err)
	}
	if sent.UID == "" || sent.Spec.Template == nil || sent.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		t.Errorf("--dry-run=server -o json printed %+v", sent)
	}

	for flag, want := range map[string]string{
		"--dry-run": createdFoo + " (dry run)\n", "--dry-run=client": createdFoo + " (dry run)\n", "--dry-run=server": createdFoo + " (server dry run)\n",
	} {
		if out := cluster.Imoocpod(t, ns, "create", "foo", flag); out != want {
			t.Errorf("%s printed %q, want %q", flag, out, want)
		}
	}
	if left := cluster.ImoocPodVersions(t, ns); len(left) > 0 {
		t.Errorf("the dry runs left %v", left)
	}
	if out := cluster.Imoocpod(t, ns, "create", "foo", "--dry-run=none"); out != createdFoo+"\n" {
		t.Errorf("--dry-run=none printed %q", out)
	}

	// Every format of the client-side manifest can be applied.
	for name, flags := range map[string][]string{
		"image": {"--image", "nginx"}, "command": {"--", "sleep", "60"}, "both": {"--image", "nginx", "--", "sleep", "60"},
	} {
		args := append([]string{"create", name, "--dry-run=client", "-o", "yaml"}, flags...)
		cluster.Apply(t, ns, cluster.Imoocpod(t, ns, args...))
		if c := cluster.ImoocPod(t, ns, name).Spec.Template.Spec.Containers; fmt.Sprint(c[0].Command) == "[sleep 60]" == (name == "image") {
			t.Errorf("%s: the container is %+v", name, c[0])
		}
	}
}
