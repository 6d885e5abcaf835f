package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// Revision is a ControllerRevision that the owner controls, without its data.
type Revision struct {
	Name            string
	UID             types.UID
	ResourceVersion string
	// Template is the template hash in the name, or "" if someone else created the revision.
	Template string
	// Number orders the history. The newest revision has the highest number.
	Number int64
}

// templateHashLength is the number of hexadecimal digits in a template's hash.
const templateHashLength = 16

// RevisionName returns the name of the revision of a template. The name depends only on the owner and
// the hash of the template, so that a retried create does not create a second revision.
func RevisionName(owner string, uid types.UID, template string) string {
	return slots.ChildName(owner, uid, template)
}

// RevisionTemplate returns the template hash in the name of a revision, or "" if RevisionName did not create the name.
func RevisionTemplate(revision, owner string, uid types.UID) string {
	hash := revision[strings.LastIndexByte(revision, '-')+1:]
	if len(hash) != templateHashLength || RevisionName(owner, uid, hash) != revision {
		return ""
	}
	return hash
}

// Revisions returns the writes that maintain the history of an owner's templates. If an older revision has the current
// template, it gets the next number, as in a StatefulSet. If the server rejects a write, no revision is written until
// the owner changes. Revisions that someone else created are not touched, but their numbers count.
func Revisions(v View) []Operation {
	o := v.Owner
	if !v.HistoryKnown || v.Paused() || o.Invalid != "" || o.Problem != "" || o.TemplateHash == "" ||
		v.Memory.Unrecorded == (Unrecorded{Template: o.TemplateHash, Generation: o.Generation}) {
		return nil
	}
	current := slices.IndexFunc(v.Revisions, func(r Revision) bool { return r.Template == o.TemplateHash })
	newest := int64(0) // highest number of the other revisions
	for _, r := range v.Revisions {
		if r.Template != o.TemplateHash {
			newest = max(newest, r.Number)
		}
	}
	var list []Operation
	switch next := min(newest, math.MaxInt64-1) + 1; {
	case current < 0:
		list = append(list, Operation{
			Verb: Create, Kind: KindRevision, Name: RevisionName(o.Name, o.UID, o.TemplateHash), Number: next,
			Text: fmt.Sprintf("create revision %d", next),
		})
	case v.Revisions[current].Number < next:
		list = append(list, v.Revisions[current].write(Patch, next, "renumber revision %d to %d", v.Revisions[current].Number, next))
	}
	for _, r := range v.surplusRevisions() {
		list = append(list, r.write(Delete, 0, "delete revision %d", r.Number))
	}
	return list
}

func (r Revision) write(verb Verb, number int64, text string, args ...any) Operation {
	return Operation{
		Verb: verb, Kind: KindRevision, Name: r.Name, UID: r.UID, ResourceVersion: r.ResourceVersion, Number: number,
		Optional: verb == Delete, Text: fmt.Sprintf(text, args...),
	}
}

// surplusRevisions returns the unused revisions beyond the limit, oldest first.
func (v View) surplusRevisions() []Revision {
	// The pods of a Deployment have no hash. They all have the current template if the owner's only Deployment is up to
	// date. Otherwise, any revision may be in use.
	live, _, others := v.deployments()
	if v.Owner.Wanted.Name != "" && (len(others) > 0 || !available(live, v.Owner.Desired)) {
		return nil
	}
	inUse := map[string]bool{v.Owner.TemplateHash: true, "": true}
	for _, pod := range v.Pods {
		inUse[pod.Template] = true
	}
	old := slices.DeleteFunc(slices.Clone(v.Revisions), func(r Revision) bool { return inUse[r.Template] })
	slices.SortFunc(old, func(a, b Revision) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Name, b.Name))
	})
	return old[:max(0, len(old)-v.Owner.HistoryLimit)]
}
