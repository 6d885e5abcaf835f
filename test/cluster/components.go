package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strconv"
)

// The components of a control plane.
const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	kwok              = "kwok"
)

// Addresses. Nothing listens on the ones of services and pods, they only have to
// differ from each other.
const (
	loopback       = "127.0.0.1"
	serviceRange   = "10.0.0.0/24"
	firstServiceIP = "10.0.0.1"
	podRange       = "10.64.0.0/12"
	// Those of pods on real nodes begin with 10.200.
)

func isComponent(name string) bool {
	return slices.Contains([]string{etcd, apiServer, controllerManager, scheduler, kwok}, name)
}

// ports are the ports that a control plane listens on.
type ports struct {
	etcdClient, etcdPeer, apiServer int
	// kubelets are those of the real nodes.
	kubelets []int
}

// freePorts returns ports that nobody listens on, for so many real nodes. They are not taken from those
// that the kernel gives to outgoing connections, or else one of these could have
// the port of the API server when it is to be started again.
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

// layout knows where a control plane has its programs, its files and its ports.
type layout struct {
	bin   string
	dir   string
	ports ports
}

func (l layout) file(name string) string { return filepath.Join(l.dir, name) }

func (l layout) apiServerURL() string { return url("https", l.ports.apiServer) }
func (l layout) etcdURL() string      { return url("http", l.ports.etcdClient) }
func (l layout) kubeconfig() string   { return l.file("kubeconfig") }
func (l layout) auditLog() string     { return l.file("audit.log") }

// components returns all components by name.
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
			path: filepath.Join(l.bin, name),
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
		// It elects itself, and the default lets it wait a second before that.
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
		// It does not want loopback to be the endpoint of a service.
		"--endpoint-reconciler-type=none",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + l.file("service-account.key"),
		"--service-account-signing-key-file=" + l.file("service-account.key"),
		"--audit-policy-file=" + l.file("audit-policy.json"),
		"--audit-log-path=" + l.auditLog(),
		"--audit-log-mode=blocking",
		// In megabytes: whoever reads the log wants one file.
		"--audit-log-maxsize=1048576",
		// Without this, watches keep it from stopping for a minute.
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
		// It takes the taint of a new node away at such intervals.
		"--node-monitor-period=1s",
		// kwok lets a node be heard of every ten minutes, and a busy machine or a
		// stopped component must not make it unreachable.
		"--node-monitor-grace-period=1h",
		// It creates the directory, by default in the system.
		"--flex-volume-plugin-dir=" + l.file("flex-volume-plugins"),
		"--profiling=false",
	}
}

func (l layout) schedulerArgs() []string {
	return []string{
		"--kubeconfig=" + l.file("scheduler.kubeconfig"),
		"--secure-port=0",
		"--leader-elect=false",
		// It binds no more pods in a second than these allow.
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
		"--profiling=false",
	}
}

// realNodeArgs are further arguments of the API server, for real nodes: it lets a
// kubelet do what a node has to, and is a client of it for logs and the like. What
// is a list is added to what is there.
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
		"--config=" + l.file("kwok.json"),
	}
	if len(l.ports.kubelets) == 0 {
		args = append(args, "--manage-all-nodes=true")
	} else {
		args = append(args, "--manage-all-nodes=false", "--manage-nodes-with-annotation-selector="+kwokNode+"=fake")
	}
	for _, stage := range kwokStages() {
		args = append(args, "--config="+l.file(stage.file))
	}
	for _, config := range configs {
		args = append(args, "--config="+config)
	}
	return args
}
