package plan

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// rolling returns a view with pods in the notation of the function pods. An "o" means an older template,
// and a "u" means no template hash.
func rolling(desired int32, words string) View {
	plain := strings.NewReplacer("o", "", "u", "").Replace(words)
	v := view(desired, plain)
	v.Owner.TemplateHash, v.Owner.StatusPaths.Updated = "new", shown
	for i, word := range strings.Fields(words) {
		v.Pods[i].Template = "new"
		switch {
		case strings.Contains(word, "o"):
			v.Pods[i].Template = "old"
		case strings.Contains(word, "u"):
			v.Pods[i].Template = ""
		}
	}
	return v
}

func TestRolling(t *testing.T) {
	for _, test := range []struct {
		name    string
		desired int32
		pods    string
		want    string
		updated int32
		reason  string
	}{
		{"all up to date", 3, "0 1 2", "", 3, "Converged"},
		{"pods that do not say what they are made from stay", 3, "0u 1u 2u", "", 3, "Converged"},
		{"the highest first, one of a few", 3, "0o 1o 2o", "-2:outdated", 0, "RollingOut"},
		{"the only one", 1, "0o", "-0:outdated", 0, "RollingOut"},
		{"a quarter of many", 8, "0o 1o 2o 3o 4o 5o 6o 7o", "-7:outdated -6:outdated", 0, "RollingOut"},
		{"the next waits until the last is gone", 3, "0o 1o 2to", "", 0, "RollingOut"},
		{"the next waits until the new one is there", 3, "0o 1o", "+2", 0, "RollingOut"},
		{"the next waits until the new one is ready", 3, "0o 1o 2n", "", 1, "RollingOut"},
		{"then it goes", 3, "0o 1o 2", "-1:outdated", 1, "RollingOut"},
		{"a broken template stops after the first", 8, "0o 1o 2o 3o 4o 5o 6n 7n", "", 2, "RollingOut"},
		{"what is broken anyway goes at once", 3, "0on 1on 2on", "-2:outdated -1:outdated -0:outdated", 0, "RollingOut"},
		{"a mend of a broken template replaces what is broken, and no more", 8, "0o 1o 2o 3o 4o 5o 6on 7on", "-7:outdated -6:outdated", 0, "RollingOut"},
		{"also below those that have to wait", 8, "0on 1o 2o 3o 4o 5o 6n 7n", "-0:outdated", 2, "RollingOut"},
		{"a slot without a pod is unavailable", 3, "0o 2o", "+1", 0, "RollingOut"},
		{"a finished pod is unavailable", 3, "0o 1o 2f", "", 0, "RollingOut"},
		{"one of an older template does not wait", 3, "0o 1o 2fo", "-2:finished", 0, "RollingOut"},
		{"surplus stays while another is replaced", 2, "0o 1o 2o", "-1:outdated", 0, "RollingOut"},
		{"and goes besides where enough stay", 2, "0o 1o 2o 3o", "-1:outdated -3:surplus", 0, "RollingOut"},
		{"what has no slot gives way first", 3, "0 1o x", "--1:outdated", 2, "RollingOut"},
	} {
		v := rolling(test.desired, test.pods)
		p := Pods(v)
		if got := deeds(p); got != test.want {
			t.Errorf("%s: plan %q, want %q", test.name, got, test.want)
		}
		if p.Status.Updated != test.updated {
			t.Errorf("%s: %d updated, want %d", test.name, p.Status.Updated, test.updated)
		}
		if c := meta.FindStatusCondition(p.Status.Conditions, apis.ConditionProgressing); c.Reason != test.reason {
			t.Errorf("%s: progressing is %s: %s", test.name, c.Reason, c.Message)
		}
		if ready := meta.IsStatusConditionTrue(p.Status.Conditions, apis.ConditionReady); ready != (test.reason == "Converged") {
			t.Errorf("%s: ready is %t", test.name, ready)
		}
	}
}

func TestNoTemplateHash(t *testing.T) {
	v := rolling(2, "0o 1o")
	v.Owner.TemplateHash = ""
	if p := Pods(v); deeds(p) != "" {
		t.Errorf("plan %q", deeds(p))
	}
}
