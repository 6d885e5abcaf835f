package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// versionVariable is the environment variable that sets the default of --kubernetes.
const versionVariable = "IMOOCPOD_CLUSTER_KUBERNETES"

const kubernetesModule = "k8s.io/kubernetes"

// kubernetesSum contains the checksums of the Kubernetes versions that are not in go.mod. It lists
// k8s.io/kubernetes and the staging modules. The go.sum of k8s.io/kubernetes covers all other modules.
//
//go:embed kubernetes.sum
var kubernetesSum string

// ourKubernetes returns the version of Kubernetes in go.mod.
func ourKubernetes() string { return versionsIn(goMod)[0] }

// versionsIn returns the versions of Kubernetes in a go.mod or a go.sum.
func versionsIn(moduleFile string) []string {
	var all []string
	for _, match := range regexp.MustCompile(`(?m)^\s*`+kubernetesModule+` (v[\d.]+) `).FindAllStringSubmatch(moduleFile, -1) {
		all = append(all, match[1])
	}
	return all
}

// kubernetesVersions returns the versions of Kubernetes that can be built, oldest first.
func kubernetesVersions() []string {
	all := append(versionsIn(kubernetesSum), ourKubernetes())
	slices.Sort(all) // the order of strings is correct, because all minor versions have two digits
	return all
}

// findKubernetes returns the full version for a Kubernetes version such as "1.33", or the version in
// go.mod for "". It returns an error if the version cannot be built.
func findKubernetes(wanted string) (string, error) {
	if wanted == "" {
		return ourKubernetes(), nil
	}
	all := kubernetesVersions()
	name := "v" + strings.TrimPrefix(wanted, "v")
	for _, version := range all {
		if minor := version[:strings.LastIndex(version, ".")]; name == version || name == minor {
			return version, nil
		}
	}
	return "", fmt.Errorf("cannot build Kubernetes %s, only %s", wanted, strings.Join(all, ", "))
}

// version returns the Kubernetes version of a control plane. If --assets is set and --kubernetes is
// not, the result has the minor version of the API server in the assets.
func (o options) version(ctx context.Context) (string, error) {
	if o.assets == "" || o.kubernetes != "" {
		return findKubernetes(o.kubernetes)
	}
	out, err := exec.CommandContext(ctx, filepath.Join(o.assets, apiServer), "--version").Output()
	minor := regexp.MustCompile(`v\d+\.\d+`).FindString(string(out))
	if err != nil || minor == "" {
		return "", fmt.Errorf("find the version of the API server in %s: %w", o.assets, err)
	}
	return findKubernetes(minor)
}

// kubernetesPrograms returns a module that builds programs of the given version of Kubernetes.
func kubernetesPrograms(version string, programs ...program) module {
	m := module{goMod: goMod, goSum: goSum, ldflags: linkerFlags(version), programs: programs}
	if version != ourKubernetes() {
		m.goMod, m.goSum, m.kubernetes = "", checksums(kubernetesSum, version), version
	}
	return m
}

// checksums returns the lines of a go.sum for a version of k8s.io/kubernetes and its staging modules.
func checksums(goSum, version string) string {
	pattern := `(?m)^k8s\.io/\S+ (` + regexp.QuoteMeta(version) + `|` + regexp.QuoteMeta(stagingVersion(version)) + `)(/go\.mod)? .*\n`
	return strings.Join(regexp.MustCompile(pattern).FindAllString(goSum, -1), "")
}

// stagingVersion converts a version of Kubernetes to the version of its published staging modules.
func stagingVersion(version string) string { return strings.Replace(version, "v1.", "v0.", 1) }

// complete downloads k8s.io/kubernetes, and derives the go.mod and the go.sum of m from it. It
// returns m unchanged if both are already complete.
func (m module) complete(ctx context.Context) (module, error) {
	if m.kubernetes == "" {
		return m, nil
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", kubernetesModule+"@"+m.kubernetes)
	cmd.Dir, cmd.Env = os.TempDir(), append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := cmd.Output()
	var downloaded struct{ Dir, Error string }
	if decodeErr := json.Unmarshal(out, &downloaded); decodeErr != nil || downloaded.Dir == "" {
		return m, fmt.Errorf("%w %s", errors.Join(err, decodeErr), downloaded.Error)
	}
	mod, err := os.ReadFile(filepath.Join(downloaded.Dir, "go.mod"))
	if err != nil {
		return m, err
	}
	sum, err := os.ReadFile(filepath.Join(downloaded.Dir, "go.sum"))
	if err != nil {
		return m, err
	}
	m.goMod, m.goSum = requireKubernetes(string(mod), m.kubernetes), m.goSum+string(sum)
	return m, nil
}

// requireKubernetes converts the go.mod of k8s.io/kubernetes to a go.mod that requires
// k8s.io/kubernetes. It replaces the staging directories, which are missing from the downloaded
// module, with published modules.
func requireKubernetes(goMod, version string) string {
	goMod = regexp.MustCompile(`=> \./staging/src/(\S+)`).ReplaceAllString(goMod, "=> $1 "+stagingVersion(version))
	return strings.Replace(goMod, "module "+kubernetesModule+"\n", "module programs\n\nrequire "+kubernetesModule+" "+version+"\n", 1)
}

// checksumsCommand prints the content of kubernetes.sum for the given versions.
func checksumsCommand(ctx context.Context, versions []string) error {
	for _, version := range versions {
		version = "v" + strings.TrimPrefix(version, "v")
		sum, err := downloadChecksums(ctx, module{kubernetes: version})
		if err != nil {
			return fmt.Errorf("read the checksums of Kubernetes %s: %w", version, err)
		}
		fmt.Print(checksums(sum, version))
	}
	return nil
}

// downloadChecksums returns a go.sum that is complete for all Kubernetes programs.
func downloadChecksums(ctx context.Context, m module) (string, error) {
	m, err := m.complete(ctx)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "kubernetes-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := m.write(dir); err != nil {
		return "", err
	}
	args := []string{"list", "-mod=mod", "-deps"}
	for _, p := range append(kubernetesOfControlPlane(), kubelet()) {
		args = append(args, p.importPath)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), "GOFLAGS=", "GOWORK=off"), os.Stderr
	if _, err := cmd.Output(); err != nil {
		return "", err
	}
	sum, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	return string(sum), err
}
