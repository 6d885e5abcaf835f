package plan

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// The status is written immediately for a new generation and on convergence, otherwise at most once
// a second, and never if it equals the stored status.
func TestStatusIsWrittenWhenItChanged(t *testing.T) {
	v := view(3, "0n 1n 2n")
	first := Pods(v)
	if !first.WriteStatus {
		t.Fatal("the first status is not written")
	}
	v.Owner.Status, v.Memory = first.Status, first.Memory
	v.Memory.Written = Written{At: noon, Status: first.Status, Stored: first.Status}

	v.Now = noon.Add(100 * time.Millisecond)
	if a := Pods(v); a.WriteStatus || a.Recheck != 0 {
		t.Errorf("unchanged status: written %v, recheck %v; want neither", a.WriteStatus, a.Recheck)
	}
	v.Pods = pods("0 1n 2n")
	if a := Pods(v); a.WriteStatus || a.Recheck != 900*time.Millisecond {
		t.Errorf("progress after 100 ms: written %v, recheck %v; want to wait 900 ms", a.WriteStatus, a.Recheck)
	}
	v.Now = noon.Add(time.Second)
	if a := Pods(v); !a.WriteStatus {
		t.Error("progress after a second: the status is not written")
	}
	v.Now = noon.Add(200 * time.Millisecond)
	v.Pods = pods("0 1 2")
	if a := Pods(v); !a.WriteStatus {
		t.Error("convergence: the status is not written immediately")
	}
	v.Pods = pods("0 1n 2n")
	v.Owner.Generation++
	if a := Pods(v); !a.WriteStatus {
		t.Error("new generation: the status is not written immediately")
	}
}

// If the replica count keeps changing, the status is written immediately a few times, and then once
// a second. The status is correct at most a second after the last change.
func TestStatusOfAFlappingCount(t *testing.T) {
	v := view(1, "0")
	writes, now := 0, noon
	step := func() (a Actions) {
		v.Now = now
		if a = Pods(v); a.WriteStatus {
			writes++
			v.Owner.Status, v.Memory = a.Status, a.Memory
			v.Memory.Written = v.Memory.Written.Next(now, a.Status, a.Status)
		}
		return a
	}
	flap := func(seconds int) {
		for range seconds * 20 {
			v.Owner.Generation++
			v.Pods = pods("0n")
			step()
			v.Pods = pods("0")
			step()
			now = now.Add(50 * time.Millisecond)
		}
	}
	flap(60)
	if most := 60 + maxEarly; writes > most {
		t.Errorf("%d status writes in a minute, want at most %d", writes, most)
	}
	a := step()
	if !a.WriteStatus && (a.Recheck <= 0 || a.Recheck > StatusInterval || !a.StatusLater) {
		t.Errorf("the status is not written; recheck after %s, StatusLater %t; want a recheck within a second, and StatusLater", a.Recheck, a.StatusLater)
	}
	now = now.Add(a.Recheck)
	if a = step(); v.Owner.Status.ObservedGeneration != v.Owner.Generation || a.StatusLater {
		t.Errorf("last change: ObservedGeneration = %d, want %d, and StatusLater unset", v.Owner.Status.ObservedGeneration, v.Owner.Generation)
	}
	// After a quiet period, changes are reported immediately again.
	now = now.Add(2 * StatusInterval)
	for _, words := range []string{"0n", "0"} {
		v.Owner.Generation++
		v.Pods = pods(words)
		if a := step(); !a.WriteStatus {
			t.Errorf("pods %q: the status is not written immediately after a single change", words)
		}
	}
}

// Writes less than a second after the previous write are counted until there is a gap of two seconds.
func TestEarlyWritesAreCounted(t *testing.T) {
	for since, want := range map[time.Duration]int{
		StatusInterval - 1: 4, StatusInterval: 3, 2*StatusInterval - 1: 3, 2 * StatusInterval: 0,
	} {
		if got := (Written{At: noon, Early: 3}).Next(noon.Add(since), Status{}, Status{}).Early; got != want {
			t.Errorf("a write %s after three early writes: Early = %d, want %d", since, got, want)
		}
	}
}

