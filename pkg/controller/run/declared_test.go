package run

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// withDeclarations runs a test with the CRDs in testdata/declared.yaml.
func withDeclarations(t *testing.T, do func(c *cluster)) {
	t.Helper()
	crds, err := os.ReadFile("testdata/declared.yaml")
	if err != nil {
		t.Fatal(err)
	}
	inCluster(t, func(c *cluster) {
		c.CreateYAML(string(crds))
		do(c)
	})
}

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
		c.Fatalf("there are %d pods, want %d; it said\n%s", len(pods), n, c.said.String())
	}
	return pods
}

// Objects of declared kinds get pods, and are scaled, updated, restarted, and deleted like objects of
// shipped kinds.
func TestDeclaredKinds(t *testing.T) {
	t.Parallel()
	for kind, test := range map[string]struct {
		spec string
		// size is the number of pods that the object wants, or 0 for one pod per node.
		size int
		// template is the path of a pod template, or nil if the image is at .spec.image.
		template []string
	}{
		"Gadget": {"{size: 3, pod: {spec: {containers: [{name: main, image: 'web:v1'}]}}}", 3, []string{"spec", "pod"}},
		"Site":   {"{size: 3, image: 'web:v1', run: [serve, -v], env: [{name: TIER, value: front}]}", 3, nil},
		"Agent":  {"{image: 'web:v1'}", 0, nil},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			withDeclarations(t, func(c *cluster) {
				c.start("default", func(o *Options) { o.Kinds.Declared = true })
				c.CreateYAML("{apiVersion: example.com/v1, kind: " + kind + ", metadata: {name: it}, spec: " + test.spec + "}")
				resource, n := strings.ToLower(kind)+"s", test.size
				if n == 0 {
					n = len(c.List("nodes", ""))
				}
				main := c.expect(n, "web:v1")[0]
				if kind == "Site" {
					container := main.Spec.Containers[0]
					if main.Labels["site"] != "it" || !slices.Equal(container.Command, []string{"serve", "-v"}) || len(container.Env) != 1 || container.Env[0].Value != "front" {
						t.Errorf("its pods have the labels %v, and run %+v", main.Labels, container)
					}
				}
				if test.size > 0 {
					n = 5
					c.set(resource, "it", int64(n), "spec", "size")
					c.expect(n, "web:v1")
				}
				if test.template != nil {
					containers := []any{map[string]any{"name": "main", "image": "web:v2"}}
					c.set(resource, "it", containers, append(test.template, "spec", "containers")...)
				} else {
					c.set(resource, "it", "web:v2", "spec", "image")
				}
				c.expect(n, "web:v2")
				c.set(resource, "it", "noon", append(test.template, "metadata", "annotations", apis.AnnotationRestartedAt)...)
				for _, pod := range c.expect(n, "web:v2") {
					if pod.Annotations[apis.AnnotationRestartedAt] != "noon" {
						t.Errorf("pod %s was not restarted", pod.Name)
					}
				}
				c.Remove(resource, "default", "it")
				c.expect(0, "")
			})
		})
	}
}

// The controller reacts when a declaration is added, changed, or removed. An invalid declaration is
// reported. Without a valid declaration, the objects and their pods stay unchanged.
func TestAnnotateAKind(t *testing.T) {
	t.Parallel()
	withDeclarations(t, func(c *cluster) {
		annotate := func(annotations map[string]string) {
			c.As("user").Update("customresourcedefinitions", "", "memcacheds.example.com", func(crd *unstructured.Unstructured) {
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
		says := func(text string) {
			c.Helper()
			if !strings.Contains(c.said.String(), text) {
				c.Errorf("it did not say %q, but\n%s", text, c.said.String())
			}
		}
		c.start("default", func(o *Options) { o.Kinds.Words = []string{"memcacheds.example.com"} })
		c.passes(time.Minute)
		says("memcacheds.example.com is not reconciled: no CRD of that name has the annotation imoocpod.dev/plan; waiting for it")
		c.CreateYAML("{apiVersion: example.com/v1, kind: Memcached, metadata: {name: foo}, spec: {size: 3, image: 'web:v1', other: 'web:v9'}}")

		annotate(map[string]string{"imoocpod.dev/plan": "pods", "imoocpod.dev/image-path": ".spec.image", "imoocpod.dev/replicas-path": ".spec.size"})
		says("reconciling memcacheds.example.com (plan: pods)")
		c.expect(3, "web:v1")
		annotate(map[string]string{"imoocpod.dev/image-path": ".spec.other"})
		says("the annotations or the schema of memcacheds.example.com changed; reconciling it again (plan: pods)")
		c.expect(3, "web:v9")

		annotate(map[string]string{"imoocpod.dev/image-path": ".spec.imgae"})
		says("memcacheds.example.com is not reconciled: the annotations of the CRD memcacheds.example.com are invalid: " +
			"imoocpod.dev/image-path: .spec.imgae is not in the schema of version v1")
		c.set("memcacheds", "foo", int64(1), "spec", "size")
		c.expect(3, "web:v9")
		annotate(map[string]string{"imoocpod.dev/image-path": ".spec.image"})
		c.expect(1, "web:v1")

		annotate(map[string]string{"imoocpod.dev/plan": ""})
		says("stopped reconciling memcacheds.example.com: its CRD has no annotation imoocpod.dev/plan; objects and pods stay")
		c.set("memcacheds", "foo", int64(2), "spec", "size")
		c.expect(1, "web:v1")
		annotate(map[string]string{"imoocpod.dev/plan": "pods"})
		c.expect(2, "web:v1")

		_, err := c.run(c.Context(), "default", func(o *Options) { o.Once, o.Kinds.Words = true, []string{"nothing.example.com"} })
		if err == nil || !strings.Contains(err.Error(), "nothing.example.com is not reconciled: no CRD of that name has the annotation imoocpod.dev/plan") {
			t.Errorf("for a kind that nobody declares, it ended with %v", err)
		}
	})
}
