package clusterwide

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// The tests in this file remove or change the shipped CRDs, and delete all objects of their kinds.

const (
	crdName = "imoocpods.batch.tutorial.kubebuilder.io"
	crdRef  = "customresourcedefinition.apiextensions.k8s.io/" + crdName
)

// installOutput returns the expected output of install or uninstall, with a line for each CRD. imoocPods is
// the result for the CRD of ImoocPod, and others is the result for the other CRDs.
func installOutput(others, imoocPods string) string {
	const crd = "customresourcedefinition.apiextensions.k8s.io/"
	return crd + "appservices.appcontroller.k8s.io " + others + "\n" + crd + "mydaemonsets.apps.zhongmingmao.io " + others + "\n" +
		crdRef + " " + imoocPods + "\n" + crd + "helloworlds.test.jiaozi.com " + others + "\n"
}

// getCRD returns the CRD of ImoocPod, or nil if it does not exist.
func getCRD(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	crd, err := cluster.CRDs().Get(t.Context(), crdName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return crd
}

// olderCRD is an older CRD of ImoocPod. It has no template and no subresources, but it has a short
// name, a category, a field, and a column that were removed later.
const olderCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: imoocpods.batch.tutorial.kubebuilder.io, annotations: {note: mine}}
spec:
  group: batch.tutorial.kubebuilder.io
  names: {kind: ImoocPod, listKind: ImoocPodList, plural: imoocpods, singular: imoocpod, shortNames: [oldname], categories: [all]}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Colour, type: string, jsonPath: .spec.colour}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec: {type: object, properties: {replicas: {type: integer}, colour: {type: string}}}
          status: {type: object, properties: {replicas: {type: integer}}}
