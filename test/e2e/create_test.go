package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/apis/batch/v1alpha1"
)

const createdFoo = "imoocpod.batch.tutorial.kubebuilder.io/foo created"

// The default pod is one that Pod Security's strictest level lets in; what it
// does not let in is reported with its words.
func TestCreateUnderPodSecurity(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	must(t, kubectl(t, "", "label", "namespace", ns, "pod-security.kubernetes.io/enforce=restricted"))
	startLoop(t, ns)
	if out := imoocpod(t, ns, "create", "foo"); out != createdFoo+"\n" {
		t.Errorf("create printed %q", out)
	}
	imoocpod(t, ns, "create", "nap", "--replicas", "2", "--", "sleep", "60")
	converged(t, ns, "foo", 1)
	converged(t, ns, "nap", 2)
	foo := getImoocPod(t, ns, "foo")
	pod := podsOf(t, ns, foo.UID)[0]
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
	imoocpod(t, ns, "create", "root", "--image", "busybox")
	eventually(t, "the refusal is reported", func() bool {
		c := condition(getImoocPod(t, ns, "root"), apis.ConditionReplicaFailure)
		return c.Status == metav1.ConditionTrue && strings.Contains(c.Message, `violates PodSecurity "restricted:latest"`)
	})
}

func TestCreate(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)

	// What is left out is left to the defaults of the CRD.
	imoocpod(t, ns, "create", "plain")
	plain := getImoocPod(t, ns, "plain")
	if *plain.Spec.Replicas != 1 || !equality.Semantic.DeepEqual(plain.Spec.Template, v1alpha1.DefaultTemplate()) {
		t.Errorf("the spec is %+v", plain.Spec)
	}
	if by := plain.ManagedFields; len(by) != 1 || by[0].Manager != "kubectl-imoocpod" {
		t.Errorf("written by %+v", by)
	}

	imoocpod(t, ns, "create", "web", "-r", "0", "--image", "nginx")
	web := getImoocPod(t, ns, "web")
	if c := web.Spec.Template.Spec.Containers; *web.Spec.Replicas != 0 || len(c) != 1 || c[0].Image != "nginx" || len(c[0].Command) != 0 || c[0].SecurityContext != nil {
		t.Errorf("the spec is %+v", web.Spec)
	}

	imoocpod(t, ns, "create", "serve", "--image", "httpd", "--", "httpd", "-f", "--", "-v")
	if c := getImoocPod(t, ns, "serve").Spec.Template.Spec.Containers; !slices.Equal(c[0].Command, []string{"httpd", "-f", "--", "-v"}) {
		t.Errorf("the container is %+v", c)
	}

	imoocpod(t, ns, "create", "nap", "--", "sleep", "60")
	want := v1alpha1.DefaultTemplate()
	want.Spec.Containers[0].Command = []string{"sleep", "60"}
	if got := getImoocPod(t, ns, "nap").Spec.Template; !equality.Semantic.DeepEqual(got, want) {
		t.Errorf("the template is %+v, want %+v", got, want)
	}

	// A format that is none is refused before anything is made.
	refusal{code: exitUsage, says: []string{"jsonpath"}}.check(t, kubectl(t, ns, "imoocpod", "create", "out", "-o", "jsonpath={.spec"))
	for format, want := range map[string]string{
		"name":                      "imoocpod.batch.tutorial.kubebuilder.io/out\n",
		"jsonpath={.spec.replicas}": "7",
		"go-template={{.kind}}":     "ImoocPod",
	} {
		if out := imoocpod(t, ns, "create", "out", "--replicas", "7", "-o", format); out != want {
			t.Errorf("-o %s printed %q, want %q", format, out, want)
		}
		imoocpod(t, ns, "delete", "out")
	}
	var shown v1alpha1.ImoocPod
	if err := json.Unmarshal([]byte(imoocpod(t, ns, "create", "shown", "-o", "json")), &shown); err != nil {
		t.Fatal(err)
	}
	if stored := getImoocPod(t, ns, "shown"); shown.UID != stored.UID || shown.ResourceVersion != stored.ResourceVersion || shown.ManagedFields != nil {
		t.Errorf("-o json printed %+v", shown)
	}
}

func TestCreateDryRun(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)

	// The client's is a manifest to start from; no server is asked.
	manifest := must(t, kubectlWith(t, []string{"KUBECONFIG=" + t.TempDir() + "/none"}, "", "imoocpod", "create", "foo", "--replicas", "3", "--dry-run=client", "-o", "yaml"))
	const want = "apiVersion: batch.tutorial.kubebuilder.io/v1alpha1\nkind: ImoocPod\nmetadata:\n  name: foo\nspec:\n  replicas: 3\n"
	if manifest != want {
		t.Errorf("--dry-run=client -o yaml printed\n%s\nwant\n%s", manifest, want)
	}
	if out := imoocpod(t, ns, "create", "foo", "--dry-run=client", "-o", "jsonpath={.metadata.namespace}"); out != ns {
		t.Errorf("a namespace that was given became %q", out)
	}

	// The server's has what the server makes of it.
	var sent v1alpha1.ImoocPod
	if err := json.Unmarshal([]byte(imoocpod(t, ns, "create", "foo", "--replicas", "3", "--dry-run=server", "-o", "json")), &sent); err != nil {
		t.Fatal(err)
	}
	if sent.UID == "" || sent.Spec.Template == nil || sent.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		t.Errorf("--dry-run=server -o json printed %+v", sent)
	}

	for flag, want := range map[string]string{
		"--dry-run": createdFoo + " (dry run)\n", "--dry-run=client": createdFoo + " (dry run)\n", "--dry-run=server": createdFoo + " (server dry run)\n",
	} {
		if out := imoocpod(t, ns, "create", "foo", flag); out != want {
			t.Errorf("%s printed %q, want %q", flag, out, want)
		}
	}
	if left := contents(t, ns); len(left) > 0 {
		t.Errorf("the dry runs left %v", left)
	}
	if out := imoocpod(t, ns, "create", "foo", "--dry-run=none"); out != createdFoo+"\n" {
		t.Errorf("--dry-run=none printed %q", out)
	}

	// Every form of the client's manifest can be applied.
	for name, flags := range map[string][]string{
		"image": {"--image", "nginx"}, "command": {"--", "sleep", "60"}, "both": {"--image", "nginx", "--", "sleep", "60"},
	} {
		args := append([]string{"create", name, "--dry-run=client", "-o", "yaml"}, flags...)
		apply(t, ns, imoocpod(t, ns, args...))
		if c := getImoocPod(t, ns, name).Spec.Template.Spec.Containers; fmt.Sprint(c[0].Command) == "[sleep 60]" == (name == "image") {
			t.Errorf("%s: the container is %+v", name, c[0])
		}
	}
}
