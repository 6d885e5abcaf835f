package node

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseName(t *testing.T) {
	for name, want := range map[string]string{
		"busybox":                               "library/busybox/latest",
		"nginx:stable-alpine3.17":               "library/nginx/stable-alpine3.17",
		"docker.io/library/busybox:1":           "library/busybox/1",
		"localhost/a/b:c":                       "a/b/c",
		"ghcr.io/imoocpod/kubectl-imoocpod:dev": "imoocpod/kubectl-imoocpod/dev",
		"imoocpod/kubectl-imoocpod":             "imoocpod/kubectl-imoocpod/latest",
		"127.0.0.1:5000/a/b":                    "a/b/latest",
	} {
		if repository, tag := parseName(name); repository+"/"+tag != want {
			t.Errorf("parseName(%q) = %q, %q, want %s", name, repository, tag, want)
		}
	}
}

// TestRegistry checks that the registry serves images by tag and by digest, and returns 404 for unknown paths.
func TestRegistry(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, ContainerProgram), []byte("the program"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := MakeImages(dir, bin); err != nil {
		t.Fatal(err)
	}
	layout := t.TempDir()
	addLayout(t, layout, dir)
	if err := AddImage(dir, "example.com/team/copy:v1", layout); err != nil {
		t.Fatal(err)
	}
	if err := AddImage(dir, "example.com/team/none:v1", t.TempDir()); err == nil {
		t.Error("AddImage accepted a directory without an image")
	}
	server := httptest.NewServer(registry{dir})
	defer server.Close()
	get := func(path string) (int, string, string) {
		t.Helper()
		response, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		data, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, response.Header.Get("Docker-Content-Digest"), string(data)
	}
	for _, path := range []string{"/v2/library/busybox/", "/v2/team/copy/"} {
		tag := "latest"
		if strings.Contains(path, "copy") {
			tag = "v1"
		}
		code, digest, manifest := get(path + "manifests/" + tag)
		if code != http.StatusOK || !strings.Contains(manifest, layerType) {
			t.Fatalf("manifest of %s: got status %d, want 200; body %s", path, code, manifest)
		}
		if code, _, again := get(path + "manifests/" + digest); code != http.StatusOK || again != manifest {
			t.Errorf("manifest of %s by its digest: got status %d, want 200 and the same manifest; body %s", path, code, again)
		}
		_, layer, _ := strings.Cut(manifest, layerType+`","digest":"`)
		if code, _, blob := get(path + "blobs/" + layer[:71]); code != http.StatusOK || !strings.Contains(blob, "the program") {
			t.Errorf("layer of %s: got status %d, want 200 and the program", path, code)
		}
	}
	for _, path := range []string{
		"/v2/library/nosuch/manifests/latest", "/v2/library/busybox/manifests/v9", "/v2/library/busybox/blobs/sha256:" + strings.Repeat("0", 64),
		"/v2/../manifests/latest", "/", "/v2/library/busybox/manifests/..",
	} {
		if code, _, _ := get(path); code != http.StatusNotFound {
			t.Errorf("%s: got status %d, want 404", path, code)
		}
	}
}

// addLayout writes an OCI image layout with the image busybox of a registry.
func addLayout(t *testing.T, layout, registry string) {
	t.Helper()
	manifest, err := filepath.EvalSymlinks(tagPath(registry, "library/busybox", "latest"))
	if err != nil {
		t.Fatal(err)
	}
	index := fmt.Sprintf(`{"manifests":[{"digest":"sha256:%s"}]}`, filepath.Base(manifest))
	if err := os.WriteFile(filepath.Join(layout, "index.json"), []byte(index), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(layout, "blobs", "sha256"), os.DirFS(filepath.Join(registry, "blobs"))); err != nil {
		t.Fatal(err)
	}
}

// TestRelay checks that a relay forwards data and EOF in both directions.
func TestRelay(t *testing.T) {
	far, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	go func() {
		connection, err := far.Accept()
		if err != nil {
			return
		}
		defer func() { _ = connection.Close() }()
		question, err := io.ReadAll(connection) // until the client closes its write side
		if err == nil {
			_, _ = connection.Write(bytes.ToUpper(question))
		}
	}()
	socket := filepath.Join(t.TempDir(), "s")
	if err := relay("unix", socket, "tcp", far.Addr().String()); err != nil {
		t.Fatal(err)
	}
	near, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = near.Close() }()
	if _, err := near.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := near.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(near); err != nil || string(answer) != "HELLO" {
		t.Errorf("answer through the relay = %q, error %v, want HELLO", answer, err)
	}
}
