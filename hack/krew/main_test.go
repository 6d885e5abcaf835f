package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const template = `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: imoocpod
spec:
  version: v0.0.0
  shortDescription: Drive it
  platforms:
    - bin: kubectl-imoocpod
      uri: https://example.com/v0.0.0/imoocpod_v0.0.0_linux_arm64.tar.gz
      sha256: "0000000000000000000000000000000000000000000000000000000000000000"
      selector:
        matchLabels:
          os: linux
          arch: arm64
    - bin: kubectl-imoocpod.exe
      uri: https://example.com/v0.0.0/imoocpod_v0.0.0_windows_amd64.zip
      sha256: "0000000000000000000000000000000000000000000000000000000000000000"
      selector:
        matchLabels:
          os: windows
          arch: amd64
`

func archive(os, arch, program string) artifact {
	a := artifact{Name: "imoocpod_v1.0.0_" + os + "_" + arch + map[string]string{"windows": ".zip"}[os], Type: "Archive", Goos: os, Goarch: arch}
	if os != "windows" {
		a.Name += ".tar.gz"
	}
	a.Extra.Binaries, a.Extra.Checksum = []string{program}, "sha256:"+os+arch
	return a
}

// Version, addresses and checksums are filled in, and the rest stays.
func TestFill(t *testing.T) {
	t.Parallel()
	linux, windows := archive("linux", "arm64", "kubectl-imoocpod"), archive("windows", "amd64", "kubectl-imoocpod.exe")
	text, err := fill([]byte(template), "v1.0.0", []artifact{{Name: "checksums.txt", Type: "Checksum"}, windows, linux})
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
		"{linux arm64}https://example.com/v1.0.0/imoocpod_v1.0.0_linux_arm64.tar.gzlinuxarm64kubectl-imoocpod",
		"{windows amd64}https://example.com/v1.0.0/imoocpod_v1.0.0_windows_amd64.zipwindowsamd64kubectl-imoocpod.exe",
	}, "\n")
	if strings.Join(got, "\n") != want || m.Spec.Version != "v1.0.0" || m.Spec.ShortDescription != "Drive it" {
		t.Errorf("it made\n%s", text)
	}

	other := func(change func(*artifact)) []artifact {
		changed := linux
		change(&changed)
		return []artifact{changed, windows}
	}
	for name, bad := range map[string]struct {
		text string
		made []artifact
	}{
		"an archive is missing":  {template, []artifact{linux}},
		"a platform is missing":  {template, []artifact{linux, windows, archive("linux", "ppc64le", "kubectl-imoocpod")}},
		"an unknown field":       {template + "  labels: {}\n", []artifact{linux, windows}},
		"another checksum":       {template, other(func(a *artifact) { a.Extra.Checksum = "sha512:aa" })},
		"two programs":           {template, other(func(a *artifact) { a.Extra.Binaries = []string{"kubectl-imoocpod", "b"} })},
		"another program":        {template, other(func(a *artifact) { a.Extra.Binaries = []string{"b"} })},
		"another name":           {template, other(func(a *artifact) { a.Name = "a.tar.gz" })},
		"an archive of two tags": {template, other(func(a *artifact) { a.Name = strings.Replace(a.Name, "v1.0.0", "v1.1.0", 1) })},
	} {
		if text, err := fill([]byte(bad.text), "v1.0.0", bad.made); err == nil {
			t.Errorf("%s: it made\n%s", name, text)
		}
	}
}

// drift tells what is wrong with the manifests of a repository: the one of plugins,
// which makes the repository a krew index, is that of a release. Until there is one,
// the index is empty. krew.yaml names no release and no checksum.
func drift(root string) error {
	text, err := os.ReadFile(filepath.Join(root, "krew.yaml"))
	if err != nil {
		return err
	}
	if err := ofOneRelease(text, func(version, sum string) bool { return version == "v0.0.0" && sum == strings.Repeat("0", 64) }); err != nil {
		return fmt.Errorf("krew.yaml: %w", err)
	}
	entries, err := os.ReadDir(filepath.Join(root, "plugins"))
	if err != nil {
		return err
	}
	if len(entries) != 1 || entries[0].Name() != ".gitkeep" && entries[0].Name() != "imoocpod.yaml" || !entries[0].Type().IsRegular() {
		return fmt.Errorf("plugins holds %v, want the file imoocpod.yaml alone, or .gitkeep", entries)
	}
	if entries[0].Name() == ".gitkeep" {
		return nil
	}
	if text, err = os.ReadFile(filepath.Join(root, "plugins", "imoocpod.yaml")); err != nil {
		return err
	}
	sha256 := regexp.MustCompile(`^[0-9a-f]{64}$`)
	if err := ofOneRelease(text, func(version, sum string) bool {
		return version != "v0.0.0" && sha256.MatchString(sum) && sum != strings.Repeat("0", 64)
	}); err != nil {
		return fmt.Errorf("plugins/imoocpod.yaml: %w", err)
	}
	return nil
}

