package main

import (
	"archive/tar"
	"debug/elf"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// TestImage checks that the image contains only the program, that it runs the program as nobody,
// and that the program needs no other files. The program is built as in the Dockerfile.
func TestImage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "kubectl-imoocpod")
	buildAsDockerfile(t, program)
	output := filepath.Join(dir, "image")
	if err := run(program, runtime.GOARCH, "v1.2.3-test", output); err != nil {
		t.Fatal(err)
	}
	image := read(t, output)

	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != runtime.GOARCH {
		t.Errorf("the image is for %s/%s, want linux/%s", config.OS, config.Architecture, runtime.GOARCH)
	}
	c := config.Config
	if c.User != "65532:65532" || !reflect.DeepEqual(c.Entrypoint, []string{"/kubectl-imoocpod"}) || len(c.Cmd)+len(c.Env) > 0 || c.WorkingDir != "" {
		t.Errorf("the image runs %q %q as user %q in directory %q with environment %q", c.Entrypoint, c.Cmd, c.User, c.WorkingDir, c.Env)
	}
	if version := c.Labels["org.opencontainers.image.version"]; version != "v1.2.3-test" {
		t.Errorf("version label = %q, want v1.2.3-test", version)
	}

	unpacked := unpack(t, image)
	file, err := elf.Open(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			t.Error("the program is not statically linked: it needs a dynamic loader")
		}
	}
	version := exec.Command(unpacked, "version", "--client")
	version.Env, version.Dir = []string{}, "/"
	if out, err := version.CombinedOutput(); err != nil || string(out) != "Client Version: v1.2.3-test\n" {
		t.Errorf("version --client of the program in the image: output %q, error %v", out, err)
	}

	// A second build must make an identical image.
	before, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	output = filepath.Join(dir, "again")
	if err := run(program, runtime.GOARCH, "v1.2.3-test", output); err != nil {
		t.Fatal(err)
	}
	if after, err := read(t, output).Digest(); err != nil || after != before {
		t.Errorf("digest of a second build = %s, want %s (error %v)", after, before, err)
	}
}

// buildAsDockerfile copies the same files and runs the same build as the first stage of the Dockerfile.
func buildAsDockerfile(t *testing.T, program string) {
	t.Helper()
	content, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	stage, _, _ := strings.Cut(strings.ReplaceAll(string(content), "\\\n", ""), "FROM scratch")
	source := t.TempDir()
	for line := range strings.Lines(stage) {
		var command *exec.Cmd
		switch words := strings.Fields(line); {
		case strings.HasPrefix(line, "COPY "):
			last := len(words) - 1
			command = exec.Command("cp", append(append([]string{"-r"}, words[1:last]...), filepath.Join(source, words[last]))...)
			command.Dir = "../.."
		case strings.Contains(line, "go build"):
			command = exec.Command("sh", "-c", strings.ReplaceAll(strings.TrimPrefix(line, "RUN "), "-o /kubectl-imoocpod", "-o "+program))
			command.Dir, command.Env = source, append(os.Environ(), "GOFLAGS=", "GOWORK=off", "TARGETOS=linux", "TARGETARCH="+runtime.GOARCH, "VERSION=v1.2.3-test")
		default:
			continue
		}
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("line %q of the Dockerfile failed: %v\n%s", line, err, out)
		}
	}
}

// read returns the single image of a layout.
func read(t *testing.T, dir string) v1.Image {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "v1.2.3-test" {
		t.Fatalf("manifests of the layout: %+v, want one, for v1.2.3-test", manifest.Manifests)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// unpack unpacks the single file of an image, and returns its path.
func unpack(t *testing.T, image v1.Image) string {
	t.Helper()
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("the image has %d layers, want 1 (error %v)", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	archive := tar.NewReader(content)
	header, err := archive.Next()
	if err != nil {
		t.Fatal(err)
	}
	if header.Name != "kubectl-imoocpod" || header.Mode != 0o555 {
		t.Errorf("file in the image: %s with mode %o, want kubectl-imoocpod with mode 555", header.Name, header.Mode)
	}
	path := filepath.Join(t.TempDir(), "unpacked")
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o555)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, archive); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if header, err := archive.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("the image contains another file: %+v (error %v)", header, err)
	}
	return path
}

// TestDockerfileMatchesImage checks that the Dockerfile and the Deployment run the program in the same
// way as the image that this command builds.
func TestDockerfileMatchesImage(t *testing.T) {
	t.Parallel()
	for file, patterns := range map[string][]string{
		"../../Dockerfile":                        {`(?m)^FROM scratch\nCOPY --from=build /kubectl-imoocpod /kubectl-imoocpod$`, `(?m)^USER 65532:65532$`, `(?m)^ENTRYPOINT \["/kubectl-imoocpod"\]$`, `CGO_ENABLED=0`},
		"../../deploy/controller/deployment.yaml": {`runAsUser: 65532\n`, `runAsGroup: 65532\n`},
	} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, pattern := range patterns {
			if !regexp.MustCompile(pattern).Match(content) {
				t.Errorf("%s does not match %s", file, pattern)
			}
		}
	}
}
