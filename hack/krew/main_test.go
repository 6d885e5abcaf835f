package main

import (
	"fmt"
	"os"
	"path/filepath"
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

// TestFill checks that the version, addresses, and checksums are filled in, and
// that the rest is unchanged.
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
		t.Errorf("got\n%s", text)
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
			t.Errorf("%s: got\n%s", name, text)
		}
	}
}

// TestManifestsOfTheRepository checks that krew.yaml names no release. The manifest in
// plugins, which makes the repository a krew index, names a release. Until the first
// release, the index is empty.
func TestManifestsOfTheRepository(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../plugins/*.yaml")
	if err != nil || len(files) > 1 {
		t.Fatalf("plugins holds %v (%v)", files, err)
	}
	for _, file := range append(files, "../../krew.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var m manifest
		if err := yaml.UnmarshalStrict(text, &m); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		draft := filepath.Base(file) == "krew.yaml"
		if m.Metadata.Name != "imoocpod" || len(m.Spec.Platforms) == 0 || (m.Spec.Version == "v0.0.0") != draft {
			t.Errorf("%s: the plugin %q has %d platforms and the version %s", file, m.Metadata.Name, len(m.Spec.Platforms), m.Spec.Version)
		}
		for _, p := range m.Spec.Platforms {
			if !strings.Contains(p.URI, "/"+m.Spec.Version+"/") || (p.SHA256 == strings.Repeat("0", 64)) != draft {
				t.Errorf("%s: %s has the checksum %s", file, p.URI, p.SHA256)
			}
		}
	}
}
