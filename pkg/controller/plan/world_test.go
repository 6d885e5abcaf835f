package plan

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// world simulates a server with one owner, and checks the invariants of plans.
type world struct {
	t     *rapid.T
	owner Owner
	pods  map[string]Pod // by name, as on a server
	mem   Memory
	now   time.Time
	made  int
	lost  map[types.UID]bool // pods that never end, because their nodes do not respond
	// prunes means that the server drops some fields of the status, because the CRD has no schema for them.
	prunes bool
}

func (w *world) view() View {
	v := View{Owner: w.owner, Memory: w.mem, Now: w.now}
	for _, p := range w.pods {
		v.Pods = append(v.Pods, p)
	}
	return v
}

// plan returns the plan for the owner. It checks that a paused owner has no operations.
func (w *world) plan() Actions {
	a := Decide(w.view(), Pods)
	if w.view().Paused() && a.Writes() {
		w.t.Fatalf("planned %q for a paused owner, want no writes", deeds(a))
	}
	return a
}

func (w *world) wanted(p Pod) bool { return w.wants(p.Slot) }

func (w *world) wants(slot slots.Slot) bool {
	return slices.Contains(lowest(w.owner.Desired, w.owner.Removed), slot)
}

func drawSlots(t *rapid.T, label string) []slots.Slot {
	return rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 11), func(n int) slots.Slot { return slots.Slot(n) }), 0, 6).Draw(t, label)
}

func lowest(n int32, removed []slots.Slot) []slots.Slot {
	list := []slots.Slot{}
	for s := slots.Slot(0); len(list) < int(n); s++ {
		if !slices.Contains(removed, s) {
			list = append(list, s)
		}
	}
	return list
}

