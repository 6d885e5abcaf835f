package apiserver

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// stream is a watch that goes on.
type stream struct {
	request Request
	selects func(*unstructured.Unstructured) bool
	to      http.ResponseWriter
	// since is the revision up to which it has told everything.
	since     int
	bookmarks bool
	// end takes the error that it ends with, nil for an end without a word.
	end chan error
}

// watch answers with all changes after a revision, until the client ends it.
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
	st := &stream{request: q, selects: selects, to: w, bookmarks: q.Query.Get("allowWatchBookmarks") == "true", end: make(chan error, 1)}
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

// begin finds where a watch begins, and the objects that it tells of first.
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

// follow tells of changes as they come.
func (s *Server) follow(ctx context.Context, st *stream) {
	for {
		s.mu.Lock()
		changed := s.changed
		var news []Change
		if !slices.Contains(s.stalled, st.request.Resource) {
			news = s.history[st.since-1:]
		}
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

// tellChange tells of a change if it is one of the objects that are selected: one that is
// selected no more is deleted for this watch.
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
	st.send(kind, st.request.view(obj).Object)
}

// bookmark tells the revision up to which the watch is.
func (st *stream) bookmark(annotations map[string]any) {
	metadata := map[string]any{"resourceVersion": strconv.Itoa(st.since)}
	if annotations != nil {
		metadata["annotations"] = annotations
	}
	st.tell(watch.Bookmark, &unstructured.Unstructured{Object: map[string]any{"kind": st.request.resource.kind, "metadata": metadata}})
}

func (st *stream) send(kind watch.EventType, object any) {
	_ = json.NewEncoder(st.to).Encode(map[string]any{"type": kind, "object": object})
	if flusher, ok := st.to.(http.Flusher); ok {
		flusher.Flush()
	}
}

// EndWatches ends the watches of a resource, such as "pods", or all of them where that is
// empty: with an error as the last event, or without a word where that is nil.
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

// Expire forgets all changes up to now: who lists on or watches from before starts anew.
// Watches that go on are ended with 410 Gone.
func (s *Server) Expire() {
	s.mu.Lock()
	// A revision is only newer than another one if something has changed in between.
	s.history = append(s.history, Change{revision: s.revision() + 1})
	s.compacted = s.revision()
	clear(s.pages)
	s.mu.Unlock()
	s.EndWatches("", errExpired())
}

// Stall has the watches of some resources say nothing, until it is called again with
// others, or none.
func (s *Server) Stall(resources ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalled = resources
	close(s.changed)
	s.changed = make(chan struct{})
}

// Watches counts the watches of a resource that go on.
func (s *Server) Watches(resource string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for st := range s.streams {
		if st.request.Resource == resource {
			n++
		}
	}
	return n
}
