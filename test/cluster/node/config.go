package node

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Addresses and names inside a node. Their values are arbitrary.
const (
	registryAddress  = "127.0.0.1:5000"
	bridgeName       = "pods0"
	containerdSocket = "/run/containerd/containerd.sock"
)

// settings returns sysctls with the values that the kubelet expects. The sysctls are not namespaced,
// so the kubelet would set them for the whole machine. To prevent this, a node mounts files with
// these values over the sysctls.
func settings() map[string]string {
	return map[string]string{
		"vm/overcommit_memory":      "1",
		"vm/panic_on_oom":           "0",
		"kernel/panic":              "10",
		"kernel/panic_on_oops":      "1",
		"kernel/keys/root_maxkeys":  "1000000",
		"kernel/keys/root_maxbytes": "25000000",
	}
}

type layout struct {
	Config
	dir         string
	snapshotter string
}

func (l layout) file(name ...string) string {
	return filepath.Join(append([]string{l.dir}, name...)...)
}

func (l layout) settingFile(setting string) string {
	return l.file("settings", strings.ReplaceAll(setting, "/", "."))
}

func (l layout) writeFiles() error {
	kubelet, err := l.kubeletConfig()
	if err != nil {
		return err
	}
	files := map[string]string{
		l.file("kubelet.json"):    kubelet,
		l.file("containerd.toml"): l.containerdConfig(),
		l.file("cni", "10-pods.conflist"): fmt.Sprintf(`{"cniVersion":"1.0.0","name":"pods","plugins":[{
"type":"bridge","bridge":%q,"isGateway":true,"ipMasq":false,"hairpinMode":true,
"ipam":{"type":"host-local","dataDir":"/run/cni","ranges":[[{"subnet":%q,"gateway":%q}]],"routes":[{"dst":"0.0.0.0/0"}]}}]}
`, bridgeName, l.PodRange, l.Gateway),
		// Pull all images from this registry, even if their names contain a different registry.
		l.file("registries", "_default", "hosts.toml"): fmt.Sprintf("server = \"http://%[1]s\"\n[host.\"http://%[1]s\"]\n  capabilities = [\"pull\", \"resolve\"]\n", registryAddress),
	}
	for setting, value := range settings() {
		files[l.settingFile(setting)] = value + "\n"
	}
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return fmt.Errorf("write the files of a node: %w", err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			return fmt.Errorf("write the files of a node: %w", err)
		}
	}
	return nil
}

func (l layout) kubeletConfig() (string, error) {
	_, port, err := net.SplitHostPort(l.Kubelet)
	if err != nil {
		return "", fmt.Errorf("read the address of the kubelet: %w", err)
	}
	gates, err := l.featureGates()
	if err != nil {
		return "", err
	}
	data, err := json.MarshalIndent(map[string]any{
		"apiVersion":  "kubelet.config.k8s.io/v1beta1",
		"kind":        "KubeletConfiguration",
		"address":     "127.0.0.1",
		"port":        json.Number(port),
		"healthzPort": 0,
		"authentication": map[string]any{
			"anonymous": map[string]any{"enabled": false},
			"webhook":   map[string]any{"enabled": true},
			"x509":      map[string]any{"clientCAFile": l.file(ClientCA)},
		},
		"authorization":            map[string]any{"mode": "Webhook"},
		"containerRuntimeEndpoint": "unix://" + containerdSocket,
		"rotateCertificates":       false,

		"cgroupDriver": "cgroupfs",
		"cgroupRoot":   cgroup(l.dir),
		"failCgroupV1": false, // by default, the kubelet rejects cgroup v1
		"failSwapOn":   false,
		"oomScoreAdj":  0, // lower values need privileges

		"resolvConf":             "",
		"clusterDNS":             []string{"10.0.0.10"}, // unused; without it, each pod gets a warning event
		"clusterDomain":          "cluster.local",
		"makeIPTablesUtilChains": false,

		// The defaults protect large clusters. These values make the kubelet faster.
		"registryPullQPS":           0,
		"eventRecordQPS":            0,
		"serializeImagePulls":       false,
		"syncFrequency":             "5s",
		"nodeStatusUpdateFrequency": "5s",
		"nodeLeaseDurationSeconds":  10,
		"crashLoopBackOff":          map[string]any{"maxContainerRestartPeriod": "3s"},
		"featureGates":              gates,

		// Never evict pods when memory or disk space runs out, because both belong to the whole machine.
		"evictionHard": map[string]string{
			"memory.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%",
			"imagefs.available": "0%", "imagefs.inodesFree": "0%",
		},
		"imageGCHighThresholdPercent": 100,
		"maxPods":                     200,
		"volumePluginDir":             "/run/kubelet-volume-plugins",
	}, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encode the configuration of the kubelet: %w", err)
	}
	return string(data), nil
}

// featureGates returns the features that the configuration needs and the kubelet supports. A kubelet
// ignores unknown fields, but rejects unknown features and the fields of disabled features.
func (l layout) featureGates() (map[string]bool, error) {
	const backOff = "KubeletCrashLoopBackOffMax"
	help, err := exec.Command(filepath.Join(l.Bin, "kubelet"), "--help").Output()
	if err != nil {
		return nil, fmt.Errorf("list the features of the kubelet: %w", err)
	}
	if !strings.Contains(string(help), backOff+"=") {
		return nil, nil
	}
	return map[string]bool{backOff: true}, nil
}

func (l layout) containerdConfig() string {
	return fmt.Sprintf(`version = 3
[plugins.'io.containerd.cri.v1.images']
  snapshotter = %q
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = %q
  [plugins.'io.containerd.cri.v1.images'.registry]
    config_path = %q
[plugins.'io.containerd.cri.v1.runtime']
  disable_apparmor = true
  restrict_oom_score_adj = true
  tolerate_missing_hugetlb_controller = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = [%q]
    conf_dir = %q
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      BinaryName = %q
      SystemdCgroup = false
`, l.snapshotter, pauseImage, l.file("registries"), l.Bin, l.file("cni"), filepath.Join(l.Bin, "runc"))
}
