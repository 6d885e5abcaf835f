package krew

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// dist is the directory of the release.
const dist = "../../dist"

// manifest is the part of a krew manifest that the tests read.
type manifest struct {
	Spec struct {
		Version   string     `json:"version"`
		Platforms []platform `json:"platforms"`
	} `json:"spec"`
}

type platform struct {
	URI      string   `json:"uri"`
	SHA256   string   `json:"sha256"`
	Files    []string `json:"files"`
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
}

// released returns the manifest of the release and its text. In the text, the URLs of the archives
// point to a server on loopback that runs until the test ends.
func released(t *testing.T) (m manifest, text string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dist, "krew", "imoocpod.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dist)))
	t.Cleanup(server.Close)
	text = regexp.MustCompile(`https://github\.com/\S*/releases/download/[^/]+`).ReplaceAllLiteralString(string(data), server.URL)
	if strings.Count(text, server.URL) != len(m.Spec.Platforms) {
		t.Fatalf("not every archive in the manifest is from a GitHub release:\n%s", data)
	}
	return m, text
}

// TestManifest checks that krew's validator can install the plugin for every platform, with the license, and that the
// manifest lists exactly the supported platforms.
func TestManifest(t *testing.T) {
	t.Parallel()
	m, text := released(t)
	// The validator requires this file name.
	file := filepath.Join(t.TempDir(), "imoocpod.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	newUser(t).run(filepath.Join(tools, "validate-krew-manifest"), "-manifest", file)
	want := []string{
		"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm", "linux/arm64", "linux/ppc64le", "windows/amd64", "windows/arm64",
	}
	var got []string
	for _, p := range m.Spec.Platforms {
		got = append(got, p.Selector.MatchLabels["os"]+"/"+p.Selector.MatchLabels["arch"])
		if len(p.Selector.MatchLabels) != 2 || p.Files != nil {
			t.Errorf("platform of the manifest = %+v, want the labels os and arch, and no files", p)
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("platforms of the manifest = %s, want %s", got, want)
	}
}

// TestIndex adds the repository as a krew index, and finds, installs, upgrades, and uninstalls the plugin. It also runs
// the plugin and its completion.
func TestIndex(t *testing.T) {
	t.Parallel()
	m, text := released(t)
	u := newUser(t)
	index := filepath.Join(t.TempDir(), "index")
	// Clone with the HOME of the test process, whose git configuration might list the checkout as a safe.directory.
	if out, err := exec.Command("git", "clone", "-q", "../..", index).CombinedOutput(); err != nil {
		t.Fatalf("clone: %v\n%s", err, out)
	}
	u.env = append(u.env, "KREW_DEFAULT_INDEX_URI="+index)
	u.run("kubectl", "krew", "index", "add", "imoocpod", index)
	u.run("kubectl", "krew", "search")

	publish := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(index, "plugins/imoocpod.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		u.run("git", "-C", index, "add", ".")
		u.run("git", "-C", index, "commit", "-qm", "Release")
	}
	const older = "v0.0.0-0" // older than any snapshot
	publish(strings.Replace(text, "version: "+m.Spec.Version, "version: "+older, 1))
	u.run("kubectl", "krew", "update")
	u.prints("imoocpod/imoocpod", "krew", "search", "imoocpod")
	u.prints("VERSION: "+older, "krew", "info", "imoocpod/imoocpod")
	u.prints("kubectl imoocpod completion install", "krew", "install", "imoocpod/imoocpod")
	if want := "imoocpod/" + older + "/kubectl-imoocpod"; u.installed() != want {
		t.Errorf("after krew install, the plugin is %s, want %s", u.installed(), want)
	}
	u.prints("kubectl_complete-imoocpod created", "imoocpod", "completion", "install")

	publish(text)
	u.prints("Upgrading plugin: imoocpod", "krew", "upgrade")
	if want := "imoocpod/" + m.Spec.Version + "/kubectl-imoocpod"; u.installed() != want {
		t.Errorf("after krew upgrade, the plugin is %s, want %s", u.installed(), want)
	}
	u.prints("imoocpod/imoocpod", "krew", "list")
	u.prints("Client Version: "+m.Spec.Version+"\nServer Version: v", "imoocpod", "version")
	// The link for completion now points to the new version.
	u.prints("scale\t", "__complete", "imoocpod", "sc")
	u.prints("kube-system\n", "__complete", "imoocpod", "status", "-n", "kube-s")
	u.prints("deleted", "imoocpod", "completion", "uninstall")

	u.run("kubectl", "krew", "uninstall", "imoocpod")
	if out, err := u.try("kubectl", "imoocpod", "version", "--client"); err == nil {
		t.Errorf("the plugin still runs after it was uninstalled:\n%s", out)
	}
	if left, err := os.ReadDir(filepath.Join(u.root, "bin")); err != nil || len(left) != 0 {
		t.Errorf("files in bin after krew uninstall = %v (error %v), want none", left, err)
	}
}

// TestChecksums checks that each archive has a list of modules, and that checksums.txt contains the checksums of the
// archives and the lists.
func TestChecksums(t *testing.T) {
	t.Parallel()
	m, _ := released(t)
	text, err := os.ReadFile(filepath.Join(dist, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	sums := string(text)
	for _, p := range m.Spec.Platforms {
		archive := filepath.Base(p.URI)
		if !strings.Contains(sums, p.SHA256+"  "+archive+"\n") {
			t.Errorf("checksums.txt lacks the checksum %s of %s", p.SHA256, archive)
		}
		modules := strings.TrimSuffix(strings.TrimSuffix(archive, ".zip"), ".tar.gz") + ".cdx.json"
		list, err := os.ReadFile(filepath.Join(dist, modules))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(sums, fmt.Sprintf("%x  %s\n", sha256.Sum256(list), modules)) {
			t.Errorf("checksums.txt lacks the checksum of %s", modules)
		}
		for _, module := range []string{"pkg:golang/github.com/imoocpod/kubectl-imoocpod@" + m.Spec.Version, "pkg:golang/k8s.io/client-go@v", "pkg:golang/std@"} {
			if !strings.Contains(string(list), module) {
				t.Errorf("the list of modules %s lacks %s", modules, module)
			}
		}
	}
}
