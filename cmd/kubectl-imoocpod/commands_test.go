package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/cmd"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver/play"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// runOn runs a command line against an in-memory server. The word " stands for an empty argument.
func runOn(ctx context.Context, s *apiserver.Server, line string) result {
	words := strings.Fields(line)
	for i, word := range words {
		words[i] = strings.TrimPrefix(word, `"`)
	}
	return runWords(ctx, s, words)
}

func runWords(ctx context.Context, s *apiserver.Server, words []string) result {
	var stdout, stderr bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &stderr}
	c := kube.New("v0.0.0-test", streams)
	s.Connect(c.Flags)
	root := cmd.NewRootCommandFor(c, "v0.0.0-test", streams) //nolint:contextcheck // it comes with ExecuteContext
	root.SetArgs(words)
	command, err := root.ExecuteContextC(ctx)
	code := report(&stderr, err, callerOf(command), ctx.Err() != nil)
	return result{code, stdout.String(), stderr.String()}
}

func file(t *testing.T, manifest string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "object.yaml")
	if err := os.WriteFile(path, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const web = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, uid: web, generation: 1},
	spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: web}]}}}}`

// widgets is a CRD without /scale for a kind that run-controller reconciles.
const widgets = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com, annotations: {imoocpod.dev/plan: pods, imoocpod.dev/image: nginx}},
	spec: {group: example.com, scope: Namespaced, names: {kind: Widget, plural: widgets}, versions: [{name: v1, served: true, storage: true, subresources: {status: {}},
	schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {replicas: {type: integer}}}, status: {type: object, properties: {observedGeneration: {type: integer}}}}}}}]}}`

// requests returns the resource requests that a server received, in order. It omits discovery.
func requests(s *apiserver.Server) []string {
	var sent []string
	for _, r := range s.Requests(func(r apiserver.Request) bool { return r.Resource != "" }) {
		sent = append(sent, r.String())
	}
	return sent
}

// A wait for a cluster-scoped object reads the pods of all namespaces.
func TestPodsOfClusterScopedObjects(t *testing.T) {
	t.Parallel()
	const fleets = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: fleets.example.com},
		spec: {group: example.com, scope: Cluster, names: {kind: Fleet, plural: fleets}, versions: [{name: v1, served: true, storage: true,
		schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`
	for _, line := range []string{
		"create fleets.example.com/x --replicas 1 --replicas-path .spec.replicas --wait",
		"wait fleets.example.com/there --for=create --for=ready --timeout 2m",
		"wait fleets.example.com/there --timeout 2m",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			s := apiserver.New(t)
			s.CreateYAML(fleets + "\n---\n{apiVersion: example.com/v1, kind: Fleet, metadata: {name: there}, spec: {replicas: 1}}")
			ctx, interrupt := context.WithTimeout(t.Context(), deadline)
			defer interrupt()
			s.Fail(apiserver.On("list|watch", "pods"), apiserver.Fault{Before: interrupt, Err: apierrors.NewServiceUnavailable("busy")})
			o := runOn(ctx, s, line)
			pods := s.Requests(apiserver.On("list|watch", "pods"))
			if len(pods) == 0 || slices.ContainsFunc(pods, func(r apiserver.Request) bool { return r.Namespace != "" }) {
				t.Errorf("requests %q, stderr %q", requests(s), o.stderr)
			}
		})
	}
}

// Without a wait, scale lists pods only if a disruption budget might protect them.
func TestRequestsOfScale(t *testing.T) {
	t.Parallel()
	const budget = `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}, status: {desiredHealthy: 2}}`
	const replicaSet = `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1, uid: web-1, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: web, controller: true}]}, spec: {replicas: 2}}`
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: web-1-a, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: web-1, controller: true}]}, spec: {containers: [{name: main}]}}`
	common := []string{"get deployments default/web", "list horizontalpodautoscalers", "list poddisruptionbudgets", "patch deployments/scale default/web"}
	for name, test := range map[string]struct {
		objects, more []string
		says          string
	}{
		"without a budget": {[]string{web}, nil, ""},
		"with a budget": {[]string{web, budget, replicaSet, pod}, []string{"list pods", "list replicasets"},
			"Warning: deployment/web: PodDisruptionBudget/web requires at least 2 available pods, and only 1 would be left\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apiserver.New(t)
			s.CreateYAML(strings.Join(test.objects, "\n---\n"))
			o := runOn(t.Context(), s, "scale deployment/web --replicas 1")
			sent := requests(s)
			want := slices.Sorted(slices.Values(append(test.more, common...)))
			if got := slices.Sorted(slices.Values(sent)); o.code != exitDone || !slices.Equal(got, want) || sent[len(sent)-1] != common[3] {
				t.Errorf("exit code %d, requests\n%s\nwant\n%s\nstderr %q", o.code, strings.Join(sent, "\n"), strings.Join(want, "\n"), o.stderr)
			}
			if !strings.HasPrefix(o.stderr, test.says) {
				t.Errorf("stderr %q", o.stderr)
			}
		})
	}
}

