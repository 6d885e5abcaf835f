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
		p := Pod{UID: types.UID(fmt.Sprintf("pod-%d", i)), Slot: slots.None, Name: word, ReadySince: noon.Add(-time.Second), Template: "new", Label: uid}
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
		if strings.Contains(flags, "u") {
			p.Label = ""
		}
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

// deeds returns the operations of a plan, except Try, as text, such as "+0 -1:surplus label:2", "+a", or
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
func TestLostReplacementIsReplaced(t *testing.T) {
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
			t.Errorf("order %v: planned %q, want a new pod in slot 0 that replaces pod-2", order, deeds(a))
			continue
		}
		name := a.Operations[0].Name
		if slices.ContainsFunc(chain, func(lost Pod) bool { return lost.Name == name }) {
			t.Errorf("order %v: the new pod has the name %s, which a lost pod already has", order, name)
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
		{"the bypass is ready, the ordinary pod is not", "0n", "0", "bypass stray"},
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
				t.Errorf("%s, %s listed first: deleted pods = %q, want %q", test.name, list[0].UID, got, test.want)
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
			t.Fatalf("failure %d: planned %q after the wait, want -0:finished", i+1, deeds(a))
		}
		v.Memory, v.Pods = a.Memory, nil
		if a = Pods(v); deeds(a) != "+0" {
			t.Fatalf("failure %d: planned %q when the pod was gone, want +0", i+1, deeds(a))
		}
		m, now = a.Memory, v.Now
	}
}

// A pod that was ready for a minute without interruption resets the failures of its slot.
func TestSteadyPodResetsFailures(t *testing.T) {
	for _, test := range []struct {
		name    string
		looks   string // states of the slot's pod, one per second, in the notation of the function pods
		failsAt time.Duration
		clock   time.Duration // offset of the node's clock
		want    time.Duration
	}{
		{"ready for a minute", "0", steadyAfter, 0, failureDelay},
		{"ready for a minute, observed twice", "0 0", steadyAfter, 0, failureDelay},
		{"ready for less than a minute", "0", steadyAfter - time.Nanosecond, 0, 128 * time.Second},
		{"ready for a second, on a node whose clock is behind", "0", time.Second, -time.Hour, 128 * time.Second},
		{"ready for a minute, on a node whose clock is ahead", "0", steadyAfter, time.Hour, failureDelay},
		{"ready, then not ready", "0 0n", 2 * steadyAfter, 0, 128 * time.Second},
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
			t.Errorf("%s: recheck after %v, want %v", test.name, a.Recheck, test.want)
		}
	}
}

// A new period of readiness begins if the pod was unready between two reconciles, or if the clock was set back.
func TestInterruptedReadinessStartsANewPeriod(t *testing.T) {
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
			t.Errorf("offsets from noon %+v: ReadyAt = %s, want noon plus the last offset", test, got)
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
			t.Fatalf("planned %q after the wait, want +1 +2", deeds(a))
		}
		if c := meta.FindStatusCondition(a.Status.Conditions, apis.ConditionProgressing); c.Reason != "WaitingAfterRefusal" {
			t.Fatalf("condition Progressing during a retry = %+v, want reason WaitingAfterRefusal", c)
		}
	}
	refuse(slots.None)
	v.Owner.Generation++
	a := Pods(v)
	if deeds(a) != "+1 +2" {
		t.Errorf("planned %q after a change of the owner, want an immediate retry (+1 +2)", deeds(a))
	}
	if c := meta.FindStatusCondition(a.Status.Conditions, apis.ConditionProgressing); c.Reason != "CreatingPods" {
		t.Errorf("condition Progressing after a change of the owner = %+v, want reason CreatingPods", c)
	}
}

// The count of refusals restarts after the owner changes or a create succeeds.
func TestRefusalCountResets(t *testing.T) {
	r := Refusal{Reason: "QuotaExceeded", Generation: 1, At: noon}
	m := Memory{}.Refused(slots.None, r).Refused(slots.None, r).Refused(slots.None, r)
	if got := m.Refusals[slots.None].Count; got != 3 {
		t.Errorf("three refusals in a row: count = %d, want 3", got)
	}
	if got := m.Accepted().Refused(slots.None, r).Refusals[slots.None].Count; got != 1 {
		t.Errorf("a refusal after a successful create: count = %d, want 1", got)
	}
	r.Generation = 2
	if got := m.Refused(slots.None, r).Refusals[slots.None].Count; got != 1 {
		t.Errorf("a refusal after a change of the owner: count = %d, want 1", got)
	}
	if got := m.Refusals[slots.None].Count; got != 3 {
		t.Errorf("the original memory was modified: count = %d, want 3", got)
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
			t.Fatalf("planned %q, want -0:finished in every reconcile until the pod is gone", deeds(a))
		}
		v.Memory = a.Memory
	}
}

// If someone sets the clock back, delays do not become longer by the difference. A terminating pod gets
// its full delay again, because it might still run.
func TestClockSetBack(t *testing.T) {
	v := view(3, "0f 1t")
	v.Memory = Pods(v).Memory.Refused(2, Refusal{Generation: 1, At: noon})
	v.Memory.Written = Written{At: noon}
	v.Now = noon.Add(-time.Hour)
	a := Pods(v)
	if got, want := deeds(a), "+2 -0:finished"; got != want || !a.WriteStatus {
		t.Errorf("after the clock was set back: planned %q, status written: %t; want %q and a status write", got, a.WriteStatus, want)
	}
	if want := stuckTerminatingAfter; a.Recheck != want {
		t.Errorf("after the clock was set back: recheck after %s, want %s", a.Recheck, want)
	}
	v.Memory, v.Now = a.Memory, v.Now.Add(stuckTerminatingAfter)
	if got := deeds(Pods(v)); !strings.Contains(got, "+1") {
		t.Errorf("planned %q, want +1, which replaces the pod that is stuck terminating", got)
	}
}
