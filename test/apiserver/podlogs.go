package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// logLine is a line that a container has written.
type logLine struct {
	at   time.Time
	text string
}

// Log has a container of a pod write lines now.
func (s *Server) Log(namespace, pod, container string, lines ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := logKey(namespace, pod, container)
	for _, line := range lines {
		s.logs[key] = append(s.logs[key], logLine{time.Now(), line})
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func logKey(namespace, pod, container string) string {
	return namespace + "/" + pod + "/" + container
}

// serveLog answers with the log of a container, and what comes until the pod is gone where
// the request follows it.
func (s *Server) serveLog(w http.ResponseWriter, r *http.Request, q Request) error {
	s.mu.Lock()
	pod := s.objects[q.resource.gr()][q.Namespace+"/"+q.Name]
	s.mu.Unlock()
	if pod == nil {
		return apierrors.NewNotFound(q.resource.gr(), q.Name)
	}
	container, err := containerOf(pod, q.Query.Get("container"))
	if err != nil {
		return err
	}
	key := logKey(q.Namespace, q.Name, container)
	s.mu.Lock()
	begin := s.firstLine(key, q)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusOK)
	s.followLog(r.Context(), w, q, key, begin)
	return nil
}

// containerOf is the container whose log is asked for.
func containerOf(pod *unstructured.Unstructured, name string) (string, error) {
	containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
	if initial, _, _ := unstructured.NestedSlice(pod.Object, "spec", "initContainers"); name != "" {
		containers = append(containers, initial...)
	}
	for _, c := range containers {
		c, _ := c.(map[string]any)
		if is, _ := c["name"].(string); name == is || name == "" && len(containers) == 1 {
			return is, nil
		}
	}
	if name == "" {
		return "", apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s", pod.GetName()))
	}
	return "", apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, pod.GetName()))
}

// firstLine is the number of the first line that a request asks for.
func (s *Server) firstLine(key string, q Request) int {
	lines, begin := s.logs[key], 0
	if tail, err := strconv.Atoi(q.Query.Get("tailLines")); err == nil && tail < len(lines) {
		begin = len(lines) - tail
	}
	since, err := time.Parse(time.RFC3339, q.Query.Get("sinceTime"))
	if seconds, wrong := strconv.Atoi(q.Query.Get("sinceSeconds")); wrong == nil {
		since, err = time.Now().Add(-time.Duration(seconds)*time.Second), nil
	}
	for err == nil && begin < len(lines) && lines[begin].at.Before(since) {
		begin++
	}
	return begin
}

// followLog writes the lines from a number on.
func (s *Server) followLog(ctx context.Context, w http.ResponseWriter, q Request, key string, from int) {
	for {
		s.mu.Lock()
		changed, lines := s.changed, s.logs[key][from:]
		gone := s.objects[q.resource.gr()][q.Namespace+"/"+q.Name] == nil
		s.mu.Unlock()
		for _, line := range lines {
			if q.Query.Get("timestamps") == "true" {
				_, _ = fmt.Fprintf(w, "%s ", line.at.UTC().Format(time.RFC3339Nano))
			}
			_, _ = fmt.Fprintln(w, line.text)
		}
		from += len(lines)
		if gone || q.Query.Get("follow") != "true" {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
