package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// crdOf returns a CRD with the given properties of spec and status (flow YAML), and with
// subresources in addition to /status.
func crdOf(group, kind, spec, status, subresources string, annotations ...string) string {
	plural := strings.ToLower(kind) + "s"
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %[2]s.%[1]s
  annotations: {%[7]s}
spec:
  group: %[1]s
  names: {kind: %[3]s, listKind: %[3]sList, plural: %[2]s, singular: %[8]s}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}%[6]s}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {%[4]s}}
          status: {type: object, properties: {%[5]s}}
`, group, plural, kind, spec, status, subresources, strings.Join(annotations, ", "), strings.ToLower(kind))
}

// Properties for crdOf.
const (
	sizeAndImage  = "size: {type: integer, format: int32, minimum: 0}, image: {type: string}"
	observed      = "observedGeneration: {type: integer, format: int64}"
	someCondition = `conditions: {type: array, items: {type: object, required: [type, status, lastTransitionTime, reason, message], properties: {
  type: {type: string}, status: {type: string}, reason: {type: string, minLength: 1}, message: {type: string}, lastTransitionTime: {type: string, format: date-time}, observedGeneration: {type: integer}}}}`
	podTemplate = "pod: {type: object, x-kubernetes-preserve-unknown-fields: true}"
)

func kindIn(t *testing.T, manifest string) kinds.Kind {
	t.Helper()
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &crd.Object); err != nil {
		t.Fatal(err)
	}
	kind, err := kinds.Declared(crd)
	if err != nil {
		t.Fatal(err)
	}
	return kind
}

// gadget returns a CRD that declares the plan "pods". It has a pod template and few status fields,
// but no /scale.
func gadget(group string) string {
	return crdOf(group, "Gadget", "size: {type: integer, format: int32, minimum: 0}, "+podTemplate, "live: {type: integer}, readyReplicas: {type: integer}", "",
		"imoocpod.dev/plan: pods", "imoocpod.dev/replicas-path: .spec.size", "imoocpod.dev/template-path: .spec.pod", "imoocpod.dev/current-path: .status.live")
}

// site returns a CRD that declares the plan "deployment". It has a command, an environment, and
// /scale.
func site(group string) string {
	return crdOf(group, "Site", sizeAndImage+", run: {type: array, items: {type: string}}, env: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}",
		observed+", "+someCondition+", selector: {type: string}, replicas: {type: integer}, availableReplicas: {type: integer}, names: {type: array, items: {type: string}}",
		", scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}",
		"imoocpod.dev/plan: deployment", "imoocpod.dev/image-path: .spec.image", "imoocpod.dev/command-path: .spec.run", "imoocpod.dev/env-path: .spec.env",
		"imoocpod.dev/name-label: site", "imoocpod.dev/pod-names-path: .status.names")
}

func agent(group string) string {
	return crdOf(group, "Agent", "image: {type: string}", observed+", "+someCondition+", desiredNumberScheduled: {type: integer}, currentNumberScheduled: {type: integer}, numberReady: {type: integer}", "",
		"imoocpod.dev/plan: nodes", "imoocpod.dev/image-path: .spec.image", "imoocpod.dev/image: nginx")
}

// images returns the distinct images of pods, sorted.
func images(pods []corev1.Pod) []string {
	var all []string
	for _, pod := range pods {
		all = append(all, pod.Spec.Containers[0].Image)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Kinds that only their CRDs declare can be created, scaled, updated, restarted, described, and
// deleted like the shipped kinds. There is a kind for each plan.
func TestDeclaredKinds(t *testing.T) {
	t.Parallel()
	const group = "declared.example.com"
	for _, crd := range []string{gadget(group), site(group), agent(group)} {
		cluster.InstallKind(t, kindIn(t, crd), crd)
	}
	ns := cluster.NewNamespace(t)
	l := cluster.StartRunController(t, ns, "--declared-kinds")
	for _, says := range []string{"and all kinds that CRDs declare", "reconciling gadgets.declared.example.com (plan: pods)"} {
		l.AwaitOutput(says)
	}
	nodes := len(cluster.NodeNames(t))
	for kind, test := range map[string]struct {
		create []string
		pods   int
		roll   string
	}{
		"gadget": {[]string{"--replicas", "3", "--image", "web:v1"}, 3, `{"spec":{"pod":{"spec":{"containers":[{"name":"main","image":"web:v2"}]}}}}`},
		"site":   {[]string{"--replicas", "3", "--image", "web:v1", "--set", ".spec.env[0].name=TIER", "--set", ".spec.env[0].value=front", "--", "serve", "-v"}, 3, `{"spec":{"image":"web:v2"}}`},
		"agent":  {[]string{"--image", "web:v1"}, nodes, `{"spec":{"image":"web:v2"}}`},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			name := kind + "." + group + "/" + kind
			o := cluster.Owner(t, ns, kindIn(t, map[string]string{"gadget": gadget(group), "site": site(group), "agent": agent(group)}[kind]), kind)
			pods := func() []corev1.Pod {
				return slices.DeleteFunc(o.LivePods(), func(pod corev1.Pod) bool { return !strings.HasPrefix(pod.Name, kind) })
			}
			create := []string{"create", name}
			cluster.Imoocpod(t, ns, append(create, test.create...)...)
			cluster.Imoocpod(t, ns, "status", name, "--wait", "--timeout", "2m")
			if out := cluster.Imoocpod(t, ns, "status", "-o", "name"); !strings.Contains(out, name+"\n") {
				t.Errorf("status does not list it:\n%s", out)
			}
			if n := len(pods()); n != test.pods {
				t.Fatalf("it is ready with %d pods, want %d", n, test.pods)
			}
			if kind == "site" {
				main := pods()[0].Spec.Containers[0]
				if pods()[0].Labels["site"] != "site" || !slices.Equal(main.Command, []string{"serve", "-v"}) || len(main.Env) != 1 || main.Env[0].Value != "front" {
					t.Errorf("its pods have the labels %v, and run %+v", pods()[0].Labels, main)
				}
			}
			if r := cluster.Kubectl(t, ns, "imoocpod", "scale", name, "--replicas", "5", "--timeout", "2m"); kind == "agent" {
				if r.Code == 0 || !strings.Contains(r.Stderr, "it runs one pod per node") {
					t.Errorf("scaled: %+v", r)
				}
			} else {
				harness.Must(t, r)
				if n := len(pods()); n != 5 {
					t.Errorf("it is scaled to %d pods, want 5", n)
				}
			}
			o.Patch("%s", test.roll)
			cluster.Imoocpod(t, ns, "status", name, "--wait", "--timeout", "2m")
			harness.Eventually(t, "all pods have the new image", func() bool { return slices.Equal(images(pods()), []string{"web:v2"}) })
			cluster.Imoocpod(t, ns, "restart", name, "--wait", "--timeout", "2m")
			for _, pod := range pods() {
				if pod.Annotations["kubectl.kubernetes.io/restartedAt"] == "" {
					t.Errorf("pod %s was not restarted", pod.Name)
				}
			}
			if described := cluster.Imoocpod(t, ns, "describe", name); !strings.Contains(described, "web:v2") || !strings.Contains(described, kind+"-") {
				t.Errorf("described as\n%s", described)
			}
			cluster.Imoocpod(t, ns, "delete", name, "--cascade=foreground")
			harness.Eventually(t, "its pods are gone", func() bool { return len(pods()) == 0 })
		})
	}
}

// While the controller runs, kubectl annotate declares a kind that has a size and an image. The
// controller follows changes of the declaration. If the declaration is invalid, the controller
// reports this, and stops reconciling the kind. If the declaration is removed, the objects stay
// unchanged.
func TestAnnotateAKind(t *testing.T) {
	t.Parallel()
	const group = "annotated.example.com"
	crd := crdOf(group, "Memcached", sizeAndImage+", other: {type: string}", someCondition, "")
	plain := kinds.Kind{Resource: harness.Resource("memcacheds." + group), Kind: "Memcached", ReplicasPath: []string{"spec", "size"}}
	plain.Resource.Version = "v1"
	cluster.InstallKind(t, plain, crd)
	annotate := func(annotations ...string) {
		t.Helper()
		harness.Must(t, cluster.Kubectl(t, "", append([]string{"annotate", "--overwrite", "crd", plain.CRD()}, annotations...)...))
	}
	ns := cluster.NewNamespace(t)
	l := cluster.StartRunController(t, ns, "--kinds", plain.CRD())
	l.AwaitOutput("memcacheds.annotated.example.com is not reconciled: no CRD of that name has the annotation imoocpod.dev/plan; waiting for it")
	foo := cluster.NewOwner(t, ns, plain, "foo", map[string]any{"size": int64(3), "image": "web:v1", "other": "web:v9"})

	annotate("imoocpod.dev/plan=pods", "imoocpod.dev/image-path=.spec.image", "imoocpod.dev/replicas-path=.spec.size")
	l.AwaitOutput("reconciling memcacheds.annotated.example.com (plan: pods)")
	cluster.Imoocpod(t, ns, "status", "memcached/foo", "--wait", "--timeout", "2m")
	if pods := foo.LivePods(); len(pods) != 3 || !slices.Equal(images(pods), []string{"web:v1"}) {
		t.Fatalf("it is ready with %v", pods)
	}

	annotate("imoocpod.dev/image-path=.spec.other")
	l.AwaitOutput("the annotations or the schema of memcacheds.annotated.example.com changed; reconciling it again (plan: pods)")
	harness.Eventually(t, "the pods are replaced", func() bool {
		pods := foo.LivePods()
		return len(pods) == 3 && slices.Equal(images(pods), []string{"web:v9"})
	})

	annotate("imoocpod.dev/image-path=.spec.imgae")
	l.AwaitOutput("memcacheds.annotated.example.com is not reconciled: the annotations of the CRD memcacheds.annotated.example.com are invalid: imoocpod.dev/image-path: .spec.imgae is not in the schema of version v1")
	foo.Scale(1)
	annotate("imoocpod.dev/image-path=.spec.image")
	harness.Eventually(t, "the kind is reconciled again", func() bool {
		pods := foo.LivePods()
		return len(pods) == 1 && slices.Equal(images(pods), []string{"web:v1"})
	})

	annotate("imoocpod.dev/plan-")
	l.AwaitOutput("stopped reconciling memcacheds.annotated.example.com: its CRD has no annotation imoocpod.dev/plan; objects and pods stay")
	foo.Scale(2)
	annotate("imoocpod.dev/plan=pods")
	harness.Eventually(t, "the kind is reconciled once more", func() bool { return len(foo.LivePods()) == 2 })
	if r := cluster.Kubectl(t, ns, "imoocpod", "run-controller", "--once", "--kinds", "nothing."+group); r.Code != harness.ExitError || !strings.Contains(r.Stderr, "nothing.annotated.example.com is not reconciled: no CRD of that name has the annotation imoocpod.dev/plan") {
		t.Errorf("a kind that nobody declares: %+v", r)
	}
}
