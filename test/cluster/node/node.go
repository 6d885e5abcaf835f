// Package node runs a real Kubernetes node on this machine: containerd and a kubelet
// with real containers, in separate namespaces.
//
// A node consists of two processes of one program. The outer process (Run) relays
// connections to the API server and to the kubelet. The node has no other connections.
// The inner process (RunInside) is process 1 of the node's namespaces. When it ends, the
// kernel ends all processes in the namespaces. Run then removes the node's cgroups. If
// the outer process is killed, the inner process ends, too, and the cgroups remain until
// RemoveCgroups or the next Run.
//
// A node needs Linux and root. Check reports what is missing.
package node

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Config is the configuration of a node, stored in its directory.
type Config struct {
	Name string
	// Bin is the directory of the programs, and Images is the directory of the node's registry.
	Bin, Images string
	// API is the address of the API server, and Kubelet is the address of the kubelet.
	// Both are on the loopback of the host.
	API, Kubelet string
	// PodRange is the CIDR of pod addresses, and Gateway is the first address in it.
	PodRange, Gateway string
	// ServiceIP is the service address of the API server.
	ServiceIP string
	// KubeletArgs are additional arguments of the kubelet.
	KubeletArgs []string
}

// The files in the directory of a node.
const (
	configName = "node.json"
	// Kubeconfig is the kubeconfig of the kubelet.
	Kubeconfig = "kubelet.kubeconfig"
	// ClientCA is the CA of the clients that the kubelet accepts.
	ClientCA = "client-ca.crt"
)

// Write writes the configuration to the directory of a node.
func (c Config) Write(dir string) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the configuration of node %s: %w", c.Name, err)
	}
	if err := os.WriteFile(filepath.Join(dir, configName), data, 0o600); err != nil {
		return fmt.Errorf("write the configuration of node %s: %w", c.Name, err)
	}
	return nil
}

func readConfig(dir string) (Config, error) {
	var c Config
	data, err := os.ReadFile(filepath.Join(dir, configName))
	if err != nil {
		return c, fmt.Errorf("read the configuration of a node: %w", err)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("read the configuration of a node: %w", err)
	}
	return c, nil
}

// cgroup returns the parent cgroup of all containers of a node. Its name is unique for each directory.
func cgroup(dir string) string {
	return fmt.Sprintf("/imoocpod-node-%x", sha256.Sum256([]byte(dir)))[:31]
}

// LogTail returns the last lines of a log, or the error if the log cannot be read.
func LogTail(path string) string {
	const maxLines = 20
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimRight(data, "\n"), []byte("\n"))
	lines = lines[max(0, len(lines)-maxLines):]
	return string(bytes.Join(lines, []byte("\n")))
}
