package apiserver

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// stream is an open watch.
type stream struct {
	request Request
	selects func(*unstructured.Unstructured) bool
	to      io.Writer
	// since is the last revision that the stream has handled.
	since     int
	bookmarks bool
	// end receives the error that ends the watch. A nil error closes the watch without an event.
	end chan error
}

// watch sends the initial objects, if any, and then the changes of selected objects until one side ends the watch.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, request Request) error {
	selects, err := request.selector()
	if err != nil {
		return err
	}
	ctx := r.Context()
	if seconds, err := strconv.Atoi(request.Query.Get("timeoutSeconds")); err == nil && seconds > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
		defer cancel()
	}
	st := &stream{request: request, selects: selects, to: w, bookmarks: request.Query.Get("allowWatchBookmarks") == "true", end: make(chan error, 1)}
	s.mu.Lock()
	initial, err := s.begin(st)
	if err == nil {
		s.streams[st] = true
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.streams, st)
	}()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	for _, obj := range initial {
		st.sendObject(watch.Added, obj)
	}
	if request.Query.Get("sendInitialEvents") == "true" {
		st.bookmark(map[string]any{metav1.InitialEventsAnnotationKey: "true"})
	}
	s.follow(ctx, st)
	return nil
}

// begin sets st.since, and returns the objects to send first.
func (s *Server) begin(st *stream) ([]*unstructured.Unstructured, error) {
	since := st.request.Query.Get("resourceVersion")
	if err := s.knows(since); err != nil {
		return nil, err
	}
	if st.request.Query.Get("sendInitialEvents") != "true" && since != "" && since != "0" {
		st.since, _ = strconv.Atoi(since)
		if st.since < s.compacted {
			return nil, errExpired()
		}
		return nil, nil
	}
	st.since = s.revision()
	var initial []*unstructured.Unstructured
	for _, obj := range s.all(st.request.resource.gr(), "") {
		if st.selects(obj) {
			initial = append(initial, obj)
		}
	}
	return initial, nil
}

func errExpired() error { return apierrors.NewResourceExpired("too old resource version") }

// follow sends changes until ctx is done or the server ends the watch.
func (s *Server) follow(ctx context.Context, st *stream) {
	for {
		s.mu.Lock()
		changed := s.changed
		var news []Change
		if !s.closed && !slices.Contains(s.stalled, st.request.Resource) {
			news = s.history[st.since-1:]
		}
		s.mu.Unlock()
		told := false
		for _, c := range news {
			told = st.sendChange(c)
			st.since = c.revision
		}
		if len(news) > 0 && !told && st.bookmarks {
			st.bookmark(nil)
		}
		select {
		case <-changed:
		case err := <-st.end:
			if err != nil {
				st.send(watch.Error, statusOf(err))
			}
			return
		case <-ctx.Done():
			return
		}
	}
}

// sendChange sends a change of a selected object, and reports whether it did. If the object is no
// longer selected, sendChange sends it as deleted.
func (st *stream) sendChange(c Change) bool {
	if c.Resource != st.request.resource.gr() {
		return false
	}
	before, after := c.Before != nil && st.selects(c.Before), c.After != nil && st.selects(c.After)
	switch {
	case before && after:
		st.sendObject(watch.Modified, c.After)
	case after:
		st.sendObject(watch.Added, c.After)
	case before:
		st.sendObject(watch.Deleted, c.Object())
	}
	return before || after
}

func (st *stream) sendObject(kind watch.EventType, obj *unstructured.Unstructured) {
	st.send(kind, st.request.view(obj).Object)
}

// bookmark sends a bookmark event with the revision of the stream.
func (st *stream) bookmark(annotations map[string]any) {
	metadata := map[string]any{"resourceVersion": strconv.Itoa(st.since)}
	if annotations != nil {
		metadata["annotations"] = annotations
	}
	st.sendObject(watch.Bookmark, &unstructured.Unstructured{Object: map[string]any{"kind": st.request.resource.kind, "metadata": metadata}})
}

func (st *stream) send(kind watch.EventType, object any) {
	_ = json.NewEncoder(st.to).Encode(map[string]any{"type": kind, "object": object})
}

// EndWatches ends the watches of a resource, such as "pods", or all watches if resource is empty. Each watch sends a
// non-nil error as its last event.
func (s *Server) EndWatches(resource string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for st := range s.streams {
		if resource == "" || st.request.Resource == resource {
			st.end <- err
			delete(s.streams, st)
		}
	}
}

// Expire expires all revisions so far. Clients that watch from an expired revision or continue a
// list get 410 Gone. Open watches end with this error.
func (s *Server) Expire() {
	s.mu.Lock()
	// Add an empty change to expire the latest revision, too.
	s.history = append(s.history, Change{revision: s.revision() + 1})
	s.compacted = s.revision()
	clear(s.pages)
	s.mu.Unlock()
	s.EndWatches("", errExpired())
}

// Stall holds back the events of the given resources until the next call of Stall.
func (s *Server) Stall(resources ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalled = resources
	close(s.changed)
	s.changed = make(chan struct{})
}
