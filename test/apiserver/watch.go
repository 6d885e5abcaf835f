package apiserver

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// stream is an open watch.
type stream struct {
	request Request
	selects func(*unstructured.Unstructured) bool
	to      http.ResponseWriter
	// since is the revision up to which all changes were sent.
	since     int
	bookmarks bool
	// end is closed to end the watch.
	end chan struct{}
}

// watch sends the initial objects, and then all changes until one side ends the watch.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, q Request) error {
	selects, err := q.selector()
	if err != nil {
		return err
	}
	ctx := r.Context()
	if seconds, err := strconv.Atoi(q.Query.Get("timeoutSeconds")); err == nil && seconds > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
		defer cancel()
	}
	st := &stream{request: q, selects: selects, to: w, bookmarks: q.Query.Get("allowWatchBookmarks") == "true", end: make(chan struct{})}
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
		st.tell(watch.Added, obj)
	}
	if q.Query.Get("sendInitialEvents") == "true" {
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

// follow sends changes as they occur, until ctx is done or the server ends the watch.
func (s *Server) follow(ctx context.Context, st *stream) {
	for {
		s.mu.Lock()
		changed, news := s.changed, s.history[st.since-1:]
		s.mu.Unlock()
		told := false
		for _, c := range news {
			told = st.tellChange(c)
			st.since = c.revision
		}
		if len(news) > 0 && !told && st.bookmarks {
			st.bookmark(nil)
		}
		select {
		case <-changed:
		case <-st.end:
			return
		case <-ctx.Done():
			return
		}
	}
}

// tellChange sends a change of a selected object, and reports whether it did. An object
// that is no longer selected is sent as deleted.
func (st *stream) tellChange(c Change) bool {
	if c.Resource != st.request.resource.gr() {
		return false
	}
	before, after := c.Before != nil && st.selects(c.Before), c.After != nil && st.selects(c.After)
	switch {
	case before && after:
		st.tell(watch.Modified, c.After)
	case after:
		st.tell(watch.Added, c.After)
	case before:
		st.tell(watch.Deleted, c.Object())
	}
	return before || after
}

func (st *stream) tell(kind watch.EventType, obj *unstructured.Unstructured) {
	_ = json.NewEncoder(st.to).Encode(map[string]any{"type": kind, "object": st.request.view(obj).Object})
	if flusher, ok := st.to.(http.Flusher); ok {
		flusher.Flush()
	}
}

// bookmark sends a bookmark event with the revision of the stream.
func (st *stream) bookmark(annotations map[string]any) {
	metadata := map[string]any{"resourceVersion": strconv.Itoa(st.since)}
	if annotations != nil {
		metadata["annotations"] = annotations
	}
	st.tell(watch.Bookmark, &unstructured.Unstructured{Object: map[string]any{"kind": st.request.resource.kind, "metadata": metadata}})
}

// EndWatches ends all watches.
func (s *Server) EndWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for st := range s.streams {
		close(st.end)
	}
	clear(s.streams)
}
