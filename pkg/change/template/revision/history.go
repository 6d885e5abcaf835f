package revision

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// History are the revisions of an object, the newest first, and the fields that it has
// now.
type History struct {
	Revisions []Revision
	// Now are the fields of the object, at the paths of the revisions.
	Now []Field
}

// NewHistory puts revisions in order. by and cause are what the object itself says of its
// last change.
func NewHistory(all []Revision, now []Field, by, cause string) History {
	h := History{slices.Clone(all), now}
	slices.SortFunc(h.Revisions, func(a, b Revision) int {
		return cmp.Or(cmp.Compare(b.Number, a.Number), cmp.Compare(a.Name, b.Name))
	})
	// A controller that gives an old revision a new number keeps its annotations.
	if i := h.Current(); i >= 0 && (cause != "" || by != "") {
		h.Revisions[i].By, h.Revisions[i].Cause = by, cause
	}
	return h
}

// Current is the index of the revision that the object has now, -1 if it has none of
// them: then its controller has not seen the last change yet.
func (h History) Current() int {
	return slices.IndexFunc(h.Revisions, func(r Revision) bool { return Same(r.Fields, h.Now) })
}

// Change is what a revision changed of the one before it: the cause that somebody gave,
// or else what differs. Of the oldest that is kept, it is what that is made from.
func (h History) Change(i int) string {
	r := h.Revisions[i]
	if i+1 == len(h.Revisions) {
		return cmp.Or(r.Cause, Summary(r.Fields))
	}
	changed := Change(h.Revisions[i+1].Fields, r.Fields)
	if r.Cause == "" || h.stale(i) {
		return changed
	}
	return r.Cause
}

// By is who made a revision, "" if that is not known.
func (h History) By(i int) string {
	if h.stale(i) {
		return ""
	}
	return h.Revisions[i].By
}

// stale reports whether the annotations of a revision are of an earlier change: who
// changes an object with a tool that does not know them leaves them as they are.
func (h History) stale(i int) bool {
	if i+1 >= len(h.Revisions) {
		return false
	}
	r, before := h.Revisions[i], h.Revisions[i+1]
	return r.Cause != "" && r.Cause == before.Cause && r.By == before.By && r.Cause != Change(before.Fields, r.Fields)
}

// NoRevisionError says that a history has no revision to return to.
type NoRevisionError struct {
	// Number is the one that was asked for; 0 means any but the current one.
	Number int64
	// Known are the numbers of those that there are, the newest first.
	Known []int64
}

func (e *NoRevisionError) Error() string {
	if e.Number == 0 {
		return "it has no earlier revision"
	}
	var words []string
	for _, n := range e.Known {
		words = append(words, strconv.FormatInt(n, 10))
	}
	return fmt.Sprintf("unable to find revision %d in its history: it has %s", e.Number, strings.Join(words, ", "))
}

// Pick is the revision to return to: the one with the number, or for 0 the newest that
// the object does not have now.
func (h History) Pick(number int64) (Revision, error) {
	known := make([]int64, 0, len(h.Revisions))
	for _, r := range h.Revisions {
		known = append(known, r.Number)
		if number == 0 && !Same(r.Fields, h.Now) || number != 0 && r.Number == number {
			return r, nil
		}
	}
	return Revision{}, &NoRevisionError{number, known}
}

// Find is the revision of some fields, and whether there is one.
func (h History) Find(fields []Field) (Revision, bool) {
	i := slices.IndexFunc(h.Revisions, func(r Revision) bool { return Same(r.Fields, fields) })
	if i < 0 {
		return Revision{}, false
	}
	return h.Revisions[i], true
}
