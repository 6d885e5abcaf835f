package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

const uid = types.UID("0d3f7c1e-0000-4000-8000-000000000001")

// shown is the path of every status field in the tests. A nil path means that the kind lacks the field.
var shown = []string{"status", "field"}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// pods returns the pods that a text describes. Each word is a slot and some letters, such as "0" (slot 0, ready), "a"
// (the slot of node a), or "x" (no slot). The letters are n (not ready), t (terminating), l (lost), f (finished), u
// (unlabeled), o (older template), h (no template hash), and g (a grace period of an hour). A colon separates the
// letters from the name of a node, as in "a:n".
func pods(words string) []Pod {
	var list []Pod
	for i, word := range strings.Fields(words) {
		p := Pod{UID: types.UID(fmt.Sprintf("pod-%d", i)), Slot: slots.None, Name: word, ReadySince: noon.Add(-time.Second), Template: "new"}
		name, flags, ofNode := strings.Cut(word, ":")
		if digits := strings.TrimRight(name, "ntlfuohg"); digits != "" && !ofNode {
			name, flags = digits, word[len(digits):]
		}
		switch {
		case name[0] >= '0' && name[0] <= '9':
			if _, err := fmt.Sscan(name, &p.Slot); err != nil {
				panic(err)
			}
		case name != "x":
			p.Slot = slots.OfNode(name)
		}
		if p.Slot != slots.None {
			p.Name = slots.PodName("foo", uid, "", p.Slot)
		}
		p.Terminating = strings.ContainsAny(flags, "tl")
		p.Finished = strings.Contains(flags, "f")
		p.Unlabeled = strings.Contains(flags, "u")
		p.Ready = !strings.ContainsAny(flags, "ntfl")
		if strings.Contains(flags, "g") {
			p.Grace = time.Hour
		}
		switch {
		case strings.Contains(flags, "o"):
			p.Template = "old"
		case strings.Contains(flags, "h"):
			p.Template = ""
		}
		list = append(list, p)
	}
	return list
}

func view(desired int32, words string) View {
	v := View{
		Owner: Owner{
			Name: "foo", UID: uid, Generation: 1, Desired: desired, TemplateHash: "new",
			StatusPaths: kinds.StatusPaths{Current: shown, Ready: shown, ObservedGeneration: shown, Conditions: shown},
		},
		Pods: pods(words),
		Now:  noon,
	}
	v.Memory.Ending = map[types.UID]Termination{}
	for i, word := range strings.Fields(words) {
		if strings.Contains(word, "l") {
			v.Memory.Ending[v.Pods[i].UID] = Termination{Since: noon.Add(-stuckTerminatingAfter)}
		}
	}
	return v
}

// deeds returns the operations of a plan as text, such as "+0 -1:surplus label:2", "+a", or
// "apply:d7 remove:old". In "apply:d7", d is the UID and 7 is the resource version of the Deployment.
func deeds(a Actions) string {
	var words []string
	for _, o := range operations(a, Create) {
		words = append(words, "+"+slotText(o.Slot)+string(o.Replaces))
		if o.Node != "" && o.Node != slotText(o.Slot) {
			words = append(words, "on:"+o.Node)
		}
	}
	for _, o := range operations(a, Delete) {
		if o.Kind == KindDeployment {
			words = append(words, "remove:"+o.Name)
		} else {
			words = append(words, "-"+slotText(o.Slot)+":"+string(o.Reason))
		}
	}
	for _, o := range operations(a, Patch) {
		words = append(words, "label:"+slotText(o.Slot))
	}
	for _, o := range operations(a, Apply) {
		words = append(words, "apply:"+string(o.UID)+o.ResourceVersion)
	}
	return strings.Join(words, " ")
}

// slotText returns the number of a slot, the name of its node, or "x" for slots.None.
func slotText(s slots.Slot) string {
	if s == slots.None {
		return "x"
	}
	for _, n := range []string{"a", "b", "c", "d", "e", "gone"} {
		if slots.OfNode(n) == s {
			return n
		}
	}
	return s.String()
}

func operations(a Actions, verb Verb) []Operation {
	return slices.DeleteFunc(slices.Clone(a.Operations), func(o Operation) bool { return o.Verb != verb })
}

// If a replacement is lost, too, another pod with a different name replaces it. The order of the lost
// pods in the view does not matter.
func TestLostBypassIsBypassed(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		v := view(1, "0l 0l 0l")
		chain := v.Pods
		for i := 1; i < len(chain); i++ {
			chain[i].Replaces = chain[i-1].UID
			chain[i].Name = slots.PodName("foo", uid, chain[i-1].UID, 0)
		}
		v.Pods = []Pod{chain[order[0]], chain[order[1]], chain[order[2]]}
		a := Pods(v)
		if deeds(a) != "+0pod-2" {
			t.Errorf("order %v: planned %q, want slot 0 to be filled past pod-2", order, deeds(a))
			continue
		}
		name := a.Operations[0].Name
		if slices.ContainsFunc(chain, func(lost Pod) bool { return lost.Name == name }) {
			t.Errorf("order %v: the new pod's name %s is that of a lost one", order, name)
		}
	}
}