func (w *world) remove(given ...slots.Slot) {
	removed, err := w.owner.Removed.With(given...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.owner.Removed = removed
}

// setTemplate sets the template hash of the owner. If it is "", the template is invalid, so no pod can be created.
func (w *world) setTemplate(hash string) {
	w.owner.TemplateHash, w.owner.Problem, w.owner.Generation = hash, "", w.owner.Generation+1
	if hash == "" {
		w.owner.Problem = "no image"
	}
}

// writeStatus stores the status of a plan with WriteStatus. If prunes is set, the server drops parts of the status.
func (w *world) writeStatus(a Actions) {
	if !a.WriteStatus {
		return
	}
	stored := a.Status
	if w.prunes {
		stored.ObservedGeneration, stored.Conditions, stored.Updated = 0, nil, 0
	}
	w.owner.Status = stored
	w.mem.Written = w.mem.Written.Next(w.now, a.Status, stored)
}

// live counts the live pods that are not stuck.
func (w *world) live() (n int32) {
	v := w.view()
	for _, p := range w.pods {
		if p.live() && !v.stuckTerminating(p) {
			n++
		}
	}
	return n
}

// available counts the wanted slots with a ready pod.
func (w *world) available() int32 {
	ready := map[slots.Slot]bool{}
	for _, p := range w.pods {
		if w.wanted(p) && p.Ready {
			ready[p.Slot] = true
		}
	}
	return int32(len(ready))
}

// any returns the name of a random matching pod, or "" if no pod matches.
func (w *world) any(match func(Pod) bool) string {
	var names []string
	for name, p := range w.pods {
		if match(p) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return rapid.SampledFrom(names).Draw(w.t, "name")
}

// execute executes the deletes, patches, and creates of a plan in order, and checks the invariants at
// every step. upTo is the maximum number of deletes and creates.
func (w *world) execute(a Actions, upTo int) {
	deletes, creates := operations(a, Delete), operations(a, Create)
	for i, operation := range deletes {
		if i >= upTo {
			return
		}
		pod, there := w.pods[operation.Name]
		if !there || pod.UID != operation.UID {
			continue // the precondition does not hold
		}
		if active := Active(slices.Collect(maps.Values(w.pods))); operation.Reason == Surplus && active <= int(w.owner.Desired) {
			w.t.Fatalf("I2: deleted %s as surplus with %d active of %d wanted", operation.Name, active, w.owner.Desired)
		}
		if w.owner.Problem != "" && (operation.Reason == Outdated || operation.Reason == Finished && w.wanted(pod)) {
			w.t.Fatalf("deleted %s (%s), which cannot be replaced, because the template is invalid", operation.Name, operation.Reason)
		}
		if w.wanted(pod) && !pod.Finished && (operation.Reason != Outdated || !w.view().outdated(pod)) {
			w.t.Fatalf("deleted %s, which is up to date and in a wanted slot", operation.Name)
		}
		if w.wanted(pod) && pod.Ready && w.available() <= w.owner.Desired-max(1, w.owner.Desired/4) {
			w.t.Fatalf("deleted the ready pod %s with only %d of %d slots available", operation.Name, w.available(), w.owner.Desired)
		}
		if pod.live() {
			pod.Terminating, pod.Ready = true, false
			w.pods[operation.Name] = pod
		} else {
			delete(w.pods, operation.Name)
		}
	}
	for _, l := range operations(a, Patch) {
		pod := w.pods[l.Name]
		if slices.ContainsFunc(deletes, func(operation Operation) bool { return operation.UID == l.UID }) || pod.Terminating {
			w.t.Fatalf("restored the labels of %s, which is being deleted", l.Name)
		}
		pod.Label = w.owner.UID
		w.pods[l.Name] = pod
	}
	misplaced := 0
	for _, operation := range deletes {
		if operation.Reason == Outdated && !w.wants(operation.Slot) {
			misplaced++
		}
	}
	if misplaced > 1 {
		w.t.Fatalf("replaced %d misplaced pods at once, want at most 1", misplaced)
	}
	if w.owner.Problem != "" && len(creates) > 0 {
		w.t.Fatalf("planned to create %v from an invalid template", creates)
	}
	for i, o := range creates {
		slot := o.Slot
		if i+len(deletes) >= upTo {
			return
		}
		name := o.Name
		if want := slots.PodName(w.owner.Name, w.owner.UID, o.Replaces, slot); name != want {
			w.t.Fatalf("created a pod with the name %s in slot %s, want the name %s", name, slot, want)
		}
		if _, taken := w.pods[name]; taken {
			w.t.Fatalf("created pod %s, but the name is already taken", name)
		}
		w.made++
		w.pods[name] = Pod{Name: name, UID: types.UID(fmt.Sprint(w.made)), Slot: slot, Replaces: o.Replaces, Template: w.owner.TemplateHash, Label: w.owner.UID}
		if w.live() > w.owner.Desired {
			w.t.Fatalf("I1: %d live pods for %d slots", w.live(), w.owner.Desired)
		}
	}
}

// settle lets time pass. Unfinished pods become ready, and terminating pods disappear. Lost pods do not change.
func (w *world) settle() {
	for name, p := range w.pods {
		switch {
		case w.lost[p.UID]:
		case p.Terminating:
			delete(w.pods, name)
		case !p.Finished:
			p.Ready, p.ReadySince = true, w.now
			w.pods[name] = p
		}
	}
	w.now = w.now.Add(maxFailureDelay)
}

// From any state and after any change, plans converge in a bounded number of steps. They never create or
// delete too many pods.
func TestPlansConvergeAndKeepTheInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{
			t:     t,
			owner: Owner{Name: "foo", UID: uid, Generation: 1, TemplateHash: "a", Desired: rapid.Int32Range(0, 8).Draw(t, "desired")},
			pods:  map[string]Pod{},
			now:   noon,
			lost:  map[types.UID]bool{},
		}
		w.remove(drawSlots(t, "removed")...)
		w.owner.StatusPaths = kinds.StatusPaths{Current: shown, Updated: shown, Ready: shown, ObservedGeneration: shown, Conditions: shown}
		w.prunes = rapid.Bool().Draw(t, "prunes")
		for i := range rapid.IntRange(0, 10).Draw(t, "pods") {
			p := Pod{UID: types.UID(fmt.Sprintf("old-%d", i)), Slot: slots.Slot(rapid.Int32Range(-1, 11).Draw(t, "slot"))}
			p.Name = fmt.Sprintf("stray-%d", i)
			if p.Slot != slots.None {
				p.Name = slots.PodName(w.owner.Name, uid, "", p.Slot)
			}
			p.Finished = rapid.Bool().Draw(t, "finished")
			p.Terminating = rapid.Bool().Draw(t, "terminating")
			p.Ready = !p.Finished && !p.Terminating && rapid.Bool().Draw(t, "ready")
			p.Label = rapid.SampledFrom([]types.UID{"", uid}).Draw(t, "label")
			p.Template = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "template")
			w.pods[p.Name] = p
		}
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"plan", "plan", "crash", "scale", "template", "kill", "fail", "lose", "settle", "pause", "remove", "reuse"}).Draw(t, "step") {
			case "pause":
				w.owner.Pause = apis.Pause{Until: w.now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "pause")) * maxFailureDelay)}
			case "plan":
				if w.live() > w.owner.Desired {
					w.planDeletesOnly()
					continue
				}
				a := w.plan()
				w.mem = a.Memory
				w.execute(a, rapid.IntRange(0, 20).Draw(t, "upTo"))
			case "crash":
				w.mem = Memory{}
			case "scale":
				w.owner.Desired, w.owner.Generation = rapid.Int32Range(0, 8).Draw(t, "desired"), w.owner.Generation+1
			case "remove":
				if wanted := lowest(w.owner.Desired, w.owner.Removed); len(wanted) > 0 {
					w.remove(rapid.SampledFrom(wanted).Draw(t, "victim"))
					w.owner.Desired, w.owner.Generation = w.owner.Desired-1, w.owner.Generation+1
				}
			case "reuse":
				n := rapid.Int32Range(0, 8).Draw(t, "desired")
				if rapid.Bool().Draw(t, "all") { // as if a user had removed the annotation by hand
					w.owner.Removed = nil
				} else {
					w.owner.Removed, _ = w.owner.Removed.Reuse(w.owner.Desired, n)
				}
				w.owner.Desired, w.owner.Generation = n, w.owner.Generation+1
			case "template":
				w.setTemplate(rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "hash"))
			case "kill":
				delete(w.pods, w.any(func(p Pod) bool { return !w.lost[p.UID] }))
			case "fail":
				if name := w.any(func(p Pod) bool { return !w.lost[p.UID] }); name != "" {
					p := w.pods[name]
					p.Finished, p.Ready = true, false
					w.pods[name] = p
				}
			case "lose":
				if name := w.any(Pod.live); name != "" {
					p := w.pods[name]
					p.Terminating, p.Ready, w.lost[p.UID] = true, false, true
					w.pods[name] = p
				}
			case "settle":
				w.settle()
			}
		}
		w.mustConverge()
	})
}

