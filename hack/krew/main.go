// Command krew generates the krew manifest of a release from the template in the
// repository: it fills in the version, the addresses of the archives, and their
// checksums. It is run by "make release":
//
//	krew -manifest krew.yaml -dist dist
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// manifest has all fields of krew.yaml in the repository.
type manifest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string     `json:"version"`
		Homepage         string     `json:"homepage"`
		ShortDescription string     `json:"shortDescription"`
		Description      string     `json:"description"`
		Caveats          string     `json:"caveats"`
		Platforms        []platform `json:"platforms"`
	} `json:"spec"`
}

type platform struct {
	Selector selector `json:"selector"`
	URI      string   `json:"uri"`
	SHA256   string   `json:"sha256"`
	Bin      string   `json:"bin"`
}

type selector struct {
	MatchLabels system `json:"matchLabels"`
}

type system struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
}

// release is the part of goreleaser's metadata.json that is read.
type release struct {
	Tag string `json:"tag"`
}

// artifact is the part of an entry in goreleaser's artifacts.json that is read.
type artifact struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Goos   string `json:"goos"`
	Goarch string `json:"goarch"`
	Extra  struct {
		Binaries []string `json:"Binaries"`
		Checksum string   `json:"Checksum"`
	} `json:"extra"`
}

func main() {
	template := flag.String("manifest", "krew.yaml", "the `file` to fill in")
	dist := flag.String("dist", "dist", "the `directory` that goreleaser made the release in")
	flag.Parse()
	if err := run(*template, *dist); err != nil {
		fmt.Fprintln(os.Stderr, "krew:", err)
		os.Exit(1)
	}
}

func run(template, dist string) error {
	text, err := os.ReadFile(template)
	if err != nil {
		return fmt.Errorf("read the manifest: %w", err)
	}
	var of release
	if err := readJSON(filepath.Join(dist, "metadata.json"), &of); err != nil {
		return fmt.Errorf("read what was released: %w", err)
	}
	var made []artifact
	if err := readJSON(filepath.Join(dist, "artifacts.json"), &made); err != nil {
		return fmt.Errorf("read what was made: %w", err)
	}
	if text, err = fill(text, of.Tag, made); err != nil {
		return fmt.Errorf("fill in %s: %w", template, err)
	}
	file := filepath.Join(dist, "krew", "imoocpod.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}

func readJSON(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// fill returns the manifest of a release. The archives of the release and the
// platforms of the manifest must match.
func fill(text []byte, tag string, made []artifact) ([]byte, error) {
	var m manifest
	// Strict decoding ensures that no field is lost.
	if err := yaml.UnmarshalStrict(text, &m); err != nil {
		return nil, err
	}
	archives := map[system]artifact{}
	for _, a := range made {
		if a.Type == "Archive" {
			archives[system{OS: a.Goos, Arch: a.Goarch}] = a
		}
	}
	for i := range m.Spec.Platforms {
		p := &m.Spec.Platforms[i]
		on := p.Selector.MatchLabels
		archive, found := archives[on]
		if !found {
			return nil, fmt.Errorf("the release has no archive for %s/%s", on.OS, on.Arch)
		}
		delete(archives, on)
		sum, isSHA256 := strings.CutPrefix(archive.Extra.Checksum, "sha256:")
		if !isSHA256 || len(archive.Extra.Binaries) != 1 || archive.Extra.Binaries[0] != p.Bin {
			return nil, fmt.Errorf("%s has the checksum %q and the programs %q", archive.Name, archive.Extra.Checksum, archive.Extra.Binaries)
		}
		p.SHA256, p.URI = sum, strings.ReplaceAll(p.URI, m.Spec.Version, tag)
		if path.Base(p.URI) != archive.Name {
			return nil, fmt.Errorf("%s is the archive for %s/%s, want %s", archive.Name, on.OS, on.Arch, path.Base(p.URI))
		}
	}
	for on := range archives {
		return nil, fmt.Errorf("the manifest has no platform %s/%s", on.OS, on.Arch)
	}
	m.Spec.Version = tag
	return yaml.Marshal(m)
}
