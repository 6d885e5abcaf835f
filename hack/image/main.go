// Command image builds a container image with a single file, as an OCI image layout. It needs no container engine.
//
// ko also works without a container engine, but not offline: it looks for the base image "scratch" on
// Docker Hub. See docs/adr/0007-libraries.md.
//
// The command is a separate module, so that its dependencies are not in the go.mod of the plugin.
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nobody is an unprivileged user and group without names. The Dockerfile and the Deployment use the same IDs.
const nobody = "65532:65532"

func main() {
	var program, arch, version, output string
	flag.StringVar(&program, "program", "", "the Linux `file` to put into the image")
	flag.StringVar(&arch, "arch", "", "the `architecture` that it is built for")
	flag.StringVar(&version, "version", "", "the `version` of the program, which is the image's tag too")
	flag.StringVar(&output, "output", "", "the new `directory` of the layout")
	flag.Parse()
	if err := run(program, arch, version, output); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(program, arch, version, output string) error {
	if program == "" || arch == "" || version == "" || output == "" {
		return errors.New("--program, --arch, --version and --output are needed")
	}
	image, err := build(program, arch, version)
	if err != nil {
		return fmt.Errorf("make the image: %w", err)
	}
	digest, err := write(image, version, output)
	if err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	fmt.Printf("%s: kubectl-imoocpod:%s (linux/%s) %s\n", output, version, arch, digest)
	return nil
}

// build builds a reproducible image, without timestamps or local paths.
func build(program, arch, version string) (v1.Image, error) {
	layer, err := layerOf(program)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.AppendLayers(image, layer); err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", arch
	file.Config = v1.Config{
		User:       nobody,
		Entrypoint: []string{"/" + filepath.Base(program)},
		Labels: map[string]string{
			"org.opencontainers.image.title":   filepath.Base(program),
			"org.opencontainers.image.version": version,
			"org.opencontainers.image.source":  "https://github.com/imoocpod/kubectl-imoocpod",
		},
	}
	return mutate.ConfigFile(image, file)
}

// layerOf returns a layer with a single file. All users may execute the file, but not write it.
func layerOf(program string) (v1.Layer, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	header := &tar.Header{Typeflag: tar.TypeReg, Name: filepath.Base(program), Mode: 0o555, Size: int64(len(content))}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(archive.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// write writes an image layout with one image to a new directory, and returns the image's digest.
func write(image v1.Image, tag, dir string) (v1.Hash, error) {
	digest, err := image.Digest()
	if err != nil {
		return digest, err
	}
	to, err := layout.Write(dir, empty.Index)
	if err != nil {
		return digest, err
	}
	return digest, to.AppendImage(image, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tag}))
}