// planDeletesOnly executes a plan for an owner with more pods than slots. The plan must not create any pod.
func (w *world) planDeletesOnly() {
	a := w.plan()
	if creates := operations(a, Create); len(creates) > 0 {
		w.t.Fatalf("I1: planned to create %v with %d live pods for %d slots", creates, w.live(), w.owner.Desired)
	}
	w.mem = a.Memory
	w.execute(a, 1<<30)
}

func (w *world) mustConverge() {
	if w.view().Paused() {
		w.now = w.owner.Pause.Until
	}
	if w.owner.Problem != "" {
		w.mustRest()
		w.setTemplate("a")
	}
	w.mustRest()
	filled := map[slots.Slot]bool{}
	for _, p := range w.pods {
		if w.lost[p.UID] {
			continue
		}
		if !w.wanted(p) || filled[p.Slot] {
			w.t.Fatalf("converged with pod %s, whose slot is not wanted or is already filled", p.Name)
		}
		if p.Label != w.owner.UID {
			w.t.Fatalf("converged with pod %s, whose labels are not restored", p.Name)
		}
		if w.view().outdated(p) {
			w.t.Fatalf("converged with pod %s, which is outdated", p.Name)
		}
		filled[p.Slot] = true
	}
	if len(filled) != int(w.owner.Desired) {
		w.t.Fatalf("converged with %d of %d slots filled", len(filled), w.owner.Desired)
	}
	if c := w.view().lastWrittenStatus().Conditions; len(c) == 0 || c[0].Type != apis.ConditionReady || c[0].Status != "True" {
		w.t.Fatalf("converged with conditions %v, want Ready=True first", c)
	}
}

// mustRest executes a limited number of plans, and fails if work is left.
func (w *world) mustRest() {
	bound := 3*len(w.pods) + 3*int(w.owner.Desired) + 5
	for range bound {
		a := w.plan()
		w.mem = a.Memory
		w.execute(a, 1<<30)
		w.writeStatus(a)
		w.settle()
	}
	a := w.plan()
	if a.WriteStatus {
		w.mem = a.Memory
		w.writeStatus(a)
		a = w.plan()
	}
	if a.Writes() || a.WriteStatus || a.Recheck != 0 {
		w.t.Fatalf("no convergence after %d steps: planned %q, status written: %v, recheck after %v", bound, deeds(a), a.WriteStatus, a.Recheck)
	}
}
