package slots

import (
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
)

const uid = types.UID("0d3f7c1e-0000-4000-8000-000000000001")

func TestPodNameRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		owner := rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`).Draw(t, "owner")
		uid := types.UID(rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}`).Draw(t, "uid"))
		slot := Slot(rapid.Int32Range(0, math.MaxInt32).Draw(t, "slot"))
		if rapid.Bool().Draw(t, "of a node") {
			slot = OfNode(rapid.StringMatching(`[a-z0-9.-]{1,60}`).Draw(t, "node"))
		}
		name := PodName(owner, uid, "", slot)
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			t.Fatalf("pod name %q is not a valid label: %v", name, problems)
		}
		if got := FromName(name, owner, uid, ""); got != slot {
			t.Fatalf("FromName(%q) = %d, want %d", name, got, slot)
		}
		if other := PodName(owner, uid, "x", slot); other == name {
			t.Fatalf("pod name %q does not depend on the replaced pod", name)
		}
	})
}

// Pod names must not change, so that other versions of this program find the pods of this version.
func TestPodNamesAreStable(t *testing.T) {
	for _, test := range []struct {
		owner string
		slot  Slot
		want  string
	}{
		{"foo", 0, "foo-fcb6587f-0"},
		{"foo", math.MaxInt32, "foo-fcb6587f-2147483647"},
		{strings.Repeat("a", 60), 3, strings.Repeat("a", 43) + "-fcb6587f-3"},
		{"foo", OfNode("node-0"), "foo-fcb6587f-79a5baf0881e1e04"},
		{strings.Repeat("a", 60), OfNode("node-1"), strings.Repeat("a", 37) + "-fcb6587f-79a5bb30881e1e70"},
	} {
		if got := PodName(test.owner, uid, "", test.slot); got != test.want {
			t.Errorf("the pod of %s in slot %s is %s, want %s", test.owner, test.slot, got, test.want)
		}
	}
}

func TestForeignNames(t *testing.T) {
	name := PodName("foo", uid, "", 7)
	for _, foreign := range []string{"", "-", "foo", "foo-7", name + "0", name[1:], "x" + name, strings.Replace(name, "-7", "-x", 1), strings.Replace(name, "-7", "-ffffffffffffffffff", 1), strings.Replace(name, "-7", "-07", 1), strings.Replace(name, "-7", "-+7", 1), name + "-"} {
		if foreign == name {
			continue
		}
		if got := FromName(foreign, "foo", uid, ""); got != None && foreign != PodName("foo", uid, "", got) {
			t.Errorf("FromName(%q) = %d, want none", foreign, got)
		}
	}
	if PodName("a.b", uid, "", 0) != "a.b-fcb6587f-0" || strings.Contains(PodName(strings.Repeat("a", 42)+".b", uid, "", 0), ".-") {
		t.Error("an owner name is truncated at a dot, or a truncated owner name ends in a dot")
	}
}

func FuzzFromName(f *testing.F) {
	f.Add(PodName("foo", uid, "", 3), "foo")
	f.Add("-", "")
	f.Fuzz(func(t *testing.T, pod, owner string) {
		if slot := FromName(pod, owner, uid, ""); slot != None && PodName(owner, uid, "", slot) != pod {
			t.Errorf("FromName(%q, %q) = %d, but PodName of this slot differs", pod, owner, slot)
		}
	})
}
