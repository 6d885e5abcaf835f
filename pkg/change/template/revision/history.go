package revision

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// mostRevisions limits a history to the newest revisions. Controllers usually keep ten.
const mostRevisions = 1000

// History contains the revisions of an object, newest first, and its current fields.
type History struct {
	Revisions []Revision
	// Now contains the object's current values of the fields in the revisions.
	Now []Field
}

// NewHistory sorts revisions into a history. by and cause are the object's annotations about the last change.
func NewHistory(all []Revision, now []Field, by, cause string) History {
	h := History{slices.Clone(all), now}
	slices.SortFunc(h.Revisions, func(a, b Revision) int {
		return cmp.Or(cmp.Compare(b.Number, a.Number), cmp.Compare(a.Name, b.Name))
	})
	h.Revisions = h.Revisions[:min(len(h.Revisions), mostRevisions)]
	for i := len(h.Revisions) - 2; i >= 0; i-- {
		if r, before := &h.Revisions[i], h.Revisions[i+1]; r.Created.Before(before.Created) && r.numbered.After(r.Created) {
			r.Created = r.numbered // an old ReplicaSet is reused
		}
	}
	// A controller that reuses an old revision under a new number keeps the old annotations.
	if i := h.Current(); i >= 0 && (cause != "" || by != "") {
		h.Revisions[i].By, h.Revisions[i].Cause = by, cause
	}
	return h
}

// Current returns the index of the newest revision with the current fields, or -1 if there is none yet.
func (h History) Current() int {
	return slices.IndexFunc(h.Revisions, func(r Revision) bool { return Same(r.Fields, h.Now) })
}

// Change describes the change that made a revision: the difference from the previous revision, and the cause if it adds
// information. If the previous revision is unknown, it returns the cause or, if there is none, a summary.
func (h History) Change(i int) string {
	r, before := h.Revisions[i], h.before(i)
	if before == nil {
		return cmp.Or(r.Cause, Summary(r.Fields))
	}
	switch changed := Change(before.Fields, r.Fields); {
	case h.stale(i) || strings.Contains(changed, r.Cause):
		return changed
	case strings.HasPrefix(r.Cause, changed): // for example "… (undo to 2)"
		return r.Cause
	default:
		return changed + ": " + r.Cause
	}
}

// By returns the user who made a revision, or "" if the user is unknown.
func (h History) By(i int) string {
	if h.stale(i) {
		return ""
	}
	return h.Revisions[i].By
}

// stale reports whether the annotations of a revision belong to an earlier change. Some tools do not update them.
func (h History) stale(i int) bool {
	r, before := h.Revisions[i], h.before(i)
	return before != nil && r.Cause != "" && r.Cause == before.Cause && r.By == before.By && !strings.HasPrefix(r.Cause, Change(before.Fields, r.Fields))
}

// before returns the revision that the object had before Revisions[i], or nil if it is unknown. If the
// object has returned to the earlier revision since, the earlier revision now has a higher number.
func (h History) before(i int) *Revision {
	r := h.Revisions[i]
	number := strconv.FormatInt(r.Number-1, 10)
	last := func(other Revision) bool { return other.Number == r.Number-1 || slices.Contains(other.earlier, number) }
	reused := func(other Revision) bool { return other.Number > r.Number && other.first.Before(r.first) }
	for _, is := range []func(Revision) bool{last, reused} {
		if j := slices.IndexFunc(h.Revisions, is); j >= 0 && !slices.ContainsFunc(h.Revisions[j+1:], is) {
			return &h.Revisions[j]
		}
	}
	return nil
}

// Pick returns the revision with the given number. For number 0, it returns the newest revision that is not current.
func (h History) Pick(number int64) (Revision, error) {
	known := make([]string, 0, len(h.Revisions))
	for _, r := range h.Revisions {
		known = append(known, strconv.FormatInt(r.Number, 10))
		if number == 0 && !Same(r.Fields, h.Now) || number != 0 && r.Number == number {
			return r, nil
		}
	}
	if number == 0 {
		return Revision{}, errors.New("it has no earlier revision")
	}
	return Revision{}, fmt.Errorf("unable to find revision %d in its history: it has %s", number, strings.Join(known, ", "))
}

// lacks reports whether a revision has no field with the path and the value of f.
func (r Revision) lacks(f Field) bool {
	return !slices.ContainsFunc(r.Fields, func(own Field) bool { return Same([]Field{f}, []Field{own}) })
}

// Find returns the newest revision with all given fields, or false if there is none or if no fields are given.
func (h History) Find(fields []Field) (Revision, bool) {
	i := slices.IndexFunc(h.Revisions, func(r Revision) bool { return !slices.ContainsFunc(fields, r.lacks) })
	if i < 0 || len(fields) == 0 {
		return Revision{}, false
	}
	return h.Revisions[i], true
}

// RolledOutBefore returns the number of the oldest revision before newer that still has pods. Such pods mean that the
// rollout of newer never completed. Without such pods, it is unknown whether the rollout completed, because the status
// describes only the current revision. pods contains the labels of each pod that a rollout would replace.
func (h History) RolledOutBefore(newer Revision, pods []map[string]string) (older int64, found bool) {
	for _, r := range slices.Backward(h.Revisions) {
		if r.Number < newer.Number && slices.ContainsFunc(pods, r.Made) {
			return r.Number, true
		}
	}
	return 0, false
}
