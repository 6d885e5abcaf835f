package node

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// registry is a read-only registry of the images in a directory (OCI distribution specification).
// Images that are added to the directory are available immediately.
type registry struct {
	dir string
}

func (r registry) serve(address string) error {
	server := http.Server{Addr: address, Handler: r, ReadHeaderTimeout: time.Minute}
	return server.ListenAndServe()
}

var (
	repositoryPath = regexp.MustCompile(`^/v2/([a-z0-9][a-z0-9._/-]*)/(manifests|blobs)/([A-Za-z0-9._:-]+)$`)
	digestPattern  = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// ServeHTTP implements http.Handler.
func (r registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.URL.Path == "/v2/" {
		return
	}
	match := repositoryPath.FindStringSubmatch(request.URL.Path)
	if match == nil || strings.Contains(request.URL.Path, "..") {
		http.NotFound(w, request)
		return
	}
	digest, mediaType, data, err := r.find(match[1], match[2], match[3])
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprint(w, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`)
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Docker-Content-Digest", digest)
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	if request.Method != http.MethodHead {
		_, _ = w.Write(data)
	}
}

// find returns a manifest by its tag, or a manifest or blob by its digest. If it does not exist,
// find returns fs.ErrNotExist.
func (r registry) find(repository, what, reference string) (digest, mediaType string, data []byte, err error) {
	dir := filepath.Join(r.dir, filepath.FromSlash(repository))
	if !digestPattern.MatchString(reference) {
		digest, data, err = manifestOf(filepath.Join(dir, reference), reference)
		return digest, manifestType, data, err
	}
	tags, err := os.ReadDir(dir)
	if err != nil {
		return "", "", nil, err
	}
	mediaType = "application/octet-stream"
	if what == "manifests" {
		mediaType = manifestType
	}
	for _, tag := range tags {
		data, err = os.ReadFile(blobPath(filepath.Join(dir, tag.Name()), reference))
		if err == nil {
			return reference, mediaType, data, nil
		}
	}
	return "", "", nil, fs.ErrNotExist
}
