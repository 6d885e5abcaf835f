package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// attendance is how long after a change a controller of another program is not
// yet called absent.
const attendance = 10 * time.Second

// noticing is how long a controller that is running may take to see a change before
// that is worth a word.
const noticing = 5 * time.Second

// writes reports what an entry of managedFields is about: the spec, or whatever
// else a person sets, and the status. Labels and annotations are neither.
func writes(m metav1.ManagedFieldsEntry) (spec, status bool) {
	switch m.Subresource {
	case "status":
		return false, true
	case "scale":
		return true, false
	case "":
	default:
		return false, false
	}
	var fields fieldpath.Set
	if err := fields.FromJSON(m.FieldsV1.GetRawReader()); err != nil {
		return true, false
	}
	fields.Iterate(func(path fieldpath.Path) {
		switch name := path[0].FieldName; {
		case name == nil, *name == "metadata", *name == "apiVersion", *name == "kind":
		case *name == "status":
			status = true
		default:
			spec = true
		}
	})
	return spec, status
}

// undated reports whether the spec was changed at a time that managedFields do
// not tell: of what was written through the /scale of a custom resource they tell
// none. Nothing but the count can have been changed by that. In the first generation,
// it was written and not changed.
func (o Object) undated() bool {
	return o.Generation > 1 && slices.ContainsFunc(o.Managers, func(m metav1.ManagedFieldsEntry) bool {
		ofSpec, _ := writes(m)
		return ofSpec && m.Time == nil
	})
}

// lastWrites are the last write of the spec and that of the status; nil where
// managedFields record none. What is undated is left out.
func lastWrites(managers []metav1.ManagedFieldsEntry) (spec, status *Write) {
	later := func(last *Write, m metav1.ManagedFieldsEntry) *Write {
		if last != nil && !last.Time.Time.Before(m.Time.Time) {
			return last
		}
		return &Write{Manager: m.Manager, Operation: string(m.Operation), Time: *m.Time}
	}
	for _, m := range managers {
		if m.Time == nil {
			continue
		}
		ofSpec, ofStatus := writes(m)
		if ofSpec {
			spec = later(spec, m)
		}
		if ofStatus {
			status = later(status, m)
		}
	}
	return spec, status
}

// answered reports whether the status was written after the spec. The times of
// managedFields are whole seconds: within the same one, the order is not known.
func answered(spec, status *Write) bool {
	return spec != nil && status != nil && status.Time.After(spec.Time.Time)
}

// changeSeen reports whether something shows that the controller has seen the
// last change of an object that does not say so. The counts of the object are
// those that are wanted, and so are those of what stands below it.
func changeSeen(e Snapshot, r Report, children []Child) bool {
	o := e.Object
	spec, status := r.Reconciler.Spec, r.Reconciler.Status
	if e.Acted {
		return true
	}
	if o.undated() && !countShows(o, r, children) {
		return false
	}
	if answered(spec, status) {
		return true
	}
	if o.Generation <= 1 {
		// What there is was made after the object.
		return status != nil || len(children)+len(r.Pods) > 0
	}
	if o.OnlyCounted && countShows(o, r, children) {
		return true
	}
	if spec == nil {
		return false
	}
	if byItself(spec, status) {
		return true
	}
	for _, c := range children {
		made, _ := lastWrites(c.Managers)
		if c.Controller == o.UID && (c.Created.After(spec.Time.Time) || answered(spec, made)) {
			return true
		}
	}
	return slices.ContainsFunc(r.Pods, func(pod Pod) bool {
		return pod.Created.After(spec.Time.Time) && slices.ContainsFunc(r.Tree.Children, func(n Node) bool { return n.Kind == "Pod" && n.UID == pod.UID })
	})
}

// countShows reports whether what is there would be another number if the
// controller had not seen the last change of the count.
func countShows(o Object, r Report, children []Child) bool {
	if o.Told != nil {
		return *o.Told == o.Desired
	}
	if !o.indirect() {
		if len(workloads(children)) > 1 {
			return !o.Uncounted
		}
		return !o.Uncounted || len(r.Pods) == int(o.Desired)
	}
	return o.Several && o.Total != nil && len(r.Pods) == int(*o.Total)
}

// idle reports whether nothing right below an object was made or changed since the
// last change of its spec, which is so young that it may yet be: some controllers
// write that they saw a generation, and the counts that it wants, before they do
// anything about it. The times are whole seconds; what was done within the same one may
// have been done after. Of a count, what is there tells.
func idle(e Snapshot, r Report, children []Child) bool {
	o, by := e.Object, r.Reconciler
	if !o.Foreign || o.BuiltIn || o.Generation <= 1 || by.Spec == nil || e.ActedBelow {
		return false
	}
	since, known := sinceChange(e, by)
	if !known || since >= attendance || byItself(by.Spec, by.Status) {
		return false
	}
	if o.OnlyCounted || e.Counted || o.undated() {
		if !o.countBelow(r, children) {
			return true
		}
		if countShows(o, r, children) {
			return false
		}
	}
	below := false
	for _, c := range children {
		if c.Controller != o.UID || c.Desired == nil {
			continue
		}
		below = true
		made, _ := lastWrites(c.Managers)
		if !c.Created.Before(by.Spec.Time.Time) || made != nil && !made.Time.Before(&by.Spec.Time) {
			return false
		}
	}
	return below
}

