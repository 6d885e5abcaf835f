package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strconv"
)

const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	kwok              = "kwok"
)

// The range of services must not overlap the ranges of simulated pods (10.64.0.0/12) and of pods on real
// nodes (10.200.0.0/16). Without real nodes, nothing listens on service addresses.
const (
	loopback       = "127.0.0.1"
	serviceRange   = "10.0.0.0/24"
	firstServiceIP = "10.0.0.1"
)

func isComponent(name string) bool {
	return slices.Contains([]string{etcd, apiServer, controllerManager, scheduler, kwok}, name)
}

type ports struct {
	etcdClient, etcdPeer, apiServer int
	// kubelets holds the kubelet port of each real node.
	kubelets []int
}

// freePorts returns free ports for a control plane with real nodes. It avoids the
// kernel's range of ephemeral ports, so that an outgoing connection cannot take
// the port of a component that restarts.
func freePorts(realNodes int) (ports, error) {
	const first, last, attempts = 12000, 31999, 100
	var found []int
	for range attempts {
		port := first + rand.IntN(last-first+1)
		if slices.Contains(found, port) {
			continue
		}
		listener, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		listener.Close()
		found = append(found, port)
		if len(found) == 3+realNodes {
			return ports{etcdClient: found[0], etcdPeer: found[1], apiServer: found[2], kubelets: found[3:]}, nil
		}
	}
	return ports{}, fmt.Errorf("no free ports on %s", loopback)
}

func url(scheme string, port int) string {
	return scheme + "://" + net.JoinHostPort(loopback, strconv.Itoa(port))
}

// layout locates the programs, files, and ports of a control plane.
type layout struct {
	bin string
	// assets is the directory that --assets sets, or "" if all programs are in bin.
	assets string
	dir    string
	ports  ports
}

// assets returns the names of the programs that --assets replaces.
func assets() []string { return []string{etcd, apiServer} }

func (l layout) program(name string) string {
	if l.assets != "" && slices.Contains(assets(), name) {
		return filepath.Join(l.assets, name)
	}
	return filepath.Join(l.bin, name)
}

func (l layout) file(name string) string { return filepath.Join(l.dir, name) }

func (l layout) apiServerURL() string { return url("https", l.ports.apiServer) }
func (l layout) etcdURL() string      { return url("http", l.ports.etcdClient) }
func (l layout) kubeconfig() string   { return l.file("kubeconfig") }
func (l layout) auditLog() string     { return l.file("audit.log") }

// components returns all components except the real nodes, by name.
func (l layout) components(o options) map[string]component {
	all := map[string]component{}
	for name, args := range map[string][]string{
		etcd:              l.etcdArgs(),
		apiServer:         append(l.apiServerArgs(), l.realNodeArgs()...),
		controllerManager: l.controllerManagerArgs(),
		scheduler:         l.schedulerArgs(),
		kwok:              l.kwokArgs(o.kwokConfigs),
	} {
		all[name] = component{
			name: name,
			path: l.program(name),
			args: append(args, o.extraArgs[name]...),
		}
	}
	return all
}

func (l layout) etcdArgs() []string {
	peer := url("http", l.ports.etcdPeer)
	return []string{
		"--name=default",
		"--data-dir=" + l.file("etcd-data"),
		"--listen-client-urls=" + l.etcdURL(),
		"--advertise-client-urls=" + l.etcdURL(),
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=default=" + peer,
		"--unsafe-no-fsync",
		"--log-level=warn",
		"--quota-backend-bytes=" + strconv.Itoa(8<<30),
		// The only member elects itself. By default, this takes a second.
		"--heartbeat-interval=10",
		"--election-timeout=100",
	}
}

func (l layout) apiServerArgs() []string {
	return []string{
		"--bind-address=" + loopback,
		"--advertise-address=" + loopback,
		"--secure-port=" + strconv.Itoa(l.ports.apiServer),
		"--etcd-servers=" + l.etcdURL(),
		"--cert-dir=" + l.dir,
		"--tls-cert-file=" + l.file("apiserver.crt"),
		"--tls-private-key-file=" + l.file("apiserver.key"),
		"--client-ca-file=" + l.file("ca.crt"),
		"--authorization-mode=RBAC",
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
		"--allow-privileged=true",
		"--service-cluster-ip-range=" + serviceRange,
		// A service cannot have a loopback address as its endpoint.
		"--endpoint-reconciler-type=none",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + l.file("service-account.key"),
		"--service-account-signing-key-file=" + l.file("service-account.key"),
		"--audit-policy-file=" + l.file("audit-policy.yaml"),
		"--audit-log-path=" + l.auditLog(),
		"--audit-log-mode=blocking",
		// Set a high limit (in MB), so that the log stays in a single file.
		"--audit-log-maxsize=1048576",
		// By default, open watches delay the exit of the API server for a minute.
		"--shutdown-watch-termination-grace-period=2s",
		"--profiling=false",
	}
}

func (l layout) controllerManagerArgs() []string {
	kubeconfig := l.file("controller-manager.kubeconfig")
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--secure-port=0",
		"--leader-elect=false",
		"--use-service-account-credentials",
		"--service-account-private-key-file=" + l.file("service-account.key"),
		"--root-ca-file=" + l.file("ca.crt"),
		"--cluster-signing-cert-file=" + l.file("ca.crt"),
		"--cluster-signing-key-file=" + l.file("ca.key"),
		"--service-cluster-ip-range=" + serviceRange,
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
		// A new node can keep its taint for up to this interval.
		"--node-monitor-period=1s",
		// kwok sends a heartbeat every ten minutes. A node must not become unreachable because of a
		// busy machine or a stopped component.
		"--node-monitor-grace-period=1h",
		// The controller manager creates this directory. By default, it is a system directory.
		"--flex-volume-plugin-dir=" + l.file("flex-volume-plugins"),
		"--profiling=false",
	}
}

func (l layout) schedulerArgs() []string {
	return []string{
		"--kubeconfig=" + l.file("scheduler.kubeconfig"),
		"--secure-port=0",
		"--leader-elect=false",
		// With the default limits, the scheduler binds fewer pods per second.
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
		"--profiling=false",
	}
}

// realNodeArgs returns the arguments that let the API server authorize the kubelets of real nodes, and
// connect to them for logs and exec. The values of list flags are added to the values in apiServerArgs.
func (l layout) realNodeArgs() []string {
	if len(l.ports.kubelets) == 0 {
		return nil
	}
	return []string{
		"--authorization-mode=Node",
		"--enable-admission-plugins=NodeRestriction",
		"--kubelet-client-certificate=" + l.file("kubelet-client.crt"),
		"--kubelet-client-key=" + l.file("kubelet-client.key"),
	}
}

func (l layout) kwokArgs(configs []string) []string {
	args := []string{
		"--kubeconfig=" + l.file("kwok.kubeconfig"),
		"--config=" + l.file("kwok.yaml"),
	}
	if len(l.ports.kubelets) == 0 {
		args = append(args, "--manage-all-nodes=true")
	} else {
		args = append(args, "--manage-all-nodes=false", "--manage-nodes-with-annotation-selector="+kwokNode+"=fake")
	}
	for _, config := range configs {
		args = append(args, "--config="+config)
	}
	return args
}
