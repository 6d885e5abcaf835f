package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const made = `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: imoocpod
spec:
  version: v1.0.0
  shortDescription: Drive it
  platforms:
    - bin: kubectl-imoocpod
      uri: https://example.com/v1.0.0/imoocpod_linux_arm64.tar.gz
      sha256: aa
      selector:
        matchLabels:
          os: linux
          arch: arm64
`

// What goreleaser left out is added, and nothing is lost.
func TestComplete(t *testing.T) {
	t.Parallel()
	text, err := complete([]byte(made), []byte(`[
		{"name": "checksums.txt", "type": "Checksum"},
		{"name": "imoocpod_windows_amd64.zip", "type": "Archive", "goos": "windows", "goarch": "amd64", "extra": {"Binaries": ["kubectl-imoocpod.exe"], "Checksum": "sha256:cc"}},
		{"name": "imoocpod_linux_ppc64le.tar.gz", "type": "Archive", "goos": "linux", "goarch": "ppc64le", "extra": {"Binaries": ["kubectl-imoocpod"], "Checksum": "sha256:bb"}},
		{"name": "imoocpod_linux_arm64.tar.gz", "type": "Archive", "goos": "linux", "goarch": "arm64", "extra": {"Binaries": ["kubectl-imoocpod"], "Checksum": "sha256:aa"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := yaml.UnmarshalStrict(text, &m); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range m.Spec.Platforms {
		got = append(got, fmt.Sprint(p.Selector.MatchLabels, p.URI, p.SHA256, p.Bin))
	}
	want := strings.Join([]string{
		"{linux arm64}https://example.com/v1.0.0/imoocpod_linux_arm64.tar.gzaakubectl-imoocpod",
		"{linux ppc64le}https://example.com/v1.0.0/imoocpod_linux_ppc64le.tar.gzbbkubectl-imoocpod",
		"{windows amd64}https://example.com/v1.0.0/imoocpod_windows_amd64.zipcckubectl-imoocpod.exe",
	}, "\n")
	if strings.Join(got, "\n") != want || m.Spec.Version != "v1.0.0" || m.Spec.ShortDescription != "Drive it" {
		t.Errorf("it made\n%s", text)
	}

	for name, bad := range map[string][2]string{
		"no archive":       {strings.Split(made, "    - bin")[0], `[]`},
		"an unknown field": {made + "  labels: {}\n", `[]`},
		"another checksum": {made, `[{"name": "a.zip", "type": "Archive", "extra": {"Binaries": ["a"], "Checksum": "sha512:aa"}}]`},
		"two programs":     {made, `[{"name": "a.zip", "type": "Archive", "extra": {"Binaries": ["a", "b"], "Checksum": "sha256:aa"}}]`},
	} {
		if text, err := complete([]byte(bad[0]), []byte(bad[1])); err == nil {
			t.Errorf("%s: it made\n%s", name, text)
		}
	}
}

// drift tells what is wrong with the manifests of a repository: krew.yaml and
// the one of plugins, which makes the repository a krew index, are those of one
// release. Until there is one, krew.yaml is a draft and the index is empty.
func drift(root string) error {
	text, err := os.ReadFile(filepath.Join(root, "krew.yaml"))
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(root, "plugins"))
	if err != nil {
		return err
	}
	var m manifest
	if err := yaml.UnmarshalStrict(text, &m); err != nil {
		return fmt.Errorf("krew.yaml: %w", err)
	}
	want := "imoocpod.yaml"
	if m.Kind == "" {
		want = ".gitkeep"
	}
	if len(entries) != 1 || entries[0].Name() != want || !entries[0].Type().IsRegular() {
		return fmt.Errorf("plugins holds %v, want the file %s alone", entries, want)
	}
	if m.Kind == "" {
		return nil
	}
	indexed, err := os.ReadFile(filepath.Join(root, "plugins", want))
	if err != nil {
		return err
	}
	if string(indexed) != string(text) {
		return errors.New("krew.yaml and plugins/imoocpod.yaml differ")
	}
	if m.Metadata.Name != "imoocpod" || len(m.Spec.Platforms) == 0 {
		return fmt.Errorf("the plugin %q has %d platforms", m.Metadata.Name, len(m.Spec.Platforms))
	}
	for _, p := range m.Spec.Platforms {
		if !strings.Contains(p.URI, "/"+m.Spec.Version+"/") {
			return fmt.Errorf("%s is not of the release %s", p.URI, m.Spec.Version)
		}
	}
	return nil
}

func TestManifestsOfOneRelease(t *testing.T) {
	t.Parallel()
	if err := drift("../.."); err != nil {
		t.Error(err)
	}
}

func TestDrift(t *testing.T) {
	t.Parallel()
	const draft = "# A draft\n"
	for name, tree := range map[string]struct {
		files map[string]string
		good  bool
	}{
		"no release":         {map[string]string{"krew.yaml": draft, "plugins/.gitkeep": ""}, true},
		"a release":          {map[string]string{"krew.yaml": made, "plugins/imoocpod.yaml": made}, true},
		"of two releases":    {map[string]string{"krew.yaml": made, "plugins/imoocpod.yaml": strings.ReplaceAll(made, "v1.0.0", "v1.1.0")}, false},
		"archives of others": {map[string]string{"krew.yaml": strings.ReplaceAll(made, "/v1.0.0/", "/v1.1.0/"), "plugins/imoocpod.yaml": strings.ReplaceAll(made, "/v1.0.0/", "/v1.1.0/")}, false},
		"a draft left":       {map[string]string{"krew.yaml": draft, "plugins/imoocpod.yaml": made}, false},
		"not in the index":   {map[string]string{"krew.yaml": made, "plugins/.gitkeep": ""}, false},
		"something else":     {map[string]string{"krew.yaml": made, "plugins/imoocpod.yaml": made, "plugins/README.md": ""}, false},
		"another name":       {map[string]string{"krew.yaml": strings.Replace(made, ": imoocpod", ": other", 1), "plugins/imoocpod.yaml": strings.Replace(made, ": imoocpod", ": other", 1)}, false},
		"no YAML":            {map[string]string{"krew.yaml": "{", "plugins/imoocpod.yaml": "{"}, false},
	} {
		root := t.TempDir()
		for file, text := range tree.files {
			file = filepath.Join(root, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := drift(root); (err == nil) != tree.good {
			t.Errorf("%s: %v", name, err)
		}
	}
	// krew takes no link for a manifest.
	root := t.TempDir()
	for _, err := range []error{
		os.Mkdir(filepath.Join(root, "plugins"), 0o750),
		os.WriteFile(filepath.Join(root, "krew.yaml"), []byte(made), 0o600),
		os.Symlink("../krew.yaml", filepath.Join(root, "plugins", "imoocpod.yaml")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := drift(root); err == nil {
		t.Error("a link is taken for a manifest")
	}
}