// If two pods are in one slot, the active pod fills it. If both are active, the pod with the ordinary
// name fills it. All other active pods are deleted. The order of the pods in the view does not matter.
func TestWhichOfTwoPodsFillsTheSlot(t *testing.T) {
	for _, test := range []struct {
		name             string
		ordinary, bypass string // in the notation of the function pods
		want             string // the pods that are deleted immediately
	}{
		{"both are active", "0", "0", "bypass stray"},
		{"the bypass is ready and the ordinary pod is not", "0n", "0", "bypass stray"},
		{"the ordinary pod is terminating", "0t", "0", "stray"},
		{"the bypass is terminating", "0", "0t", "stray"},
		{"the ordinary pod has finished", "0f", "0", "stray"},
		{"the bypass has finished", "0", "0f", "stray"},
	} {
		v := view(1, test.ordinary+" "+test.bypass+" x")
		ordinary, bypass, stray := v.Pods[0], v.Pods[1], v.Pods[2]
		ordinary.UID, bypass.UID, stray.UID = "ordinary", "bypass", "stray"
		bypass.Replaces = "lost"
		bypass.Name = slots.PodName("foo", uid, bypass.Replaces, 0)
		for _, list := range [][]Pod{{ordinary, bypass, stray}, {bypass, ordinary, stray}} {
			v.Pods = list
			var deleted []string
			for _, o := range operations(Pods(v), Delete) {
				deleted = append(deleted, string(o.UID))
			}
			slices.Sort(deleted)
			if got := strings.Join(deleted, " "); got != test.want {
				t.Errorf("%s, %s is listed first: deletes %q, want %q", test.name, list[0].UID, got, test.want)
			}
		}
	}
}

func TestHugeCountIsPlannedInParts(t *testing.T) {
	a := Pods(view(1<<31-1, "0 1"))
	if len(a.Operations) != maxCreates || a.Operations[0].Slot != 2 {
		t.Errorf("planned %d creates from slot %d, want %d from slot 2", len(a.Operations), a.Operations[0].Slot, maxCreates)
	}
}

// A slot whose pods keep finishing is refilled after 1, 2, 4 … seconds, up to five minutes.
func TestFailureBackoff(t *testing.T) {
	now := noon
	var m Memory
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		v := View{Owner: view(1, "").Owner, Pods: pods("0f"), Memory: m, Now: now}
		v.Pods[0].UID = types.UID(fmt.Sprintf("failed-%d", i))
		a := Pods(v)
		if deeds(a) != "" || a.Recheck != want*time.Second {
			t.Fatalf("failure %d: planned %q, recheck %v; want to wait %v", i+1, deeds(a), a.Recheck, want*time.Second)
		}
		v.Memory, v.Now = a.Memory, now.Add(a.Recheck)
		if a = Pods(v); deeds(a) != "-0:finished" {
			t.Fatalf("failure %d: planned %q after the wait", i+1, deeds(a))
		}
		v.Memory, v.Pods = a.Memory, nil
		if a = Pods(v); deeds(a) != "+0" {
			t.Fatalf("failure %d: planned %q when the pod was gone", i+1, deeds(a))
		}
		m, now = a.Memory, v.Now
	}
}

// A pod that was ready for a minute without interruption resets the failures of its slot.
func TestSteadyPodEndsTheRowOfFailures(t *testing.T) {
	for _, test := range []struct {
		name    string
		looks   string // states of the slot's pod, one per second, in the notation of the function pods
		failsAt time.Duration
		clock   time.Duration // offset of the node's clock
		want    time.Duration
	}{
		{"ready for a minute", "0", steadyAfter, 0, failureDelay},
		{"ready for a minute, as seen several times", "0 0", steadyAfter, 0, failureDelay},
		{"ready for less", "0", steadyAfter - time.Nanosecond, 0, 128 * time.Second},
		{"ready for less, on a node whose clock is behind", "0", time.Second, -time.Hour, 128 * time.Second},
		{"ready for a minute, on a node whose clock is ahead", "0", steadyAfter, time.Hour, failureDelay},
		{"ready, and then no more", "0 0n", 2 * steadyAfter, 0, 128 * time.Second},
		{"never ready", "0n", 2 * steadyAfter, 0, 128 * time.Second},
	} {
		v := view(1, "")
		v.Memory.Failures = map[slots.Slot]Failure{0: {UID: "earlier", Count: 7, Template: "new"}}
		for word := range strings.FieldsSeq(test.looks) {
			v.Pods = pods(word)
			v.Pods[0].ReadySince = noon.Add(test.clock)
			v.Memory = Pods(v).Memory
			v.Now = v.Now.Add(time.Second)
		}
		v.Now, v.Pods = noon.Add(test.failsAt), pods("0f")
		v.Pods[0].UID = "failed"
		if a := Pods(v); a.Recheck != test.want {
			t.Errorf("%s: waits %v, want %v", test.name, a.Recheck, test.want)
		}
	}
}

