package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// account is the user of all subjects, so that API priority and fairness treats them equally.
const account = "system:serviceaccount:kube-system:bench"

// namespace is the namespace of the subjects. Some questions use their own namespace instead.
const namespace = "bench"

// bench is the environment of a benchmark.
type bench struct {
	plugin, source string
	rollouts       rollouts
	// quick means that all sizes are small, to test the benchmark itself.
	quick      bool
	scratch    string // a temporary directory
	kubeconfig string // of the account, or of an administrator until the account exists
	audit      auditLog
	// logs are the log files of all processes, in the order they started.
	logs []string

	// witness is an administrator, whose requests the server does not queue. account is the user of the subjects.
	witness, account client
}

// sized returns the value quick for a quick benchmark, and the value full otherwise.
func sized[T any](b *bench, full, quick T) T {
	if b.quick {
		return quick
	}
	return full
}

// client holds the clients of one user.
type client struct {
	core    *corev1client.CoreV1Client
	dynamic *dynamic.DynamicClient
}

func newClient(kubeconfig string) client {
	config := must(clientcmd.BuildConfigFromFlags("", kubeconfig))
	config.QPS = -1
	config.UserAgent = "bench"
	typed := rest.CopyConfig(config)
	typed.ContentType = "application/vnd.kubernetes.protobuf"
	return client{must(corev1client.NewForConfig(typed)), must(dynamic.NewForConfig(config))}
}

// copyPrograms copies both the plugin and kubectl, because the way in which a file was written
// affects how much of it stays in the page cache. It sets b.plugin.
func (b *bench) copyPrograms(plugin string) {
	kubectl := must(exec.LookPath("kubectl"))
	bin := filepath.Join(b.scratch, "bin")
	check(os.Mkdir(bin, 0o700))
	b.plugin = filepath.Join(bin, "kubectl-imoocpod")
	for from, to := range map[string]string{plugin: b.plugin, kubectl: filepath.Join(bin, "kubectl")} {
		check(os.WriteFile(to, must(os.ReadFile(from)), 0o700))
	}
}

func (b *bench) close() { _ = os.RemoveAll(b.scratch) }

// prepare creates the account, the CRDs, and a namespace that is ready for pods.
func (b *bench) prepare(ctx context.Context, plugin string) {
	b.audit.path = os.Getenv("IMOOCPOD_CLUSTER_AUDIT_LOG")
	if b.audit.path == "" {
		check(errors.New(`no audit log: run the benchmark with "make bench"`))
	}
	admin := os.Getenv("KUBECONFIG")
	b.kubeconfig, b.witness = admin, newClient(admin)
	b.scratch = must(os.MkdirTemp("", "imoocpod-bench-"))
	b.copyPrograms(plugin)
	for _, line := range []string{
		"create serviceaccount bench -n kube-system",
		"create clusterrolebinding bench --clusterrole=cluster-admin --serviceaccount=kube-system:bench",
	} {
		b.run(ctx, "kubectl", strings.Fields(line)...)
	}
	token := b.run(ctx, "kubectl", "create", "token", "bench", "-n", "kube-system", "--duration=24h")

	config := must(clientcmd.LoadFromFile(admin))
	current := config.Contexts[config.CurrentContext]
	current.Namespace = namespace
	config.AuthInfos[current.AuthInfo] = &clientcmdapi.AuthInfo{Token: strings.TrimSpace(token)}
	b.kubeconfig = filepath.Join(b.scratch, "kubeconfig")
	check(clientcmd.WriteToFile(*config, b.kubeconfig))
	b.account = newClient(b.kubeconfig)
	b.run(ctx, b.plugin, "install")
	b.makeNamespaces(ctx, namespace)
}

// command returns a command with b.kubeconfig, and with the copied programs first in its PATH.
func (b *bench) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+b.kubeconfig, "KUBECACHEDIR="+filepath.Join(b.scratch, "cache"),
		"PATH="+filepath.Dir(b.plugin)+string(os.PathListSeparator)+os.Getenv("PATH"))
	return cmd
}

// run runs a program with b.kubeconfig, and returns its standard output.
func (b *bench) run(ctx context.Context, name string, args ...string) string {
	out, err := b.command(ctx, name, args...).Output()
	if exit, ended := errors.AsType[*exec.ExitError](err); ended {
		err = fmt.Errorf("%s %v: %w\n%s%s", filepath.Base(name), args, err, out, exit.Stderr)
	}
	check(err)
	return string(out)
}