`

// The verb install replaces an older CRD completely, but keeps the objects.
func TestInstallReplacesAnOlderCRD(t *testing.T) {
	cluster.Imoocpod(t, "", "uninstall", "--crds", "--delete-objects")
	cluster.Apply(t, "", olderCRD)
	cluster.AwaitEstablished(t, "crd/"+crdName)
	ns := cluster.NamespaceName()
	harness.Must(t, cluster.Kubectl(t, "", "create", "namespace", ns))
	defer cluster.Kubectl(t, "", "delete", "namespace", ns, "--wait=false")
	cluster.Apply(t, ns, harness.ImoocPodManifest("foo", "spec: {replicas: 2, colour: red}"))
	uid := cluster.ImoocPod(t, ns, "foo").UID

	if out := cluster.Imoocpod(t, "", "install"); out != installOutput("created", "configured") {
		t.Errorf("install printed %q, want %q", out, installOutput("created", "configured"))
	}
	crd := getCRD(t)
	for _, by := range crd.GetManagedFields() {
		if by.Subresource == "" && (by.Manager != "kubectl-imoocpod" || by.Operation != metav1.ManagedFieldsOperationApply) {
			t.Errorf("the CRD still has fields of %s (%s)", by.Manager, by.Operation)
		}
	}
	yaml := harness.Must(t, cluster.Kubectl(t, "", "get", "crd", crdName, "-o", "jsonpath={.spec}"))
	for _, gone := range []string{"colour", "Colour", "oldname", `"all"`} {
		if strings.Contains(yaml, gone) {
			t.Errorf("the CRD still has %s, which only the older CRD declares", gone)
		}
	}
	foo := cluster.ImoocPod(t, ns, "foo")
	if foo.UID != uid || *foo.Spec.Replicas != 2 || foo.Spec.Template == nil {
		t.Errorf("the ImoocPod after the install = %+v, want the same UID, 2 replicas, and a template", foo)
	}
	before := getCRD(t).GetResourceVersion()
	if out := cluster.Imoocpod(t, "", "install"); out != installOutput("unchanged", "unchanged") {
		t.Errorf("the second install printed %q, want %q", out, installOutput("unchanged", "unchanged"))
	}
	if getCRD(t).GetResourceVersion() != before {
		t.Error("the second install changed the CRD")
	}
	// The controller reconciles the existing objects.
	p := cluster.StartRunController(t, ns)
	harness.Eventually(t, "the ImoocPod can be scaled", func() bool {
		return cluster.Kubectl(t, ns, "imoocpod", "scale", "foo", "--replicas", "3").Code == 0
	})
	cluster.AwaitConverged(t, ns, "foo", 3)
	// The garbage collector takes up to half a minute to discover a new CRD, so do not use foreground deletion.
	cluster.Imoocpod(t, ns, "delete", "foo")
	p.Stop()
}

// The verb install waits until a terminating CRD is deleted, because an apply would not stop the deletion.
func TestInstallWhileTheCRDIsDeleted(t *testing.T) {
	cluster.InstallCRDs(t)
	hold := func(finalizers string) {
		t.Helper()
		// The patches replace or remove all finalizers, even the finalizer of the API server.
		if _, err := cluster.CRDs().Patch(t.Context(), crdName, types.JSONPatchType, fmt.Appendf(nil, `[{"op":%s}]`, finalizers), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	hold(`"add","path":"/metadata/finalizers","value":["example.com/hold"]`)
	before := getCRD(t).GetUID()
	harness.Must(t, cluster.Kubectl(t, "", "delete", "crd", crdName, "--wait=false"))

	r := cluster.Kubectl(t, "", "imoocpod", "install", "--timeout", "5s")
	const held = "error: wait for " + crdRef + " to be gone: timed out; last seen: it still has the finalizers "
	others := "customresourcedefinition.apiextensions.k8s.io/appservices.appcontroller.k8s.io unchanged\ncustomresourcedefinition.apiextensions.k8s.io/mydaemonsets.apps.zhongmingmao.io unchanged\n"
	if r.Code != harness.ExitTimeout || r.Stdout != others || !strings.HasPrefix(r.Stderr, held) || !strings.Contains(r.Stderr, "example.com/hold") {
		t.Errorf("install while the CRD terminates: exit code %d, want %d; stdout %q, stderr %q", r.Code, harness.ExitTimeout, r.Stdout, r.Stderr)
	}

	p := cluster.StartPlugin(t, "install", "--as", "installer", "--as-group", "system:masters")
	harness.Eventually(t, "install checks whether the CRD is gone", func() bool {
		return len(cluster.Requests(t, "", func(r harness.Request) bool {
			return r.ImpersonatedUser != nil && r.ImpersonatedUser.Username == "installer" && r.Verb == "list" && r.Resource() == "customresourcedefinitions"
		})) > 0
	})
	hold(`"remove","path":"/metadata/finalizers"`)
	if code := p.Wait(); code != 0 {
		t.Errorf("exit code of install after the CRD is gone = %d, want 0", code)
	}
	p.AwaitOutput(crdRef + " created")
	if after := getCRD(t); after == nil || after.GetUID() == before {
		t.Errorf("the CRD was not created again")
	}
}

func TestUninstall(t *testing.T) {
	ns, other := cluster.NewNamespace(t), cluster.NewNamespace(t)
	harness.Eventually(t, "no object of an earlier test is left", func() bool { return cluster.CountImoocPods(t, "") == 0 })
	for _, name := range []string{"foo", "bar"} {
		cluster.Imoocpod(t, ns, "create", name)
	}
	cluster.Imoocpod(t, other, "create", "foo")
	cluster.Apply(t, other, harness.ReadFile(t, "../../../deploy/samples/helloworld.yaml"))

	r := cluster.Kubectl(t, "", "imoocpod", "uninstall", "--crds")
	want := "error: refused: removing " + crdName + " would delete 3 objects in all namespaces; pass --delete-objects to confirm\n" +
		"error: refused: removing helloworlds.test.jiaozi.com would delete 1 object in all namespaces; pass --delete-objects to confirm\n"
	if r.Code != harness.ExitPrecondition || r.Stdout != "" || r.Stderr != want {
		t.Errorf("uninstall with objects: exit code %d, stdout %q, stderr %q, want %q", r.Code, r.Stdout, r.Stderr, want)
	}
	if left := cluster.CountImoocPods(t, ns) + cluster.CountImoocPods(t, other); left != 3 {
		t.Errorf("%d objects are left after the rejected uninstall, want 3", left)
	}

	// The CRD remains as long as an object of its kind exists.
	foo := cluster.Owner(t, ns, kinds.ImoocPod(), "foo")
	foo.Patch(`{"metadata":{"finalizers":["example.com/hold"]}}`)
	r = cluster.Kubectl(t, "", "imoocpod", "uninstall", "--crds", "--delete-objects", "--timeout", "5s")
	// The error can also name bar, whose foreground deletion waits for the garbage collector. The
	// garbage collector can discover a new CRD late.
	held := regexp.MustCompile(`^error: wait for imoocpod.batch.tutorial.kubebuilder.io/(foo|bar) to be gone: timed out; last seen: it still has the finalizers [^\n]+\n$`)
	if r.Code != harness.ExitTimeout || !held.MatchString(r.Stderr) {
		t.Errorf("uninstall with a terminating object: exit code %d, want %d; stderr %q, want a match for %s", r.Code, harness.ExitTimeout, r.Stderr, held)
	}
	if crd := getCRD(t); crd == nil || crd.GetDeletionTimestamp() != nil {
		t.Error("the CRD was deleted although an object still had a finalizer")
	}
	foo.Patch(`{"metadata":{"finalizers":null}}`)

	cluster.Imoocpod(t, ns, "install", "--roles")
	cluster.Imoocpod(t, other, "create", "last")
	out := cluster.Imoocpod(t, "", "uninstall", "--crds", "--delete-objects")
	// The output also lists earlier objects if the garbage collector discovered the CRD late.
	last := fmt.Sprintf("imoocpod.batch.tutorial.kubebuilder.io \"last\" deleted from %s namespace\n", other)
	want = fmt.Sprintf("helloworld.test.jiaozi.com \"helloworld-sample\" deleted from %s namespace\n", other) + installOutput("deleted", "deleted")
	for _, role := range []string{"admin", "editor", "viewer"} {
		want += "clusterrole.rbac.authorization.k8s.io/imoocpod-" + role + " deleted\n"
	}
	if !strings.Contains(out, last) || !strings.HasSuffix(out, want) {
		t.Errorf("uninstall printed %q, want %q, and %q at the end", out, last, want)
	}
	if getCRD(t) != nil {
		t.Error("the CRD still exists after uninstall")
	}
	cluster.Imoocpod(t, "", "install")
	if left := cluster.CountImoocPods(t, ns) + cluster.CountImoocPods(t, other); left != 0 {
		t.Errorf("%d objects exist after uninstall and install, want none", left)
	}
}
