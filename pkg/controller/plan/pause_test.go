package plan

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

func until(after time.Duration) apis.Pause {
	return apis.Pause{Until: noon.Add(after), By: "alice", Reason: "INC-7"}
}

// During a pause, the status still counts the pods, and Progressing is false. When the pause ends, the
// condition Paused becomes false.
func TestConditionPaused(t *testing.T) {
	rules := func(v View) Actions { return Decide(v, Pods) }
	v := view(3, "0 1")
	said := func() (paused *metav1.Condition, progressing metav1.Condition) {
		t.Helper()
		p := rules(v)
		v.Owner.Status, v.Memory = p.Status, p.Memory
		v.Memory.Written = &Written{At: v.Now, Status: p.Status, Stored: p.Status}
		if p.Status.Current != 2 || p.Status.Desired != 3 || !meta.IsStatusConditionFalse(p.Status.Conditions, apis.ConditionReady) {
			t.Errorf("the status is %+v", p.Status)
		}
		return meta.FindStatusCondition(p.Status.Conditions, apis.ConditionPaused), *meta.FindStatusCondition(p.Status.Conditions, apis.ConditionProgressing)
	}
	if paused, progressing := said(); paused != nil || progressing.Reason != "CreatingPods" {
		t.Errorf("before the pause, Paused is %+v and Progressing %+v", paused, progressing)
	}
	v.Owner.Pause = until(time.Hour)
	v.Now = v.Now.Add(time.Millisecond)
	if p := rules(v); !p.WriteStatus {
		t.Error("the begin of the pause is not written at once")
	}
	paused, progressing := said()
	if paused == nil || paused.Status != metav1.ConditionTrue || paused.Message != "paused until 2026-01-02T13:00:00Z by alice: INC-7" {
		t.Errorf("Paused is %+v", paused)
	}
	if progressing.Status != metav1.ConditionFalse || progressing.Reason != "Paused" || progressing.Message != "the controller makes no changes while the object is paused" {
		t.Errorf("Progressing is %+v", progressing)
	}
	if p := rules(v); p.WriteStatus {
		t.Error("the status is written again")
	}
	v.Now = noon.Add(time.Hour)
	if p := rules(v); !p.WriteStatus || !p.Writes() {
		t.Error("the end of the pause is not written at once, or nothing is done")
	}
	if paused, progressing = said(); paused == nil || paused.Status != metav1.ConditionFalse || paused.Reason != "PauseEnded" || progressing.Reason != "CreatingPods" {
		t.Errorf("after the pause, Paused is %+v and Progressing %+v", paused, progressing)
	}
	v.Owner.Pause = apis.Pause{}
	if paused, _ = said(); paused == nil || paused.Status != metav1.ConditionFalse || paused.Reason != "Resumed" {
		t.Errorf("without annotations, Paused is %+v", paused)
	}
	v.Owner.Pause = apis.Pause{Invalid: "it must be a time"}
	if paused, _ = said(); paused == nil || paused.Status != metav1.ConditionFalse || paused.Reason != apis.ReasonInvalidPause || paused.Message != "it must be a time" {
		t.Errorf("with an end that cannot be read, Paused is %+v", paused)
	}
	if !rules(v).Writes() {
		t.Error("with an end that cannot be read, nothing is done")
	}
}

// If pods change during a pause, the status is written at most once a second.
func TestStatusOfWhatIsPausedIsNotUrgent(t *testing.T) {
	rules := func(v View) Actions { return Decide(v, Pods) }
	v := view(3, "0 1 2")
	v.Owner.Pause = until(time.Hour)
	p := rules(v)
	v.Owner.Status, v.Memory = p.Status, p.Memory
	v.Memory.Written = &Written{At: v.Now, Status: p.Status, Stored: p.Status}
	v.Pods = pods("0 1")
	v.Now = v.Now.Add(100 * time.Millisecond)
	if p = rules(v); p.WriteStatus || p.Recheck != 900*time.Millisecond {
		t.Errorf("written %t, again after %s, want after 900ms", p.WriteStatus, p.Recheck)
	}
}

// In any state, a plan for a paused owner writes only the status. The next plan is due when the pause
// ends or earlier. The same applies to a controller that has just started.
func TestNothingIsWrittenForWhatIsPaused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"0", "1", "2n", "3t", "4l", "5f", "6", "0f", "1n", "x", "xf", "9t"}), 0, 8).Draw(t, "pods")
		v := view(rapid.Int32Range(0, 6).Draw(t, "desired"), strings.Join(words, " "))
		v.Owner.TemplateHash = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "hash")
		for i := range v.Pods {
			v.Pods[i].Template = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "template")
		}
		v.Owner.Wanted = Wanted{Name: "web", Fields: wantedFields(int64(v.Owner.Desired), "nginx")}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"web", "older"}), func(s string) string { return s }).Draw(t, "deployments") {
			d := deployment(rapid.Int32Range(0, 6).Draw(t, "replicas"), rapid.SampledFrom([]string{"nginx", "httpd"}).Draw(t, "image"))
			d.Name = name
			v.Deployments = append(v.Deployments, d)
		}
		v.Nodes = []*corev1.Node{node("a"), node("b"), node("c")}[:rapid.IntRange(0, 3).Draw(t, "nodes")]
		v.Owner.Invalid = rapid.SampledFrom([]string{"", "", "no count"}).Draw(t, "invalid")
		left := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "left"))
		v.Owner.Pause = apis.Pause{Until: v.Now.Add(left)}
		if rapid.Bool().Draw(t, "forever") {
			v.Owner.Pause, left = apis.Pause{Forever: true}, 0
		}
		for name, rules := range map[string]func(View) Actions{"pods": Pods, "deployment": Deployments, "nodes": Nodes} {
			p := Decide(v, rules)
			if p.Writes() {
				t.Fatalf("%s: writes %q", name, p.Operations)
			}
			if left > 0 && (p.Recheck == 0 || p.Recheck > left) {
				t.Fatalf("%s: looks again after %s, and the pause ends after %s", name, p.Recheck, left)
			}
			if !meta.IsStatusConditionTrue(p.Status.Conditions, apis.ConditionPaused) || meta.IsStatusConditionTrue(p.Status.Conditions, apis.ConditionProgressing) {
				t.Fatalf("%s: the conditions are %+v", name, p.Status.Conditions)
			}
			another := v
			another.Memory = Memory{} // a controller that has just started
			if q := Decide(another, rules); q.Writes() {
				t.Fatalf("%s: another loop writes %q", name, deeds(q))
			}
			v := v
			v.Now = v.Owner.Pause.Until
			if over, plain := Decide(v, rules), rules(v); !v.Owner.Pause.Forever && (over.Writes() != plain.Writes() || deeds(over) != deeds(plain)) {
				t.Fatalf("%s: when the pause is over it does %q, want %q", name, deeds(over), deeds(plain))
			}
		}
	})
}
