package node

import (
	"net/http"
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
	repository, what, reference := match[1], match[2], match[3]
	path := tagPath(r.dir, repository, reference)
	if digestPattern.MatchString(reference) {
		path = blobPath(r.dir, reference)
	}
	blob, err := filepath.EvalSymlinks(path)
	if err != nil {
		http.NotFound(w, request)
		return
	}
	if what == "manifests" {
		w.Header().Set("Content-Type", manifestType)
	}
	w.Header().Set("Docker-Content-Digest", "sha256:"+filepath.Base(blob))
	http.ServeFile(w, request, blob)
}
