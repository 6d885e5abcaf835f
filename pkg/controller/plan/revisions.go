package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// Revision is a ControllerRevision that the owner controls: a template that it had.
type Revision struct {
	Name            string
	UID             types.UID
	ResourceVersion string
	// Template is the hash of the template that it keeps, as its name tells it; "" for
	// one that somebody else made.
	Template string
	// Number is its place in the history: the highest is the newest.
	Number int64
}

// History is what a plan wants done with the revisions of an owner.
type History struct {
	// Number is the one that the revision of the owner's template is to have; 0: it
	// stays as it is.
	Number int64
	// Existing is the revision that gets the number; nil: there is none of that template,
	// and one is created.
	Existing *Revision
	// Delete lists those that are too old to be kept, oldest first.
	Delete []Revision
}

// Writes reports whether anything is to be done.
func (h History) Writes() bool { return h.Number > 0 || len(h.Delete) > 0 }

// Unrecorded is a template whose revision the server refused, and the generation of
// the owner that had it.
type Unrecorded struct {
	Template   string
	Generation int64
}

// templateHashLength is how many hexadecimal digits a template's hash has.
const templateHashLength = 16

// RevisionName is the one name of the revision of a template. It is a function of the
// owner's UID and the hash of the template, so that a create that is repeated after a
// crash or by a second loop meets AlreadyExists instead of making a second revision,
// and an owner recreated under its old name never meets the history of the first.
func RevisionName(owner string, uid types.UID, template string) string {
	return slots.ChildName(owner, uid, template, templateHashLength)
}

// RevisionTemplate returns the hash of the template that a revision's name stands for,
// "" for a name that RevisionName does not give for this owner.
func RevisionTemplate(revision, owner string, uid types.UID) string {
	hash := revision[strings.LastIndexByte(revision, '-')+1:]
	if len(hash) != templateHashLength || RevisionName(owner, uid, hash) != revision {
		return ""
	}
	return hash
}

// Revisions plans the history of an owner's templates.
//
//   - The template that the owner has now is that of the newest revision. An older
//     revision of the same template gets the next number, as that of a StatefulSet does.
//   - Beside that one and those of which there are pods, HistoryLimit revisions are kept,
//     the newest.
//   - What the server refused is not tried again before the owner changes.
//   - Revisions that somebody else made are counted and left alone.
//   - An owner that is being deleted or paused, or of which no pods can be made, gets none.
func Revisions(v View) History {
	o := v.Owner
	if !v.HistoryKnown || o.Deleting || v.Paused() || o.Invalid != "" || o.Problem != "" || o.TemplateHash == "" {
		return History{}
	}
	if v.Memory.Unrecorded == (Unrecorded{Template: o.TemplateHash, Generation: o.Generation}) {
		return History{}
	}
	var h History
	var current *Revision
	newest := int64(0) // of the others
	for i, r := range v.Revisions {
		if r.Template == o.TemplateHash {
			current = &v.Revisions[i]
			continue
		}
		newest = max(newest, r.Number)
	}
	if current == nil || current.Number <= newest {
		h.Number, h.Existing = newest+1, current
	}
	h.Delete = v.surplusRevisions()
	return h
}

// surplusRevisions lists the revisions that are too many, oldest first.
func (v View) surplusRevisions() []Revision {
	if !v.templatesKnown() {
		return nil
	}
	running := map[string]bool{v.Owner.TemplateHash: true, "": true}
	for _, pod := range v.Pods {
		running[pod.Template] = true
	}
	var old []Revision
	for _, r := range v.Revisions {
		if !running[r.Template] {
			old = append(old, r)
		}
	}
	slices.SortFunc(old, func(a, b Revision) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Name, b.Name))
	})
	return old[:max(0, len(old)-v.Owner.HistoryLimit)]
}

// templatesKnown reports whether it is known from which templates the pods are made
// that there are. Those behind a Deployment do not say it: they are made from the
// present one when the Deployment has replaced all others.
func (v View) templatesKnown() bool {
	if v.Owner.Wanted.Name == "" {
		return true
	}
	others := slices.ContainsFunc(v.Deployments, func(d Deployment) bool {
		return d.Controller == v.Owner.UID && d.Name != v.Owner.Wanted.Name
	})
	return !others && available(ownDeployment(v), v.Owner.Desired)
}

// String is the history in words, such as "create revision 3"; "": nothing is to be done.
func (h History) String() string {
	var deeds []string
	switch {
	case h.Number > 0 && h.Existing == nil:
		deeds = append(deeds, fmt.Sprintf("create revision %d", h.Number))
	case h.Number > 0:
		deeds = append(deeds, fmt.Sprintf("renumber revision %d to %d", h.Existing.Number, h.Number))
	}
	for _, r := range h.Delete {
		deeds = append(deeds, fmt.Sprintf("delete revision %d", r.Number))
	}
	return strings.Join(deeds, "; ")
}
