package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
)

// TestVersions checks that the documents and the command "check" name the Kubernetes versions that the
// tests use.
func TestVersions(t *testing.T) {
	var built []string
	for _, file := range []string{"test/cluster/go.mod", "test/cluster/kubernetes.sum"} {
		for _, m := range regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v[\d.]+) `).FindAllStringSubmatch(read(t, file), -1) {
			built = append(built, m[1])
		}
	}
	var tested []string
	table := regexp.MustCompile(`(?m)^\| (\| v[\d.]+ )+\|$`).FindString(read(t, "docs/versions.md"))
	for _, version := range regexp.MustCompile(`v[\d.]+`).FindAllString(table, -1) {
		tested = append(tested, version)
		if !slices.Contains(built, version) {
			t.Errorf("docs/versions.md has %s, which test/cluster does not build", version)
		}
	}
	if len(tested) == 0 {
		t.Fatal("docs/versions.md has no table")
	}
	// "make test" uses the version in go.mod, even if the table has no column for it.
	tested = append(tested, built[0])
	slices.Sort(tested)
	tested = slices.Compact(tested)
	for i, version := range tested {
		tested[i] = version[1:strings.LastIndex(version, ".")]
	}
	oldest, newest := tested[0], tested[len(tested)-1]
	if check.OldestTested != oldest || check.NewestTested != newest {
		t.Errorf("check has %s to %s, want %s to %s", check.OldestTested, check.NewestTested, oldest, newest)
	}
	list := "[Kubernetes " + strings.Join(tested[:len(tested)-1], ", ") + ", and " + newest + "]"
	for path, words := range map[string]string{
		"README.md": list, "docs/install.md": list, "README.zh-CN.md": "[Kubernetes " + strings.Join(tested, "、") + "]",
	} {
		if !strings.Contains(read(t, path), words) {
			t.Errorf("%s does not say %q", path, words)
		}
	}
}
