// Package node runs a real Kubernetes node on this machine: containerd and a
// kubelet, in namespaces of their own, with containers that run.
//
// A node is three processes of one program. The outer one (Run) has two relays,
// the only ways in and out: to the API server, and back to the kubelet. The inner
// one (RunInside) is process 1 of the node's namespaces, so that the kernel ends
// all that runs in them when it ends, and it ends with the outer one. The third
// (CleanUp) outlives both by a moment and removes the cgroups, which would stay.
//
// It wants Linux and root. Check says what is missing.
package node

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Config is what a node is told, in a file of its directory.
type Config struct {
	Name string
	// Bin holds the programs, KubeletPath is the kubelet, Images holds what the
	// registry of the node has.
	Bin, KubeletPath, Images string
	// API is the address of the API server, Kubelet the one that the kubelet is to
	// be reached at. Both are on the loopback outside.
	API, Kubelet string
	// PodRange is the range of the addresses of pods, Gateway the first of them.
	PodRange, Gateway string
	// ServiceIP is the address by which pods know the API server.
	ServiceIP string
	// KubeletArgs are further arguments of the kubelet.
	KubeletArgs []string
}

// The files that a node finds in its directory.
const (
	configName = "node.json"
	// Kubeconfig is the file of the kubelet.
	Kubeconfig = "kubelet.kubeconfig"
	// ClientCA is the file with the authority whose clients the kubelet obeys.
	ClientCA = "client-ca.crt"
)

// Write writes the configuration into the directory of a node.
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

// cgroup is the cgroup below which all containers of a node are. Its name tells
// one directory from another.
func cgroup(dir string) string {
	return fmt.Sprintf("/imoocpod-node-%x", sha256.Sum256([]byte(dir)))[:31]
}
