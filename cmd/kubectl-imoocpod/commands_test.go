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

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/cmd"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver/play"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// runOn runs a command line against an in-memory server. The word " (one quotation mark) stands for an empty argument.
func runOn(ctx context.Context, s *apiserver.Server, line string) result {
	words := strings.Fields(line)
	for i, word := range words {
		words[i] = strings.TrimPrefix(word, `"`)
	}
	return runWords(ctx, s.Connect, words)
}

// runWords runs a command in this process. If connect is nil, flags in words select the server.
func runWords(ctx context.Context, connect func(*genericclioptions.ConfigFlags), words []string) result {
	var stdout, stderr bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &stderr}
	f := kube.New("v0.0.0-test", streams)
	if connect != nil {
		connect(f.Flags)
	}
	root := cmd.NewRootCommandFor(f, "v0.0.0-test", streams) //nolint:contextcheck // ExecuteContext passes the context
	root.SetArgs(words)
	command, err := root.ExecuteContextC(ctx)
	code := report(&stderr, err, command, ctx.Err() != nil)
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

// "status -w" sends no requests while nothing changes. It watches each type once, except leases, which it
// watches in two namespaces.
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
					time.AfterFunc(time.Minute, func() { settled.Store(int64(len(s.Requests(nil)))) })
					runOn(ctx, s, line)
					sent := s.Requests(nil)
					if settled.Load() == 0 || len(sent) > int(settled.Load()) {
						t.Errorf("requests although nothing changes: %q, want none", sent[settled.Load():])
					}
					for i, r := range sent {
						same := func(before apiserver.Request) bool { return before.String() == r.String() }
						if r.Verb == "watch" && r.Resource != "leases" && slices.ContainsFunc(sent[:i], same) {
							t.Errorf("%s: sent more than once", r)
						}
					}
				})
			})
		}
	}
}

// Every verb reports an unusable kubeconfig with the same message. It reports an invalid command line first.
func TestBadKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // client-go uses this variable in a pod
	const cluster = "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: http://127.0.0.1:1}}]\n"
	good := file(t, cluster+"contexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a")
	run := func(line string) result { return runWords(t.Context(), nil, strings.Fields(line)) }
	for _, verb := range []string{"create foo", "scale foo --replicas 3", "park foo", "restart foo", "status", "wait foo", "kinds"} {
		if r := run(verb + " -o frob"); r.code != exitUsage || !strings.Contains(r.stderr, `output format "frob"`) {
			t.Errorf("%s -o frob: exit code %d, stderr %q, want a usage error", verb, r.code, r.stderr)
		}
	}
	for flags, says := range map[string]string{
		"":                                    "error: no cluster is configured: set KUBECONFIG or --kubeconfig",
		"--kubeconfig /no/such/file":          "error: stat /no/such/file: no such file or directory",
		"--kubeconfig " + file(t, "a: ["):     "error: error loading config file",
		"--kubeconfig " + file(t, cluster):    "error: no current context is set: choose one with --context",
		"--context nope --kubeconfig " + good: `error: context "nope" does not exist: see "kubectl config get-contexts --kubeconfig=`,
		"--user nope --kubeconfig " + good:    `error: auth info "nope" does not exist`,
		"-s http://[ --kubeconfig " + good:    `error: make a client: host must be a URL or a host:port pair: "http://["`,
	} {
		for _, verb := range []string{"create foo", "create deployment/x --set spec.a=b", "scale foo --replicas 3", "kinds", "kinds rbac deployment", "status", "status -w", "status foo --wait", "describe foo", "wait foo", "delete foo", "check", "install", "uninstall --crds", "version", "run-controller"} {
			r := run(verb + " " + flags)
			if r.code != exitError || !strings.HasPrefix(r.stderr, says) || r.stdout != "" && verb != "version" {
				t.Errorf("%s %s: exit code %d, stdout %q, stderr %q, want %q", verb, flags, r.code, r.stdout, r.stderr, says)
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
		if r := runOn(t.Context(), s, line); r.code != exitDone || !strings.Contains(r.stdout, says) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q, want %q", line, r.code, r.stdout, r.stderr, says)
		}
	}
	for line, says := range map[string]string{
		"status nothing":                `deployments.apps "nothing" not found`,
		"create new --image nginx":      "kubectl create deployment new --image=nginx --replicas=1",
		"status imoocpod/foo":           "imoocpods",
		"scale -l app=web --replicas 3": "a TYPE is required",
	} {
		if r := runOn(t.Context(), s, line); r.code == exitDone || !strings.Contains(r.stderr, says) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q, want %q", line, r.code, r.stdout, r.stderr, says)
		}
	}
	t.Setenv("KUBECTL_IMOOCPOD_TYPE", "frobs")
	if r := runOn(t.Context(), s, "status web"); r.code != exitNotFound || !strings.Contains(r.stderr, `KUBECTL_IMOOCPOD_TYPE`) {
		t.Errorf("unknown default type: exit code %d, stderr %q, want an error that names the variable", r.code, r.stderr)
	}
}