// A new period of readiness begins if the pod was unready between two reconciles, or if the clock
// was set back.
func TestSteadyPodIsReadyWithoutABreak(t *testing.T) {
	f := Failure{UID: "earlier", Count: 7, ReadyAt: noon, ReadySince: noon}
	pod := pods("0")[0]
	pod.ReadySince = noon
	for _, test := range []struct {
		since, now, want time.Duration
	}{
		{0, time.Second, 0},
		{time.Second, 2 * time.Second, 2 * time.Second},
		{0, -time.Hour, -time.Hour},
	} {
		pod.ReadySince = noon.Add(test.since)
		if got := f.seen(pod, noon.Add(test.now)).ReadyAt; !got.Equal(noon.Add(test.want)) {
			t.Errorf("%+v: ready since %s", test, got)
		}
	}
}

func TestRefusal(t *testing.T) {
	v := view(3, "0")
	refuse := func(slot slots.Slot) { // like the controller when the server has refused a create
		v.Memory = v.Memory.Refused(slot, Refusal{Reason: "QuotaExceeded", Message: "exceeded quota", Generation: v.Owner.Generation, At: v.Now})
	}
	for _, want := range []time.Duration{1, 2, 4, 8, 10, 10} {
		refuse(slots.None)
		a := Pods(v)
		if deeds(a) != "" || a.Recheck != want*time.Second {
			t.Fatalf("planned %q, recheck %v; want to wait %v", deeds(a), a.Recheck, want*time.Second)
		}
		v.Memory, v.Now = a.Memory, v.Now.Add(a.Recheck)
		if a = Pods(v); deeds(a) != "+1 +2" {
			t.Fatalf("planned %q after the wait", deeds(a))
		}
		if c := meta.FindStatusCondition(a.Status.Conditions, apis.ConditionProgressing); c.Reason != "WaitingAfterRefusal" {
			t.Fatalf("Progressing is %+v during another attempt", c)
		}
	}
	refuse(slots.None)
	v.Owner.Generation++
	a := Pods(v)
	if deeds(a) != "+1 +2" {
		t.Errorf("planned %q for an owner that has changed, want a new attempt at once", deeds(a))
	}
	if c := meta.FindStatusCondition(a.Status.Conditions, apis.ConditionProgressing); c.Reason != "CreatingPods" {
		t.Errorf("Progressing is %+v for an owner that has changed", c)
	}
}

// Refusals no longer count after the owner changes or a create succeeds.
func TestRowOfRefusalsEnds(t *testing.T) {
	r := Refusal{Reason: "QuotaExceeded", Generation: 1, At: noon}
	m := Memory{}.Refused(slots.None, r).Refused(slots.None, r).Refused(slots.None, r)
	if got := m.Refusals[slots.None].Count; got != 3 {
		t.Errorf("counts %d refusals, want 3", got)
	}
	if got := m.Accepted().Refused(slots.None, r).Refusals[slots.None].Count; got != 1 {
		t.Errorf("after a create that went through it counts %d refusals, want 1", got)
	}
	r.Generation = 2
	if got := m.Refused(slots.None, r).Refusals[slots.None].Count; got != 1 {
		t.Errorf("of an owner that has changed it counts %d refusals, want 1", got)
	}
	if got := m.Refusals[slots.None].Count; got != 3 {
		t.Errorf("what was remembered before has changed: %d refusals, want 3", got)
	}
}

// A finished pod may keep its Ready condition. This must not restart its back-off in every reconcile.
func TestFinishedPodIsNotReady(t *testing.T) {
	v := view(1, "0f")
	v.Pods[0].UID, v.Pods[0].Ready, v.Pods[0].ReadySince = "failed", true, noon.Add(-time.Hour)
	v.Memory = Pods(v).Memory
	for range 3 {
		v.Now = v.Now.Add(time.Minute)
		a := Pods(v)
		if deeds(a) != "-0:finished" {
			t.Fatalf("planned %q, want the finished pod deleted until it is gone", deeds(a))
		}
		v.Memory = a.Memory
	}
}

// If someone sets the clock back, delays do not become longer by the difference. A terminating pod gets
// its full delay again, because it might still run.
func TestClockThatIsSetBack(t *testing.T) {
	v := view(3, "0f 1t")
	v.Memory = Pods(v).Memory.Refused(2, Refusal{Generation: 1, At: noon})
	v.Memory.Written = Written{At: noon}
	v.Now = noon.Add(-time.Hour)
	a := Pods(v)
	if got, want := deeds(a), "+2 -0:finished"; got != want || !a.WriteStatus {
		t.Errorf("planned %q, status: %t; want %q", got, a.WriteStatus, want)
	}
	if want := stuckTerminatingAfter; a.Recheck != want {
		t.Errorf("looks again after %s, want %s", a.Recheck, want)
	}
	v.Memory, v.Now = a.Memory, v.Now.Add(stuckTerminatingAfter)
	if got := deeds(Pods(v)); !strings.Contains(got, "+1") {
		t.Errorf("planned %q, want the pod that does not end to be replaced", got)
	}
}