// A status write that failed with a conflict still counts as a write, unless it was the first.
func TestConflictingStatusWriteCounts(t *testing.T) {
	v := view(1, "0")
	first := Pods(v)
	v.Owner.Status, v.Memory = first.Status, first.Memory
	v.Memory.Written = v.Memory.Written.Next(noon, first.Status, first.Status)
	for i := range maxEarly + 1 {
		v.Owner.Generation++
		v.Now = v.Now.Add(50 * time.Millisecond)
		if a := Pods(v); a.WriteStatus != (i < maxEarly) {
			t.Errorf("after %d conflicts: status written: %t, want the opposite", i, a.WriteStatus)
		}
		v.Memory.Written = v.Memory.Written.Refused(v.Now)
	}
	if !(Written{}).Refused(noon).At.IsZero() {
		t.Error("a first write that failed with a conflict is recorded as stored")
	}
}

// The controller corrects a status that someone else wrote. If two writers disagree, each writes at
// most once a second.
func TestForeignStatusIsCorrected(t *testing.T) {
	v := view(1, "0")
	first := Pods(v)
	for name, theirs := range map[string]Status{
		"empty status":   {},
		"old generation": {ObservedGeneration: -1, Current: first.Status.Current, Ready: first.Status.Ready, Conditions: first.Status.Conditions},
		"wrong count":    {ObservedGeneration: 1, Current: 7, Ready: 1, Conditions: first.Status.Conditions},
		"no conditions":  {ObservedGeneration: 1, Current: 1, Ready: 1},
	} {
		v.Owner.Status = theirs
		// In the next second, the plan computes other times for the same conditions.
		v.Memory.Written = Written{At: noon.Add(950 * time.Millisecond), Status: first.Status, Stored: first.Status}
		v.Now = noon.Add(1050 * time.Millisecond)
		if a := Pods(v); a.WriteStatus || a.Recheck != 900*time.Millisecond {
			t.Errorf("%s, after 100 ms: written %v, recheck %v; want to wait 900 ms", name, a.WriteStatus, a.Recheck)
		}
		v.Now = noon.Add(time.Minute)
		if a := Pods(v); !a.WriteStatus {
			t.Errorf("%s: the foreign status is not corrected after a minute", name)
		}
		v.Memory.Written = Written{} // a controller that has just started
		if a := Pods(v); !a.WriteStatus {
			t.Errorf("%s: the foreign status is not corrected by a new controller", name)
		}
	}
}

// The selector in the status matches the owner's pods. Each condition has the generation that was
// observed and the time of its last transition.
func TestStatusSelectorAndGenerations(t *testing.T) {
	v := view(1, "0")
	v.Owner.Generation = 7
	v.Now = noon.Add(300 * time.Millisecond)
	s := Pods(v).Status
	if s.Selector != "imoocpod.dev/owner-uid="+string(uid) {
		t.Errorf("status.Selector = %s, want imoocpod.dev/owner-uid=UID", s.Selector)
	}
	for _, c := range s.Conditions {
		if c.ObservedGeneration != 7 || !c.LastTransitionTime.Time.Equal(noon) {
			t.Errorf("condition %s: observedGeneration %d, lastTransitionTime %s; want 7 and noon", c.Type, c.ObservedGeneration, c.LastTransitionTime)
		}
	}
	v.Owner.Status, v.Now = s, noon.Add(time.Hour)
	v.Pods = pods("0n")
	for _, c := range Pods(v).Status.Conditions {
		changed := c.Type != apis.ConditionReplicaFailure
		if c.LastTransitionTime.Time.Equal(noon) == changed {
			t.Errorf("condition %s after the pod became unready: lastTransitionTime %s, want noon only for ReplicaFailure", c.Type, c.LastTransitionTime)
		}
	}
	if c := meta.FindStatusCondition(v.Owner.Status.Conditions, apis.ConditionReady); c.Status != metav1.ConditionTrue {
		t.Errorf("the plan modified the owner's status: condition Ready = %+v", c)
	}
}

