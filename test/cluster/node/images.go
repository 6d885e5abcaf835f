package node

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	// ContainerProgram is the name of the built program that is bin/busybox in the images.
	ContainerProgram = "container"
	pauseImage       = "imoocpod.local/pause:1"

	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar"
)

// descriptor refers to a blob of an image (OCI image specification).
type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int    `json:"size"`
}

// MakeImages creates the images for samples and tests in the directory of a registry. The program in
// the images comes from bin.
func MakeImages(registry, bin string) error {
	program, err := os.ReadFile(filepath.Join(bin, ContainerProgram))
	if err != nil {
		return fmt.Errorf("create the images of the nodes: %w", err)
	}
	root, err := layerOf(program, []string{"act", "cat", "false", "httpd", "pause", "sleep", "true", "uptime"})
	if err != nil {
		return fmt.Errorf("create the images of the nodes: %w", err)
	}
	layer, err := writeBlob(registry, layerType, root)
	if err != nil {
		return fmt.Errorf("create the images of the nodes: %w", err)
	}
	for name, command := range map[string]string{
		"busybox": "busybox", "nginx": "httpd", "nginx:stable-alpine3.17": "httpd", pauseImage: "pause",
	} {
		if err := makeImage(registry, name, layer, command); err != nil {
			return fmt.Errorf("create image %s: %w", name, err)
		}
	}
	return nil
}

// AddImage links the image in an OCI image layout into the directory of a registry, under the name
// that pods use. It returns an error if the layout does not contain exactly one image.
func AddImage(registry, name, layout string) error {
	var index struct{ Manifests []descriptor }
	data, err := os.ReadFile(filepath.Join(layout, "index.json"))
	if err == nil {
		err = json.Unmarshal(data, &index)
	}
	if err == nil && len(index.Manifests) != 1 {
		err = fmt.Errorf("%s has %d images", layout, len(index.Manifests))
	}
	if err != nil {
		return fmt.Errorf("add image %s: %w", name, err)
	}
	blobs, err := filepath.Glob(filepath.Join(layout, "blobs", "sha256", "*"))
	if err != nil {
		return fmt.Errorf("add image %s: %w", name, err)
	}
	for _, blob := range blobs {
		// Images can share blobs, so the link might already exist.
		if err := os.Symlink(blob, blobPath(registry, filepath.Base(blob))); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("add image %s: %w", name, err)
		}
	}
	return addTag(registry, name, index.Manifests[0])
}

// addTag links the manifest of an image under its name.
func addTag(registry, name string, manifest descriptor) error {
	repository, tag := parseName(name)
	path := tagPath(registry, repository, tag)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.Symlink(blobPath(registry, manifest.Digest), path)
}

// parseName splits the name of an image. It ignores the registry in the name.
func parseName(name string) (repository, tag string) {
	repository, tag = name, "latest"
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		repository, tag = name[:colon], name[colon+1:]
	}
	host, rest, slash := strings.Cut(repository, "/")
	switch {
	case !slash:
		return "library/" + repository, tag
	case strings.ContainsAny(host, ".:") || host == "localhost":
		return rest, tag
	}
	return repository, tag
}

// tagPath returns the path of the link to the manifest of an image.
func tagPath(registry, repository, tag string) string {
	return filepath.Join(registry, "tags", filepath.FromSlash(repository), tag)
}

// blobPath returns the path of a blob, which all images of a registry can share.
func blobPath(registry, digest string) string {
	return filepath.Join(registry, "blobs", strings.TrimPrefix(digest, "sha256:"))
}

// layerOf returns a tar archive of a root file system. The program is bin/busybox, and the applets are links to it.
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

// makeImage creates an image that has a single layer and runs a command in /bin.
func makeImage(registry, name string, layer descriptor, command string) error {
	config, err := writeJSON(registry, configType, map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Cmd": []string{"/bin/" + command}, "Env": []string{"PATH=/bin"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{layer.Digest}},
	})
	if err != nil {
		return err
	}
	manifest, err := writeJSON(registry, manifestType, map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": config, "layers": []descriptor{layer},
	})
	if err != nil {
		return err
	}
	return addTag(registry, name, manifest)
}

func writeJSON(registry, mediaType string, value any) (descriptor, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return descriptor{}, err
	}
	return writeBlob(registry, mediaType, data)
}

func writeBlob(registry, mediaType string, data []byte) (descriptor, error) {
	d := descriptor{MediaType: mediaType, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(data)), Size: len(data)}
	path := blobPath(registry, d.Digest)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return d, err
	}
	return d, os.WriteFile(path, data, 0o644)
}
