package controller

import (
	"errors"
	"slices"
	"strings"
	"sync"
)

// preflight collects what the first look for each kind found, so that a start
// says in one line what is not installed, and not in one for each.
type preflight struct {
	mu      sync.Mutex
	kinds   int // how many there are
	answers int // of how many it is known
	missing []string
	denied  []error
}

// answer takes what was found of one kind: whether its CRD is not installed, and
// the error where rights are missing. When that was the last kind, it returns
// those that are not installed; where no kind may be read, that is an error.
func (r *preflight) answer(crd string, missing bool, denied error) (notInstalled []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if missing {
		r.missing = append(r.missing, crd)
	}
	if denied != nil {
		r.denied = append(r.denied, denied)
	}
	r.answers++
	switch {
	case r.answers < r.kinds:
		return nil, nil
	case len(r.denied) == r.kinds:
		return nil, errors.Join(r.denied...)
	}
	slices.Sort(r.missing)
	return r.missing, nil
}

// logNotInstalled says which CRDs are not, and what helps.
func (f *follower) logNotInstalled(crds ...string) {
	switch len(crds) {
	case 0:
	case 1:
		f.report.Logf("%s is not installed: run \"%s\"; waiting until it is installed", crds[0], f.Install)
	default:
		f.report.Logf("%s are not installed: run \"%s\"; waiting until they are installed", strings.Join(crds, ", "), f.Install)
	}
}
