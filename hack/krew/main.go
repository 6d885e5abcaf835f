// Command krew completes the krew manifest of a release. goreleaser leaves out
// every archive but those for amd64, arm64 and arm, and krew knows more.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// manifest is all that goreleaser writes into one.
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

// artifact is what is needed of an entry of goreleaser's artifacts.json.
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
	dist := flag.String("dist", "dist", "the `directory` that goreleaser made the release in")
	flag.Parse()
	if err := run(*dist); err != nil {
		fmt.Fprintln(os.Stderr, "krew:", err)
		os.Exit(1)
	}
}

func run(dist string) error {
	file := filepath.Join(dist, "krew", "imoocpod.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the manifest: %w", err)
	}
	artifacts, err := os.ReadFile(filepath.Join(dist, "artifacts.json"))
	if err != nil {
		return fmt.Errorf("read what was made: %w", err)
	}
	if text, err = complete(text, artifacts); err != nil {
		return fmt.Errorf("complete %s: %w", file, err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}

// complete returns the manifest with every archive of the release.
func complete(text, artifacts []byte) ([]byte, error) {
	var m manifest
	// Strict, so that nothing is lost that a newer goreleaser writes.
	if err := yaml.UnmarshalStrict(text, &m); err != nil {
		return nil, err
	}
	if len(m.Spec.Platforms) == 0 {
		return nil, errors.New("it names no archive")
	}
	address, _ := path.Split(m.Spec.Platforms[0].URI)
	var made []artifact
	if err := json.Unmarshal(artifacts, &made); err != nil {
		return nil, err
	}
	m.Spec.Platforms = nil
	for _, a := range made {
		if a.Type != "Archive" {
			continue
		}
		sum, isSHA256 := strings.CutPrefix(a.Extra.Checksum, "sha256:")
		if !isSHA256 || len(a.Extra.Binaries) != 1 {
			return nil, fmt.Errorf("%s has the checksum %q and the programs %q", a.Name, a.Extra.Checksum, a.Extra.Binaries)
		}
		m.Spec.Platforms = append(m.Spec.Platforms, platform{
			Selector: selector{MatchLabels: system{OS: a.Goos, Arch: a.Goarch}},
			URI:      address + a.Name, SHA256: sum, Bin: a.Extra.Binaries[0],
		})
	}
	slices.SortFunc(m.Spec.Platforms, func(a, b platform) int { return cmp.Compare(a.URI, b.URI) })
	return yaml.Marshal(m)
}
