package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// templateOf returns a template hash made of a letter, or "" for "-".
func templateOf(letter string) string {
	if letter == "-" {
		return "" // a revision that someone else created
	}
	return strings.Repeat(letter, templateHashLength)
}

// revisions parses a text such as "a1 b2". Each word is a letter for the template and a number.
func revisions(text string) []Revision {
	var list []Revision
	for word := range strings.FieldsSeq(text) {
		r := Revision{UID: types.UID(word), Template: templateOf(word[:1]), Name: "foo-" + word}
		if _, err := fmt.Sscan(word[1:], &r.Number); err != nil {
			panic(err)
		}
		list = append(list, r)
	}
	return list
}

func history(list []Operation) string {
	var words []string
	for _, o := range list {
		words = append(words, o.String())
	}
	return strings.Join(words, "; ")
}

func TestRevisionNameRoundTrips(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		owner := rapid.StringMatching(`[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?`).Draw(t, "owner")
		hash := rapid.StringMatching(`[0-9a-f]{16}`).Draw(t, "hash")
		name := RevisionName(owner, uid, hash)
		if len(name) > validation.DNS1123LabelMaxLength || RevisionTemplate(name, owner, uid) != hash {
			t.Errorf("revision name %q, owner %q: parsed as template %q, want the hash, and at most 63 bytes", name, owner, RevisionTemplate(name, owner, uid))
		}
		if other := RevisionTemplate(name, owner, "another"); other != "" {
			t.Errorf("revision name %q is also accepted for another owner with the same name", name)
		}
	})
	for _, name := range []string{"foo", "foo-0", slots.PodName("foo", uid, "", 0), ""} {
		if hash := RevisionTemplate(name, "foo", uid); hash != "" {
			t.Errorf("name %q is treated as a revision of template %q, want no revision", name, hash)
		}
	}
}

// From any state, plans converge, even with template changes, crashes between writes, and stale views.
// At the end, the newest revision has the current template, and each template has at most one revision.
// No revision in use is deleted.
func TestHistoryConverges(t *testing.T) {
	t.Parallel()
	letters := []string{"a", "b", "c", "d", "e"}
	rapid.Check(t, func(t *rapid.T) {
		v := View{HistoryKnown: true, Owner: Owner{Name: "foo", UID: uid, Desired: 3, HistoryLimit: rapid.IntRange(0, 3).Draw(t, "limit")}}
		letter := func() string { return templateOf(rapid.SampledFrom(letters).Draw(t, "template")) }
		v.Owner.TemplateHash = letter()
		writes := 0
		// write executes either the deletes of a plan or all its other operations, if their preconditions hold.
		write := func(list []Operation, template string, deletes bool) {
			for _, o := range list {
				if deletes != (o.Verb == Delete) {
					continue
				}
				writes++
				version := fmt.Sprint(writes)
				at := slices.IndexFunc(v.Revisions, func(is Revision) bool { return is.UID == o.UID && is.ResourceVersion == o.ResourceVersion })
				switch {
				case o.Verb == Delete && at >= 0:
					v.Revisions = slices.Delete(v.Revisions, at, at+1)
				case o.Verb == Patch && at >= 0:
					v.Revisions[at].Number, v.Revisions[at].ResourceVersion = o.Number, version
				case o.Verb == Create && !slices.ContainsFunc(v.Revisions, func(r Revision) bool { return r.Template == template }):
					v.Revisions = append(v.Revisions, Revision{Name: o.Name, UID: types.UID(version), Template: template, Number: o.Number, ResourceVersion: version})
				}
			}
		}
		view := func() View {
			now := v
			now.Revisions = slices.Clone(v.Revisions)
			return now
		}
		old := view()
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"plan", "plan", "half", "late", "template", "pods", "look"}).Draw(t, "step") {
			case "plan":
				h := Revisions(view())
				write(h, v.Owner.TemplateHash, false)
				write(h, "", true)
			case "half":
				write(Revisions(view()), v.Owner.TemplateHash, false)
			case "late": // a controller with an old view
				h := Revisions(old)
				write(h, old.Owner.TemplateHash, false)
				write(h, "", true)
			case "template":
				v.Owner.TemplateHash = letter()
			case "pods":
				v.Pods = nil
				for range rapid.IntRange(0, 3).Draw(t, "pods") {
					v.Pods = append(v.Pods, Pod{Template: letter()})
				}
			case "look":
				old = view()
			}
		}
		for range 2 {
			h := Revisions(view())
			for _, o := range h {
				if o.Verb != Delete {
					continue
				}
				at := slices.IndexFunc(v.Revisions, func(is Revision) bool { return is.UID == o.UID })
				if template := v.Revisions[at].Template; template == v.Owner.TemplateHash || slices.ContainsFunc(v.Pods, func(p Pod) bool { return p.Template == template }) {
					t.Fatalf("planned to delete %+v, whose template is in use", o)
				}
			}
			write(h, v.Owner.TemplateHash, false)
			write(h, "", true)
		}
		if h := Revisions(view()); len(h) > 0 {
			t.Fatalf("history does not converge: still plans to %s", history(h))
		}
		newest := slices.MaxFunc(v.Revisions, func(a, b Revision) int { return int(a.Number - b.Number) })
		if newest.Template != v.Owner.TemplateHash {
			t.Fatalf("after convergence, the newest of %+v does not have the current template %s", v.Revisions, v.Owner.TemplateHash)
		}
		seen := map[string]bool{}
		for _, r := range v.Revisions {
			if seen[r.Template] {
				t.Fatalf("after convergence, two revisions have the template %s", r.Template)
			}
			seen[r.Template] = true
		}
	})
}