// ofOneRelease tells what is wrong with one manifest.
func ofOneRelease(text []byte, released func(version, sum string) bool) error {
	var m manifest
	if err := yaml.UnmarshalStrict(text, &m); err != nil {
		return err
	}
	if m.Metadata.Name != "imoocpod" || len(m.Spec.Platforms) == 0 {
		return fmt.Errorf("the plugin %q has %d platforms", m.Metadata.Name, len(m.Spec.Platforms))
	}
	for _, p := range m.Spec.Platforms {
		if !strings.Contains(p.URI, "/"+m.Spec.Version+"/") {
			return fmt.Errorf("%s is not of the release %s", p.URI, m.Spec.Version)
		}
		if !released(m.Spec.Version, p.SHA256) {
			return fmt.Errorf("%s has the version %s and the checksum %s", p.URI, m.Spec.Version, p.SHA256)
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
	made := strings.NewReplacer("v0.0.0", "v1.0.0", strings.Repeat("0", 64), strings.Repeat("a", 64)).Replace(template)
	for name, tree := range map[string]struct {
		files map[string]string
		good  bool
	}{
		"no release":              {map[string]string{"krew.yaml": template, "plugins/.gitkeep": ""}, true},
		"a release":               {map[string]string{"krew.yaml": template, "plugins/imoocpod.yaml": made}, true},
		"of two releases":         {map[string]string{"krew.yaml": template, "plugins/imoocpod.yaml": strings.Replace(made, "/v1.0.0/", "/v1.1.0/", 1)}, false},
		"archives of others":      {map[string]string{"krew.yaml": template, "plugins/imoocpod.yaml": strings.ReplaceAll(made, "/v1.0.0/", "/v1.1.0/")}, false},
		"not filled in":           {map[string]string{"krew.yaml": template, "plugins/imoocpod.yaml": template}, false},
		"a checksum is missing":   {map[string]string{"krew.yaml": template, "plugins/imoocpod.yaml": strings.Replace(made, strings.Repeat("a", 64), strings.Repeat("0", 64), 1)}, false},
		"no checksum":             {map[string]string{"krew.yaml": template, "plugins/imoocpod.yaml": strings.Replace(made, strings.Repeat("a", 64), "a", 1)}, false},
		"a template of a release": {map[string]string{"krew.yaml": made, "plugins/imoocpod.yaml": made}, false},
		"a draft":                 {map[string]string{"krew.yaml": "# A draft\n", "plugins/.gitkeep": ""}, false},
		"something else":          {map[string]string{"krew.yaml": template, "plugins/imoocpod.yaml": made, "plugins/README.md": ""}, false},
		"another name":            {map[string]string{"krew.yaml": template, "plugins/imoocpod.yaml": strings.Replace(made, ": imoocpod", ": other", 1)}, false},
		"a template of others":    {map[string]string{"krew.yaml": strings.Replace(template, ": imoocpod", ": other", 1), "plugins/.gitkeep": ""}, false},
		"no YAML":                 {map[string]string{"krew.yaml": template, "plugins/imoocpod.yaml": "{"}, false},
		"no YAML to fill in":      {map[string]string{"krew.yaml": "{", "plugins/.gitkeep": ""}, false},
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
		os.WriteFile(filepath.Join(root, "krew.yaml"), []byte(template), 0o600),
		os.WriteFile(filepath.Join(root, "released.yaml"), []byte(made), 0o600),
		os.Symlink("../released.yaml", filepath.Join(root, "plugins", "imoocpod.yaml")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := drift(root); err == nil {
		t.Error("a link is taken for a manifest")
	}
}