// "scale -f" reads an object only once before the write. The warning about a pause needs no second read.
func TestScaleOfAFileReadsTheObjectOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ crd, warning string }{
		"declared":         {widgets, "Warning: widget/gear is paused"},
		"of other authors": {strings.Replace(widgets, "imoocpod.dev/plan: pods, imoocpod.dev/image: nginx", "imoocpod.dev/replicas-path: .spec.replicas", 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apiserver.New(t)
			s.CreateYAML(test.crd + "\n---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: gear, annotations: {imoocpod.dev/paused-until: forever}}, spec: {replicas: 1}}")
			o := runOn(t.Context(), s, "scale -f "+file(t, "{apiVersion: example.com/v1, kind: Widget, metadata: {name: gear}}")+" --replicas 3")
			sent := slices.DeleteFunc(requests(s), func(r string) bool { return !strings.HasSuffix(r, "widgets default/gear") })
			if o.code != exitDone || !slices.Equal(sent, []string{"get widgets default/gear", "patch widgets default/gear"}) || !strings.HasPrefix(o.stderr, test.warning) {
				t.Errorf("exit code %d, requests %q, stderr %q", o.code, sent, o.stderr)
			}
		})
	}
}

// "status -w" sends no request at rest. It watches each type once, except for leases, which it watches
// in two namespaces.
func TestStatusWatchAtRest(t *testing.T) {
	t.Parallel()
	const manifest = "{apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod, metadata: {name: %s}, spec: {replicas: 2}}"
	for _, reconciled := range []bool{true, false} {
		for _, line := range []string{"status foo -w", "status -w"} {
			t.Run(fmt.Sprintf("%s, reconciled %t", line, reconciled), func(t *testing.T) {
				t.Parallel()
				bubble.Test(t, func(t *testing.T) {
					s := apiserver.New(t)
					s.CreateCRDs()
					if reconciled {
						play.Cluster(s)
						play.Operator(s, "imoocpods", "ImoocPod")
					}
					s.CreateYAML(fmt.Sprintf(manifest+"\n---\n"+manifest, "foo", "bar"))
					<-time.After(10 * time.Second) // until the pods are ready
					ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
					defer stop()
					var settled atomic.Int64
					time.AfterFunc(time.Minute, func() { settled.Store(int64(len(requests(s)))) })
					runOn(ctx, s, line)
					sent := requests(s)
					if settled.Load() == 0 || len(sent) > int(settled.Load()) {
						t.Errorf("requests at rest: %q", sent[settled.Load():])
					}
					for i, r := range sent {
						if strings.HasPrefix(r, "watch ") && r != "watch leases" && slices.Contains(sent[:i], r) {
							t.Errorf("%s: more than once", r)
						}
					}
				})
			})
		}
	}
}

