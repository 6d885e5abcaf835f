package apiserver_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/cmd"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver/play"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// workload is an object that verbs change, in a cluster of its own.
type workload struct{ resource, target, manifest string }

func workloads() []workload {
	const template = "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: 'example.com/old:1'}]}}"
	const apps = "apiVersion: apps/v1, metadata: {name: web}, spec: {replicas: 3, selector: {matchLabels: {app: web}}, "
	return []workload{
		{"deployments", "deployment/web", "{kind: Deployment, " + apps + template + "}}"},
		{"statefulsets", "statefulset/web", "{kind: StatefulSet, " + apps + "serviceName: web, " + template + "}}"},
		{"imoocpods", "imoocpod/web", "{kind: ImoocPod, apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, metadata: {name: web}, spec: {replicas: 3, " +
			"template: {spec: {containers: [{name: app, image: 'example.com/old:1'}]}}}}"},
	}
}

// cluster serves the workload, which is ready.
func (w workload) cluster(t *testing.T) *apiserver.Server {
	t.Helper()
	s := apiserver.New(t)
	crds, err := deploy.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		s.Create(crd)
	}
	s.CreateYAML("{apiVersion: v1, kind: Node, metadata: {name: node-1}}")
	play.Cluster(s)
	play.Operator(s, "imoocpods", "ImoocPod")
	s.CreateYAML(w.manifest)
	<-time.After(time.Minute)
	return s
}

// image returns the image in the pod template.
func (w workload) image(t *testing.T, s *apiserver.Server) string {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(s.Get(w.resource, "default", "web").Object, "spec", "template", "spec", "containers")
	if err != nil {
		t.Fatal(err)
	}
	container, _ := containers[0].(map[string]any)
	image, _ := container["image"].(string)
	return image
}

// setImage plays someone else who writes an image.
func (w workload) setImage(s *apiserver.Server, image string) {
	s.As("rival").Update(w.resource, "default", "web", func(obj *unstructured.Unstructured) {
		containers, _, _ := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
		container, _ := containers[0].(map[string]any)
		container["image"] = image
		_ = unstructured.SetNestedSlice(obj.Object, containers, "spec", "template", "spec", "containers")
	})
}

func (w workload) setReplicas(s *apiserver.Server, n int64) {
	s.As("rival").Update(w.resource, "default", "web", func(obj *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(obj.Object, n, "spec", "replicas")
	})
}

// A change of an image ends with what became of it, and nothing ends without an error
// unless the pods run what was asked for.
func TestWhatBecameOfAnImage(t *testing.T) {
	t.Parallel()
	const old, bad, rival = "example.com/old:1", "example.com/never:1", "example.com/rival:1"
	for _, test := range []struct {
		what  string
		flags string
		image string
		// soon happens half a second after the command has begun.
		soon func(*apiserver.Server, workload, context.CancelFunc)
		want error
		// left is the image in the template; "" is that of the command.
		left string
		says string
	}{
		{"ready", "--wait", "example.com/new:1", nil, nil, "", ""},
		{"failed", "--timeout 5m --fail-after 5s", "example.com/pull:1", nil, outcome.ErrFailed, "", ""},
		{"failed, with a revert", "--timeout 5m --fail-after 5s --on-failure=revert", "example.com/pull:1", nil, outcome.ErrUndone, old, "undone: image "},
		{"timed out", "--timeout 1m", bad, nil, outcome.ErrTimeout, "", ""},
		{"timed out, with a revert", "--timeout 1m --on-failure=revert", bad, nil, outcome.ErrUndone, old, "undone: image "},
		{"overwritten", "--timeout 1m", "example.com/slow:20s", func(s *apiserver.Server, w workload, _ context.CancelFunc) { w.setImage(s, rival) }, outcome.ErrOverwritten, rival, `the field manager "rival"`},
		{"overwritten before a revert", "--timeout 1m --on-failure=revert", bad, func(s *apiserver.Server, w workload, _ context.CancelFunc) { w.setImage(s, rival) }, outcome.ErrOverwritten, rival, ""},
		{"deleted", "--timeout 1m", bad, func(s *apiserver.Server, w workload, _ context.CancelFunc) { s.Remove(w.resource, "default", "web") }, outcome.ErrGone, "-", ""},
		{"interrupted", "--timeout 1m --on-failure=revert", bad, func(_ *apiserver.Server, _ workload, interrupt context.CancelFunc) { interrupt() }, outcome.ErrInterrupted, "", "stays"},
		{"scaled by someone else meanwhile", "--timeout 5m", "example.com/slow:20s", func(s *apiserver.Server, w workload, _ context.CancelFunc) { w.setReplicas(s, 2) }, nil, "", ""},
	} {
		for _, w := range workloads() {
			bubble.Test(t, func(t *testing.T) {
				s := w.cluster(t)
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				if test.soon != nil {
					s.After(500*time.Millisecond, func() { test.soon(s, w, interrupt) })
				}
				err := command(ctx, s, "set image "+w.target+" app="+test.image+" "+test.flags)
				if !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), test.says) {
					t.Errorf("%s, %s: %v, want %v and %q", w.target, test.what, err, test.want, test.says)
				}
				want := test.left
				if want == "" {
					want = test.image
				}
				if want == "-" {
					return
				}
				if got := w.image(t, s); got != want {
					t.Errorf("%s, %s: it has the image %s, want %s", w.target, test.what, got, want)
				}
				if err == nil {
					w.mustRun(t, s, want)
				}
			})
		}
	}
}

