package run

import (
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// expect lets time pass, and checks that there are n pods, all running the image. It returns the pods.
func (c *cluster) expect(n int, image string) (pods []corev1.Pod) {
	c.Helper()
	c.passes(2 * time.Minute)
	for _, obj := range c.List("pods", metav1.NamespaceDefault) {
		var pod corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &pod); err != nil {
			c.Fatal(err)
		}
		if pod.Spec.Containers[0].Image != image || pod.Status.Phase != corev1.PodRunning {
			c.Errorf("pod %s has the image %s and is %s, want a running pod with %s", pod.Name, pod.Spec.Containers[0].Image, pod.Status.Phase, image)
		}
		pods = append(pods, pod)
	}
	if len(pods) != n {
		c.Fatalf("got %d pods, want %d; log:\n%s", len(pods), n, c.logs.String())
	}
	return pods
}

// The controller reacts when a declaration is added, changed, or removed. An invalid declaration is
// reported. Without a valid declaration, the objects and their pods stay unchanged.
func TestAnnotateAKind(t *testing.T) {
	t.Parallel()
	inCluster(t, func(c *cluster) {
		c.CreateYAML(bareGizmos())
		annotate := func(annotations map[string]string) {
			c.As("user").Update("customresourcedefinitions", "", "gizmos.example.com", func(crd *unstructured.Unstructured) {
				all := crd.GetAnnotations()
				if all == nil {
					all = map[string]string{}
				}
				maps.Copy(all, annotations)
				maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
				crd.SetAnnotations(all)
			})
			c.passes(time.Minute)
		}
		mustLog := func(text string) {
			c.Helper()
			if !strings.Contains(c.logs.String(), text) {
				c.Errorf("the log does not contain %q:\n%s", text, c.logs.String())
			}
		}
		c.start("default", func(o *Options) { o.Kinds.Words = []string{"gizmos.example.com"} })
		c.passes(time.Minute)
		mustLog("gizmos.example.com is not reconciled: no CRD of that name has the annotation imoocpod.dev/plan; waiting for it")
		c.CreateYAML("{apiVersion: example.com/v1, kind: Gizmo, metadata: {name: foo}, spec: {size: 3, image: 'web:v1', other: 'web:v9'}}")

		annotate(map[string]string{"imoocpod.dev/plan": "pods", "imoocpod.dev/image-path": ".spec.image", "imoocpod.dev/replicas-path": ".spec.size"})
		mustLog("reconciling gizmos.example.com (plan: pods)")
		c.expect(3, "web:v1")
		annotate(map[string]string{"imoocpod.dev/image-path": ".spec.other"})
		mustLog("the annotations or the schema of gizmos.example.com changed; reconciling it again (plan: pods)")
		c.expect(3, "web:v9")

		annotate(map[string]string{"imoocpod.dev/image-path": ".spec.imgae"})
		mustLog("gizmos.example.com is not reconciled: the annotations of the CRD gizmos.example.com are invalid: " +
			"imoocpod.dev/image-path: .spec.imgae is not in the schema of version v1")
		c.set("gizmos", "foo", int64(1), "spec", "size")
		c.expect(3, "web:v9")
		// With --declared-kinds, --once reports a kind whose declaration is invalid.
		_, err := c.run(c.Context(), "default", func(o *Options) { o.Once, o.Kinds.Declared = true, true })
		if err == nil || !strings.Contains(err.Error(), "gizmos.example.com is not reconciled: the annotations") {
			t.Errorf("--once with an invalid declaration: error %v, want gizmos.example.com to be reported as not reconciled", err)
		}
		annotate(map[string]string{"imoocpod.dev/image-path": ".spec.image"})
		c.expect(1, "web:v1")

		annotate(map[string]string{"imoocpod.dev/plan": ""})
		mustLog("stopped reconciling gizmos.example.com: its CRD has no annotation imoocpod.dev/plan; objects and pods stay")
		c.set("gizmos", "foo", int64(2), "spec", "size")
		c.expect(1, "web:v1")
		annotate(map[string]string{"imoocpod.dev/plan": "pods"})
		c.expect(2, "web:v1")

		c.set("gizmos", "foo", "noon", "metadata", "annotations", apis.AnnotationRestartedAt)
		for _, pod := range c.expect(2, "web:v1") {
			if pod.Annotations[apis.AnnotationRestartedAt] != "noon" {
				t.Errorf("pod %s was not restarted", pod.Name)
			}
		}

		_, err = c.run(c.Context(), "default", func(o *Options) { o.Once, o.Kinds.Words = true, []string{"nothing.example.com"} })
		if err == nil || !strings.Contains(err.Error(), "nothing.example.com is not reconciled: no CRD of that name has the annotation imoocpod.dev/plan") {
			t.Errorf("--once with an undeclared kind: error %v, want nothing.example.com to be reported as not reconciled", err)
		}
	})
}