// Every verb reports an unusable kubeconfig with the same message. An invalid command line is reported
// first.
func TestBadKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // client-go uses this variable in a pod
	const cluster = "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: http://127.0.0.1:1}}]\n"
	good := file(t, cluster+"contexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a")
	run := func(line string) (code int, stdout, stderr string) {
		var out, errOut bytes.Buffer
		root := cmd.NewRootCommand("v0.0.0-test", genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut})
		root.SetArgs(strings.Fields(line))
		command, err := root.ExecuteContextC(t.Context())
		code = report(&errOut, err, callerOf(command), false)
		return code, out.String(), errOut.String()
	}
	for _, verb := range []string{"create foo", "scale foo --replicas 3", "park foo", "restart foo", "status", "wait foo", "kinds"} {
		if code, _, stderr := run(verb + " -o frob"); code != exitUsage || !strings.Contains(stderr, `output format "frob"`) {
			t.Errorf("%s -o frob: exit code %d, stderr %q", verb, code, stderr)
		}
	}
	for flags, says := range map[string]string{
		"":                                    "error: no cluster is configured: set KUBECONFIG or --kubeconfig",
		"--kubeconfig /no/such/file":          "error: stat /no/such/file: no such file or directory",
		"--kubeconfig " + file(t, "a: ["):     "error: error loading config file",
		"--kubeconfig " + file(t, cluster):    "error: no current context is set: choose one with --context",
		"--context nope --kubeconfig " + good: `error: context "nope" does not exist: see "kubectl config get-contexts --kubeconfig=`,
		"--user nope --kubeconfig " + good:    `error: auth info "nope" does not exist`,
	} {
		for _, verb := range []string{"create foo", "create deployment/x --set spec.a=b", "scale foo --replicas 3", "kinds", "kinds rbac deployment", "status", "status -w", "status foo --wait", "describe foo", "wait foo", "delete foo", "check", "install", "uninstall --crds", "version", "run-controller"} {
			code, stdout, stderr := run(verb + " " + flags)
			if code != exitError || !strings.HasPrefix(stderr, says) || stdout != "" && verb != "version" {
				t.Errorf("%s %s: exit code %d, stdout %q, stderr %q", verb, flags, code, stdout, stderr)
			}
		}
	}
}

// KUBECTL_IMOOCPOD_TYPE is the default type of a NAME, both in arguments and in completions.
func TestDefaultType(t *testing.T) {
	t.Setenv("KUBECTL_IMOOCPOD_TYPE", "deploy")
	s := apiserver.New(t)
	s.CreateYAML(web)
	for line, says := range map[string]string{
		"scale web --replicas 3":    "deployment.apps/web scaled",
		"status web":                "deployment/web: ",
		"park web":                  "deployment.apps/web parked",
		"__complete status we":      "web\t",
		"status --all --no-headers": "web ",
	} {
		if o := runOn(t.Context(), s, line); o.code != exitDone || !strings.Contains(o.stdout, says) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", line, o.code, o.stdout, o.stderr)
		}
	}
	for line, says := range map[string]string{
		"status nothing":                `deployments.apps "nothing" not found`,
		"create new --image nginx":      "kubectl create deployment new --image=nginx --replicas=1",
		"status imoocpod/foo":           "imoocpods",
		"scale -l app=web --replicas 3": "a TYPE is required",
	} {
		if o := runOn(t.Context(), s, line); o.code == exitDone || !strings.Contains(o.stderr, says) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", line, o.code, o.stdout, o.stderr)
		}
	}
	t.Setenv("KUBECTL_IMOOCPOD_TYPE", "frobs")
	if o := runOn(t.Context(), s, "status web"); o.code != exitNotFound || !strings.Contains(o.stderr, `KUBECTL_IMOOCPOD_TYPE`) {
		t.Errorf("exit code %d, stderr %q", o.code, o.stderr)
	}
}