// An owner that sets the fields of its object again undoes the change, which does not
// count as done, also if it should be reverted on failure.
func TestWhatBecameOfAChangeThatAnOwnerResets(t *testing.T) {
	t.Parallel()
	for _, w := range workloads() {
		for _, line := range []string{
			"set image TARGET app=example.com/new:1 --timeout 1m",
			"set image TARGET app=example.com/never:1 --timeout 1m --on-failure=revert",
			"set env TARGET A=b --timeout 1m",
			"scale TARGET --replicas 5 --timeout 1m",
			"park TARGET --timeout 1m",
		} {
			bubble.Test(t, func(t *testing.T) {
				s := w.cluster(t)
				containers, _, err := unstructured.NestedSlice(s.Get(w.resource, "default", "web").Object, "spec", "template", "spec", "containers")
				if err != nil {
					t.Fatal(err)
				}
				play.Owner(s, "operator", w.resource, "default", "web", containers, "spec", "template", "spec", "containers")
				play.Owner(s, "operator", w.resource, "default", "web", int64(3), "spec", "replicas")
				by := `the field manager "operator"`
				if strings.HasPrefix(line, "set env") {
					by = "someone else" // who removes a field is not recorded
				}
				err = command(t.Context(), s, strings.ReplaceAll(line, "TARGET", w.target))
				if !errors.Is(err, outcome.ErrOverwritten) || !strings.Contains(err.Error(), by) {
					t.Errorf("%s: %v", strings.ReplaceAll(line, "TARGET", w.target), err)
				}
			})
		}
	}
}

// mustRun fails the test unless all pods run an image.
func (w workload) mustRun(t *testing.T, s *apiserver.Server, image string) {
	t.Helper()
	for _, pod := range s.List("pods", "default") {
		if pod.GetDeletionTimestamp() != nil {
			continue
		}
		containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
		container, _ := containers[0].(map[string]any)
		if container["image"] != image {
			t.Errorf("%s: %s runs %v, want %s", w.target, pod.GetName(), container["image"], image)
		}
	}
}

