package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// account is the user of all subjects, so that API priority and fairness treats
// them alike.
const (
	accountNamespace = "kube-system"
	accountName      = "bench"
	account          = "system:serviceaccount:" + accountNamespace + ":" + accountName
)

// namespace is the namespace of all subjects.
const namespace = "bench"

// bench is the environment of a benchmark.
type bench struct {
	plugin, source string
	rollouts       rollouts
	scratch        string // a temporary directory
	kubeconfig     string // of the account
	audit          auditLog

	// witness watches as an administrator, so its requests are not queued; account
	// sends the measured requests.
	witness, account client
}

// client holds the clients of one user.
type client struct {
	core    *corev1client.CoreV1Client
	dynamic *dynamic.DynamicClient
}

func newClient(config *rest.Config) (client, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.UserAgent = "bench"
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return client{}, err
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	core, err := corev1client.NewForConfig(config)
	return client{core, dyn}, err
}

// copyPrograms copies the plugin and kubectl in the same way because the way in which
// a file is written affects how much of it stays in the page cache. It sets b.plugin.
func (b *bench) copyPrograms(plugin string) error {
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		return err
	}
	bin := filepath.Join(b.scratch, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	b.plugin = filepath.Join(bin, "kubectl-imoocpod")
	for from, to := range map[string]string{plugin: b.plugin, kubectl: filepath.Join(bin, "kubectl")} {
		if err := copyProgram(from, to); err != nil {
			return err
		}
	}
	return nil
}

func copyProgram(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o700)
}

func newBench(ctx context.Context, plugin, source string) (_ *bench, err error) {
	b := &bench{source: source, audit: auditLog{path: os.Getenv("IMOOCPOD_CLUSTER_AUDIT_LOG")}}
	if b.audit.path == "" {
		return nil, fmt.Errorf("no audit log: run it by \"make bench\"")
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	if b.witness, err = newClient(config); err != nil {
		return nil, err
	}
	if b.scratch, err = os.MkdirTemp("", "imoocpod-bench-"); err != nil {
		return nil, err
	}
	if err := errors.Join(b.copyPrograms(plugin), b.prepare(ctx, config)); err != nil {
		b.close()
		return nil, fmt.Errorf("prepare the cluster: %w", err)
	}
	return b, nil
}

func (b *bench) close() { _ = os.RemoveAll(b.scratch) }

// prepare creates the account, the CRDs, and a namespace in which pods can be created.
func (b *bench) prepare(ctx context.Context, config *rest.Config) error {
	if _, err := b.witness.core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	accounts := b.witness.core.ServiceAccounts(accountNamespace)
	if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: accountName}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	binding := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": accountName},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "namespace": accountNamespace, "name": accountName}},
	}}
	bindings := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
	if _, err := b.witness.dynamic.Resource(bindings).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return err
	}
	token, err := accounts.CreateToken(ctx, accountName, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(24 * 3600))}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := b.writeKubeconfig(config, token.Status.Token); err != nil {
		return err
	}
	if err := b.run(ctx, b.plugin, "install"); err != nil {
		return err
	}
	// Pods can be created once the default service account exists.
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := b.witness.core.ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	})
}

// writeKubeconfig writes the kubeconfig of the account, and creates its clients.
func (b *bench) writeKubeconfig(admin *rest.Config, token string) error {
	const name = "bench"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: namespace}
	config.CurrentContext = name
	b.kubeconfig = filepath.Join(b.scratch, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, b.kubeconfig); err != nil {
		return err
	}
	mine, err := clientcmd.BuildConfigFromFlags("", b.kubeconfig)
	if err != nil {
		return err
	}
	b.account, err = newClient(mine)
	return err
}

// command returns a command that runs as the account.
func (b *bench) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+b.kubeconfig, "KUBECACHEDIR="+filepath.Join(b.scratch, "cache"),
		"PATH="+filepath.Dir(b.plugin)+string(os.PathListSeparator)+os.Getenv("PATH"))
	return cmd
}

// run runs a program, and returns an error with its output if it fails.
func (b *bench) run(ctx context.Context, name string, args ...string) error {
	if out, err := b.command(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w\n%s", filepath.Base(name), args, err, out)
	}
	return nil
}

// podTemplate returns the pod template of all subjects.
func podTemplate(run string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]any{runLabel: run}},
		"spec": map[string]any{
			"terminationGracePeriodSeconds": int64(1),
			"automountServiceAccountToken":  false,
			"containers":                    []any{map[string]any{"name": "sleep", "image": "busybox", "command": []any{"sleep", "3600"}}},
		},
	}
}

// runLabel is the label that identifies the pods of a run.
const runLabel = "run"

// podOf returns an unnamed pod with the template of a run.
func podOf(run string) (*corev1.Pod, error) {
	data, err := json.Marshal(podTemplate(run))
	if err != nil {
		return nil, err
	}
	pod := &corev1.Pod{}
	return pod, json.Unmarshal(data, pod)
}