// The status contains the number and the names of active pods. It omits pods that are terminating,
// finished, or lost.
func TestCountedPods(t *testing.T) {
	v := view(3, "2 0 1n 3t 4f 5l")
	v.Owner.TemplateHash = "new"
	v.Pods[0].Template = "old"
	v.Pods[5].Terminating, v.Memory.Ending = true, map[types.UID]Termination{"pod-5": {Since: noon.Add(-time.Hour)}}
	if s := Pods(v).Status; len(s.PodNames) > 0 {
		t.Errorf("status.PodNames = %s for a kind without that field, want none", s.PodNames)
	}
	v.Owner.StatusPaths.PodNames = shown
	s := Pods(v).Status
	names := fmt.Sprint([]string{slots.PodName("foo", uid, "", 0), slots.PodName("foo", uid, "", 1), slots.PodName("foo", uid, "", 2)})
	if s.Desired != 3 || s.Current != 3 || s.Updated != 2 || s.Ready != 2 || s.Available != 2 || fmt.Sprint(s.PodNames) != names {
		t.Errorf("status = %+v, want 3 pods, 2 updated, 2 ready, 2 available, and the names of slots 0, 1, and 2", s)
	}
}

func TestMasked(t *testing.T) {
	all := Status{
		ObservedGeneration: 1, Selector: "a=b", Desired: 1, Current: 1, Updated: 1, Ready: 1, Available: 1,
		PodNames: []string{"foo-0"}, Conditions: []metav1.Condition{{Type: "Ready"}},
	}
	for _, one := range reflect.VisibleFields(reflect.TypeFor[Status]()) {
		var at kinds.StatusPaths
		reflect.ValueOf(&at).Elem().FieldByName(one.Name).Set(reflect.ValueOf(shown))
		masked := reflect.ValueOf(all.Masked(at))
		for _, part := range reflect.VisibleFields(masked.Type()) {
			if masked.FieldByIndex(part.Index).IsZero() == (part.Name == one.Name) {
				t.Errorf("mask with only a path for %s: field %s = %v", one.Name, part.Name, masked.FieldByIndex(part.Index))
			}
		}
	}
}

// The server accepts the conditions, whatever text a refusal contains.
func TestConditionsAreStorable(t *testing.T) {
	for name, test := range map[string]struct{ reason, message, wantReason string }{
		"short reason and message":   {"QuotaExceeded", "no", "QuotaExceeded"},
		"message too long":           {"QuotaExceeded", strings.Repeat("né", 30_000), "QuotaExceeded"},
		"empty reason":               {"", "no", "Unknown"},
		"reason of two words":        {"not allowed", "no", "Unknown"},
		"longest reason and message": {strings.Repeat("a", 1024), strings.Repeat("n", 32768), strings.Repeat("a", 1024)},
		"reason too long":            {strings.Repeat("a", 1025), "no", "Unknown"},
	} {
		v := view(1, "")
		v.Memory = v.Memory.Refused(slots.None, Refusal{Reason: test.reason, Message: test.message, Generation: 1, At: noon})
		c := meta.FindStatusCondition(Pods(v).Status.Conditions, apis.ConditionReplicaFailure)
		if c.Reason != test.wantReason || len(c.Message) > 32768 || !utf8.ValidString(c.Message) {
			t.Errorf("%s: message of %d bytes, reason %q; want at most 32768 bytes of valid UTF-8, reason %q", name, len(c.Message), c.Reason, test.wantReason)
		}
		if cut := strings.HasSuffix(c.Message, " … (cut)"); cut != (len(test.message) > 32768) {
			t.Errorf("%s: message marked as cut: %v, want the mark only on a message of more than 32768 bytes", name, cut)
		}
	}
}

// If a second delete shortens the grace period of a pod, the time until the pod counts as stuck starts again.
func TestSecondDeleteRestartsTheStuckPeriod(t *testing.T) {
	v := view(2, "0 1t")
	v.Memory.Ending = map[types.UID]Termination{v.Pods[1].UID: {Since: noon, Grace: time.Hour}}
	v.Pods[1].Grace = time.Second
	v.Now = noon.Add(30 * time.Minute)
	if a := Pods(v); deeds(a) != "" || a.Recheck != time.Second+stuckTerminatingAfter {
		t.Errorf("planned %q, recheck after %v; want no plan, and the whole stuck period after the new grace period", deeds(a), a.Recheck)
	}
}