// countBelow reports whether what is to be seen below an object may be as many as it
// wants: the pods, what stands right below it, or one part of that.
func (o Object) countBelow(r Report, children []Child) bool {
	below := slices.DeleteFunc(workloads(children), func(c Child) bool { return c.Controller != o.UID })
	sum := int32(0)
	for _, c := range below {
		if *c.Desired == o.Desired {
			return true
		}
		sum += *c.Desired
	}
	unseen := len(below)+len(r.Pods) == 0
	return o.indirect() || o.NoCount || unseen || len(below) > 0 && sum == o.Desired || r.livePods() == int(o.Desired)
}

// byItself reports whether the controller itself changed the spec.
func byItself(spec, status *Write) bool {
	return status != nil && status.Manager == spec.Manager && !strings.HasPrefix(spec.Manager, "kubectl")
}

// Acted reports whether the controller of an object has written something
// between two looks at it, neither of which is older than the last change of the
// spec.
func Acted(before, now Snapshot) bool {
	o, p := now.Object, before.Object
	if o.UID != p.UID || o.Generation != p.Generation {
		return false
	}
	_, status := lastWrites(o.Managers)
	_, last := lastWrites(p.Managers)
	if status != nil && (last == nil || status.Time.After(last.Time.Time)) {
		return true
	}
	if o.Current != p.Current || o.Ready != p.Ready || o.Word.Phase != p.Word.Phase || o.Word.Message != p.Word.Message || len(o.Conditions) != len(p.Conditions) {
		return true
	}
	return ActedBelow(before, now)
}

// ActedBelow reports whether something that stands right below an object was made
// or changed between two looks at it, as Acted does.
func ActedBelow(before, now Snapshot) bool {
	o, p := now.Object, before.Object
	if o.UID != p.UID || o.Generation != p.Generation {
		return false
	}
	known := map[types.UID]int64{}
	for _, c := range before.Children {
		known[c.UID] = c.Generation
	}
	for _, c := range now.Children {
		if generation, was := known[c.UID]; c.Controller == o.UID && (!was || c.Generation > generation) {
			return true
		}
	}
	return false
}

// judgeUnseen reports whether no controller has seen the object as it is now.
func judgeUnseen(e Snapshot, r Report) (ruling, bool) {
	o, by := e.Object, r.Reconciler
	v := ruling{verdict: NotReconciled, code: problem.CodeGenerationNotSeen, hint: by.howToReconcile(e)}
	switch {
	case !o.Untracked && o.ObservedGeneration == 0,
		o.Untracked && o.Conditioned && len(o.Conditions) == 0 && o.Word.Phase == "":
		v.code, v.reason = problem.CodeNeverSeen, o.neverSeen(by.Status)
	case !o.Untracked && o.ObservedGeneration < o.Generation:
		v.reason = fmt.Sprintf("its controller has not seen the last change (generation %d, observed %d)", o.Generation, o.ObservedGeneration)
	default:
		return ruling{}, false
	}
	since, known := sinceChange(e, by)
	if !o.Foreign {
		switch {
		case known && since > -noticing && since < noticing && by.active(e):
			v.verdict, v.hint, v.recheck = Progressing, "", noticing-max(since, 0)
			v.reason = "the controller has not seen the change yet"
			if v.code == problem.CodeNeverSeen {
				v.reason = "the controller has not seen it yet"
			}
		case by.Status != nil:
			v.reason += "; " + by.story(e)
		}
		return v, true
	}
	unknown := o.undated()
	wrote := e.Acted || !unknown && answered(by.Spec, by.Status) || v.code == problem.CodeNeverSeen && by.Status != nil
	if len(r.Problems) > 0 && r.Problems[0].Fatal && (wrote || v.code == problem.CodeNeverSeen) {
		p := r.Problems[0]
		return ruling{verdict: Failed, code: p.Code, reason: p.String(), hint: p.Hint}, true
	}
	if by.Status != nil {
		v.reason += "; " + by.story(e)
	}
	switch {
	case wrote:
		v.verdict, v.hint = Progressing, ""
	case unknown && !known:
		v.verdict = Progressing
		v.reason += "; the time of the change is unknown"
	case since < attendance:
		v.verdict, v.hint, v.recheck = Progressing, "", attendance-since
		v.reason += fmt.Sprintf("; the spec changed %s ago", duration.HumanDuration(max(since, 0)))
	}
	return v, true
}

// neverSeen says why nothing shows that a controller has seen the object.
func (o Object) neverSeen(written *Write) string {
	switch {
	case !o.Foreign || written == nil:
		return "no controller has seen it yet"
	case o.Untracked:
		return "its status has no conditions yet"
	}
	return "its status does not say which generation its controller has seen"
}

// sinceChange is how long ago the spec was changed or the object was created, as
// far as that is known.
func sinceChange(e Snapshot, by Reconciler) (since time.Duration, known bool) {
	changed := e.Object.Created
	if by.Spec != nil && by.Spec.Time.After(changed) {
		changed = by.Spec.Time.Time
	}
	if e.Object.undated() || e.Counted && e.Since.After(changed) {
		changed = e.Since
	}
	return e.Now.Sub(changed), !changed.IsZero()
}