// Every verb that waits notices that someone else has changed what it wrote, that its
// object is gone, that a person has interrupted it, and that a write got no answer.
func TestWhatBecameOfEveryChange(t *testing.T) {
	t.Parallel()
	count := func(s *apiserver.Server, w workload) { w.setReplicas(s, 7) }
	for _, verb := range []struct {
		line string
		// first prepares the object.
		first     string
		overwrite func(*apiserver.Server, workload)
	}{
		{"scale TARGET --replicas 4 --settle 20s --timeout 1m", "", count},
		{"set env TARGET A=b --settle 20s --timeout 1m", "", func(s *apiserver.Server, w workload) {
			s.As("rival").Update(w.resource, "default", "web", func(obj *unstructured.Unstructured) {
				containers, _, _ := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
				container, _ := containers[0].(map[string]any)
				container["env"] = []any{map[string]any{"name": "A", "value": "c"}}
				_ = unstructured.SetNestedSlice(obj.Object, containers, "spec", "template", "spec", "containers")
			})
		}},
		{"restart TARGET --settle 20s --timeout 1m", "", func(s *apiserver.Server, w workload) {
			s.As("rival").Update(w.resource, "default", "web", func(obj *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(obj.Object, "2030-01-01T00:00:00Z", "spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt")
			})
		}},
		{"park TARGET --settle 20s --timeout 1m", "", count},
		{"unpark TARGET --settle 20s --timeout 1m", "park TARGET", count},
	} {
		for _, w := range workloads() {
			for _, ending := range []struct {
				what string
				do   func(*apiserver.Server, context.CancelFunc)
				want error
			}{
				{"ready", func(*apiserver.Server, context.CancelFunc) {}, nil},
				{"overwritten", func(s *apiserver.Server, _ context.CancelFunc) { verb.overwrite(s, w) }, outcome.ErrOverwritten},
				{"deleted", func(s *apiserver.Server, _ context.CancelFunc) { s.Remove(w.resource, "default", "web") }, outcome.ErrGone},
				{"deleted and created again", func(s *apiserver.Server, _ context.CancelFunc) {
					s.Remove(w.resource, "default", "web")
					s.CreateYAML(w.manifest)
				}, outcome.ErrGone},
				{"interrupted", func(_ *apiserver.Server, interrupt context.CancelFunc) { interrupt() }, outcome.ErrInterrupted},
			} {
				bubble.Test(t, func(t *testing.T) {
					s := w.cluster(t)
					if verb.first != "" {
						if err := command(t.Context(), s, strings.ReplaceAll(verb.first, "TARGET", w.target)); err != nil {
							t.Fatal(err)
						}
						<-time.After(time.Minute)
					}
					ctx, interrupt := context.WithCancel(t.Context())
					defer interrupt()
					s.After(500*time.Millisecond, func() { ending.do(s, interrupt) })
					if err := command(ctx, s, strings.ReplaceAll(verb.line, "TARGET", w.target)); !errors.Is(err, ending.want) {
						t.Errorf("%s of %s, %s: %v, want %v", verb.line, w.target, ending.what, err, ending.want)
					}
				})
			}
			bubble.Test(t, func(t *testing.T) {
				s := w.cluster(t)
				if verb.first != "" {
					if err := command(t.Context(), s, strings.ReplaceAll(verb.first, "TARGET", w.target)); err != nil {
						t.Fatal(err)
					}
				}
				s.Fail(apiserver.On("patch", w.resource), apiserver.Fault{DropAfter: true, Times: 1})
				s.Fail(apiserver.On("patch", w.resource+"/scale"), apiserver.Fault{DropAfter: true, Times: 1})
				if err := command(t.Context(), s, strings.ReplaceAll(verb.line, "TARGET", w.target)); !errors.Is(err, outcome.ErrUnknown) {
					t.Errorf("%s of %s, without an answer: %v, want %v", verb.line, w.target, err, outcome.ErrUnknown)
				}
			})
		}
	}
}

// command runs a command of the program against a server, in this process.
func command(ctx context.Context, s *apiserver.Server, line string) error {
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
	c := kube.New("v1", streams)
	s.Connect(c.Flags)
	root := cmd.NewRootCommandFor(c, "v1", streams) //nolint:contextcheck // it comes with ExecuteContext
	root.SetArgs(strings.Fields(line))
	return root.ExecuteContext(ctx)
}
