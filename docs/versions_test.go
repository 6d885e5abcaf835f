package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
)

// TestVersions checks that the documents and the command "check" name the Kubernetes versions that test/cluster
// builds for the tests.
func TestVersions(t *testing.T) {
	var versions []string
	for _, file := range []string{"test/cluster/go.mod", "test/cluster/kubernetes.sum"} {
		for _, m := range regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v[\d.]+) `).FindAllStringSubmatch(read(t, file), -1) {
			versions = append(versions, m[1])
		}
	}
	slices.Sort(versions)
	var minors []string
	for _, version := range versions {
		minors = append(minors, version[1:strings.LastIndex(version, ".")])
	}
	last := len(versions) - 1
	if check.OldestTested != minors[0] || check.NewestTested != minors[last] {
		t.Errorf("check names the tested versions %s to %s, want %s to %s", check.OldestTested, check.NewestTested, minors[0], minors[last])
	}
	list := "[Kubernetes " + strings.Join(minors[:last], ", ") + ", and " + minors[last] + "]"
	for path, words := range map[string]string{
		"README.md": list, "README.zh-CN.md": "[Kubernetes " + strings.Join(minors, "、") + "]",
		"docs/versions.md": "Kubernetes " + strings.Join(versions[:last], ", ") + ", and " + versions[last],
	} {
		if !strings.Contains(read(t, path), words) {
			t.Errorf("%s does not contain %q", path, words)
		}
	}
}
