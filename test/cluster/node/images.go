package node

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	// ContainerProgram is the name of the only program in the images.
	ContainerProgram = "container"
	pauseImage       = "imoocpod.local/pause:1"

	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar"
	tagKey       = "org.opencontainers.image.ref.name"
)

// descriptor refers to a blob of an image (OCI image specification).
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// index lists the images of an OCI layout.
type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

// MakeImages creates the images for samples and tests, as OCI image layouts in the directory of a
// registry. The program in the images comes from bin.
func MakeImages(registry, bin string) error {
	program, err := os.ReadFile(filepath.Join(bin, ContainerProgram))
	if err != nil {
		return fmt.Errorf("create the images of the nodes: %w", err)
	}
	layer, err := layerOf(program, []string{"act", "cat", "false", "httpd", "pause", "sleep", "true", "uptime"})
	if err != nil {
		return fmt.Errorf("create the images of the nodes: %w", err)
	}
	for name, command := range map[string]string{
		"busybox": "busybox", "nginx": "httpd", "nginx:stable-alpine3.17": "httpd", pauseImage: "pause",
	} {
		if err := makeImage(imageDir(registry, name), layer, command); err != nil {
			return fmt.Errorf("create image %s: %w", name, err)
		}
	}
	return nil
}

// AddImage links an OCI image layout into the directory of a registry, under the name that pods use.
// It returns an error if the layout does not contain the image.
func AddImage(registry, name, layout string) error {
	layout, err := filepath.Abs(layout)
	if err != nil {
		return err
	}
	to := imageDir(registry, name)
	if _, _, err := manifestOf(layout, filepath.Base(to)); err != nil {
		return fmt.Errorf("add image %s: %w", name, err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("add image %s: %w", name, err)
	}
	if err := os.Symlink(layout, to); err != nil {
		return fmt.Errorf("add image %s: %w", name, err)
	}
	return nil
}

// imageDir returns the directory of an image. It ignores the registry in the name.
func imageDir(registry, name string) string {
	repository, tag := name, "latest"
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		repository, tag = name[:colon], name[colon+1:]
	}
	host, rest, slash := strings.Cut(repository, "/")
	switch {
	case !slash:
		repository = "library/" + repository
	case strings.ContainsAny(host, ".:") || host == "localhost":
		repository = rest
	}
	return filepath.Join(registry, filepath.FromSlash(repository), tag)
}

// manifestOf returns a manifest in a layout, and its digest. If the layout has several manifests,
// manifestOf selects the manifest with the given tag.
func manifestOf(layout, tag string) (digest string, data []byte, err error) {
	data, err = os.ReadFile(filepath.Join(layout, "index.json"))
	if err != nil {
		return "", nil, err
	}
	var all index
	if err := json.Unmarshal(data, &all); err != nil {
		return "", nil, fmt.Errorf("read %s: %w", layout, err)
	}
	found := all.Manifests
	if len(found) > 1 {
		found = nil
		for _, m := range all.Manifests {
			if m.Annotations[tagKey] == tag {
				found = []descriptor{m}
			}
		}
	}
	if len(found) == 0 {
		return "", nil, fmt.Errorf("%s has no image %q", layout, tag)
	}
	data, err = os.ReadFile(blobPath(layout, found[0].Digest))
	return found[0].Digest, data, err
}

func blobPath(layout, digest string) string {
	return filepath.Join(layout, "blobs", "sha256", strings.TrimPrefix(digest, "sha256:"))
}

// layerOf returns a tar archive of a root file system. The program is bin/busybox, and the applets
// are links to it.
func layerOf(program []byte, applets []string) ([]byte, error) {
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	add := func(header tar.Header, content []byte) error {
		header.Size = int64(len(content))
		if err := w.WriteHeader(&header); err != nil {
			return err
		}
		_, err := w.Write(content)
		return err
	}
	var errs []error
	for _, dir := range []string{"bin/", "dev/", "etc/", "proc/", "sys/", "tmp/"} {
		mode := int64(0o755)
		if dir == "tmp/" {
			mode = 0o1777
		}
		errs = append(errs, add(tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: mode}, nil))
	}
	errs = append(errs,
		add(tar.Header{Typeflag: tar.TypeReg, Name: "etc/passwd", Mode: 0o644}, []byte("root:x:0:0:root:/:/bin/false\nnobody:x:65534:65534:nobody:/:/bin/false\n")),
		add(tar.Header{Typeflag: tar.TypeReg, Name: "bin/busybox", Mode: 0o755}, program))
	for _, applet := range applets {
		errs = append(errs, add(tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + applet, Linkname: "busybox", Mode: 0o777}, nil))
	}
	return layer.Bytes(), errors.Join(append(errs, w.Close())...)
}

// makeImage writes the OCI layout of an image that has a single layer and runs a command in /bin.
func makeImage(layout string, layer []byte, command string) error {
	if err := os.MkdirAll(filepath.Join(layout, "blobs", "sha256"), 0o755); err != nil {
		return err
	}
	layerBlob, err := writeBlob(layout, layerType, layer)
	if err != nil {
		return err
	}
	config, err := writeJSON(layout, configType, map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Cmd": []string{"/bin/" + command}, "Env": []string{"PATH=/bin"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{layerBlob.Digest}},
	})
	if err != nil {
		return err
	}
	manifest, err := writeJSON(layout, manifestType, map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": config, "layers": []descriptor{layerBlob},
	})
	if err != nil {
		return err
	}
	data, err := json.Marshal(index{SchemaVersion: 2, MediaType: indexType, Manifests: []descriptor{manifest}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(layout, "index.json"), data, 0o644)
}

func writeJSON(layout, mediaType string, value any) (descriptor, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return descriptor{}, err
	}
	return writeBlob(layout, mediaType, data)
}

func writeBlob(layout, mediaType string, data []byte) (descriptor, error) {
	d := descriptor{MediaType: mediaType, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(data)), Size: len(data)}
	return d, os.WriteFile(blobPath(layout, d.Digest), data, 0o644)
}
