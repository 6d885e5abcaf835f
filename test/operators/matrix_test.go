package operators

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// late is how long a wait is allowed to continue after its condition is met.
const late = 2 * time.Second

// rounds is how often the end of each wait is measured.
const rounds = 10

// patient is the flag for a wait that must end before its timeout.
const patient = "--timeout=110s"

// stories returns the tests that run for each kind while its operator is running, by their column
// in the table. The test lifecycle fills several columns.
func stories() map[string]func(*testing.T, kind) {
	return map[string]func(*testing.T, kind){
		"lifecycle": lifecycle, "paused": paused, "bad image": missingImage, "quota": quota, "reverted": reverted,
	}
}

// testKinds installs an operator, and runs all tests of its kinds.
func testKinds(t *testing.T, o *operator, kinds ...kind) {
	o.install(t)
	t.Run("running", func(t *testing.T) {
		for _, k := range kinds {
			for what, story := range stories() {
				if k.not[what] != "" {
					continue
				}
				t.Run(k.row+"/"+what, func(t *testing.T) {
					t.Parallel()
					story(t, k)
				})
			}
		}
	})
	t.Run("stopped", func(t *testing.T) { stopped(t, o, kinds) })
}

// ended checks that a wait succeeded, and that it ended soon after its condition was met.
func (s *subject) ended(t *testing.T, r result) {
	t.Helper()
	if r.Code != 0 {
		t.Fatalf("%s\nwant exit code 0", r)
	}
	so, is := s.w.so(r.ended, r.ended.Add(behind), behind)
	if !is {
		t.Fatalf("%s\nended before its condition was met: %v", r, s.w.reason())
	}
	if !so.from.After(r.begun) {
		return // the condition was met from the start
	}
	took := r.ended.Sub(so.from)
	t.Logf("%s: ended %s after its condition was met", strings.Fields(r.Line)[2], took.Round(time.Millisecond))
	if took <= late {
		return
	}
	// Measure how long a status command takes on this machine.
	_, look := statusOf(t, s)
	if slow := look.ended.Sub(look.begun); took > late+2*slow {
		t.Errorf("%s\nended %s after its condition was met; a status command takes %s", r, took, slow)
	}
}

// watched polls the status until it is ready. It fails the test if a report contradicts the
// observations of the test's own watch.
func (s *subject) watched(t *testing.T) {
	t.Helper()
	for over := time.Now().Add(harness.Timeout); ; {
		wasSo, was := s.w.so(time.Now(), time.Now(), 0)
		report, r := statusOf(t, s)
		_, is := s.w.so(r.begun, r.ended.Add(behind), 0)
		switch {
		case report.Verdict == "ready" && !is:
			t.Fatalf("%s\nreported ready too early: %v", r, s.w.reason())
		case report.Verdict == "failed", report.Verdict == "paused":
			t.Fatalf("%s\nreported %s, but no pod has failed and nothing is paused", r, report.Verdict)
		case report.Verdict == "ready":
			return
		case was && r.begun.Sub(wasSo.from) > late:
			t.Fatalf("%s\nreported not ready, but the object has been ready for %s", r, r.begun.Sub(wasSo.from))
		case time.Now().After(over):
			t.Fatalf("%s\ntimed out before the object was ready: %v", r, s.w.reason())
		}
	}
}

// lifecycle creates an object, scales it, and changes and restarts its pods.
func lifecycle(t *testing.T, k kind) {
	s := newSubject(t, k, k.few)
	// Do not use t.TempDir. Its path contains the name of the test, which can contain a comma, and
	// the plugin splits the value of -f at commas.
	file := filepath.Join(plane.Dir, s.namespace+".yaml")
	if err := os.WriteFile(file, []byte(k.manifest(k.few)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.ended(t, imoocpod(t, s.namespace, "create", "-f", file, "--wait", patient))
	if k.twoCounts != nil {
		// The command must fail, because several fields could be the replica count.
		r := imoocpod(t, s.namespace, "create", s.resource.GroupResource().String()+"/other", "--replicas=2")
		for _, path := range k.twoCounts {
			if r.Code == 0 || !strings.Contains(r.Stderr, "--replicas-path") || !strings.Contains(r.Stderr, path) {
				t.Errorf("%s\nwant an error that suggests --replicas-path with %s", r, path)
			}
		}
	}

	if k.not["scale"] == "" {
		s.scaleOnly(t, k.many)
		s.watched(t)
		s.scaleOnly(t, k.few)
		s.watched(t)
	}
	s.ask(t, secondImage)
	s.watched(t)

	if k.not["scale --timeout"] == "" {
		counts := []int{k.many, k.few}
		if !k.never0 {
			counts = append(counts, 0, k.few)
		}
		for i := range max(rounds, len(counts)) {
			s.ended(t, s.scale(t, counts[i%len(counts)], patient))
		}
	}
	for i := range rounds {
		s.ask(t, []string{firstImage, secondImage}[i%2])
		s.ended(t, s.run(t, "wait", patient))
	}
	s.restart(t)
}

// scaleOnly scales, and checks that only the replica count has changed.
func (s *subject) scaleOnly(t *testing.T, n int) {
	t.Helper()
	spec := func() map[string]any {
		obj, err := s.objects().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		spec, _, _ := unstructured.NestedMap(obj.Object, "spec")
		return spec
	}
	before := spec()
	if r := s.scale(t, n); r.Code != 0 {
		t.Fatal(r)
	}
	if err := unstructured.SetNestedField(before, int64(n), s.count[1:]...); err != nil {
		t.Fatal(err)
	}
	if after := spec(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("spec after the scale =\n%v\nwant\n%v", after, before)
	}
}

// restart restarts the pods, or checks that a restart is rejected with a suggestion.
func (s *subject) restart(t *testing.T) {
	t.Helper()
	s.w.Lock()
	before := map[types.UID]bool{}
	for _, pod := range s.w.own() {
		before[pod.UID] = true
	}
	generation := s.w.object.GetGeneration()
	s.w.Unlock()
	if s.unrestarted != "" {
		r := s.run(t, "restart")
		obj, err := s.objects().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || obj.GetGeneration() != generation {
			t.Errorf("%s\nthe rejected restart changed the object (error %v)", r, err)
		}
		if r.Code == 0 || !strings.Contains(r.Stderr, s.unrestarted) {
			t.Errorf("%s\nwant an error with %q", r, s.unrestarted)
		}
		return
	}
	s.want(func() { s.before = before })
	s.ended(t, s.run(t, "restart", "--wait", patient))
}

// paused runs a rollout until it waits for an action, checks the report, and resumes the rollout.
func paused(t *testing.T, k kind) {
	k.spec = cmp.Or(k.hold.spec, k.spec)
	s := ready(t, k, k.many)
	s.want(func() { s.asked = secondImage })
	s.patch(t, k.hold.begin)
	r := s.run(t, "wait", patient)
	if err := s.w.within(behind, func() error { return k.hold.held(s.w.object, s.w.own()) }); err != nil {
		t.Fatalf("%s\nended before the rollout was paused: %v", r, err)
	}
	if r.Code != 3 || !strings.Contains(r.Stderr, "paused") || !strings.Contains(r.Stderr, k.hold.hint) {
		t.Fatalf("%s\nwant exit code 3, the word paused, and %q", r, k.hold.hint)
	}
	if report, r := statusOf(t, s); report.Verdict != "paused" || !strings.Contains(report.Hint, k.hold.hint) {
		t.Fatalf("%s\nwant verdict paused, and the hint %q", r, k.hold.hint)
	}
	if k.hold.ofStatus {
		s.patch(t, k.hold.end, "status")
	} else {
		s.patch(t, k.hold.end)
	}
	s.ended(t, s.run(t, "wait", patient))
}

// missingImage sets an image that cannot be pulled, and checks that a wait fails.
func missingImage(t *testing.T, k kind) {
	s := ready(t, k, k.few)
	s.ask(t, badImage)
	r := s.run(t, "wait", "--timeout", "90s", "--fail-after", "2s")
	if r.Code != 3 || !strings.Contains(r.Stderr, badImage) && !strings.Contains(r.Stderr, "ImagePull") {
		t.Fatalf("%s\nwant exit code 3, and %q or ImagePull", r, badImage)
	}
	if report, r := statusOf(t, s); report.Verdict != "failed" || report.ReasonCode != "ImagePullFailed" {
		t.Fatalf("%s\nwant verdict failed, with reason code ImagePullFailed", r)
	}
}

// quota limits the pods with a quota, and checks that a scale beyond the quota fails.
func quota(t *testing.T, k kind) {
	s := ready(t, k, k.few)
	s.w.Lock()
	pods := fmt.Sprint(len(s.w.own()))
	s.w.Unlock()
	plane.CreateObject(t, s.namespace, "resourcequotas",
		"{apiVersion: v1, kind: ResourceQuota, metadata: {name: full}, spec: {hard: {pods: "+pods+"}}}")
	harness.Eventually(t, "the quota counts the pods", func() bool {
		full := plane.Object(t, s.namespace, "resourcequotas", "full")
		used, _, _ := unstructured.NestedString(full.Object, "status", "used", "pods")
		return used == pods
	})
	r := s.scale(t, k.many, "--timeout", "90s", "--fail-after", "2s")
	if r.Code != 3 || !strings.Contains(r.Stderr, "quota") {
		t.Fatalf("%s\nwant exit code 3, and the word quota", r)
	}
	if report, r := statusOf(t, s); report.Verdict != "failed" || report.ReasonCode != "QuotaExceeded" {
		t.Fatalf("%s\nwant verdict failed, with reason code QuotaExceeded", r)
	}
}

// reverted resets the replica count as another client while scale waits, and checks that scale fails.
func reverted(t *testing.T, k kind) {
	s := ready(t, k, k.few)
	done := make(chan result, 1)
	go func() { done <- s.scale(t, k.many, patient) }()
	s.w.until(t, "the replica count is changed", func() error {
		if n, _, _ := unstructured.NestedInt64(s.w.object.Object, k.count...); int(n) != k.many {
			return fmt.Errorf("the count is %d, want %d", n, k.many)
		}
		return nil
	})
	s.patch(t, fmt.Sprintf(`{"spec":{%q:%d}}`, k.count[1], k.few))
	if r := <-done; r.Code != 5 || !strings.Contains(r.Stderr, "somebody") {
		t.Fatalf("%s\nwant exit code 5, and the field manager of the other client", r)
	}
	s.aim(k.few)
	s.ended(t, s.run(t, "wait", patient))
}

// stopped changes objects of all kinds while their operator is stopped, and restarts the operator.
func stopped(t *testing.T, o *operator, kinds []kind) {
	subjects := make([]*subject, len(kinds))
	for i, k := range kinds {
		subjects[i] = ready(t, k, k.few)
	}
	// Remove the webhooks first, because the server needs some time to notice that they are gone.
	if o.release != nil {
		o.release(t)
	}
	o.stop()
	t.Run("while stopped", func(t *testing.T) {
		for _, s := range subjects {
			t.Run(s.row, func(t *testing.T) {
				t.Parallel()
				s.unattended(t)
			})
		}
	})
	if o.prepare != nil {
		o.prepare(t, o.source)
	}
	o.start(t)
	t.Run("after the restart", func(t *testing.T) {
		for _, s := range subjects {
			t.Run(s.row, func(t *testing.T) {
				t.Parallel()
				s.ended(t, s.run(t, "wait", patient))
			})
		}
	})
}

// unattended changes an object whose operator is stopped, and checks that no wait succeeds.
func (s *subject) unattended(t *testing.T) {
	never := func(r result, says string) {
		t.Helper()
		if r.Code != 4 || !strings.Contains(r.Stderr, says) {
			t.Errorf("%s\nwant exit code 4, and %q, because the operator is stopped", r, says)
		}
		report, r := statusOf(t, s)
		if report.Verdict != "not reconciled" && report.Verdict != "progressing" {
			t.Errorf("%s\nwant verdict not reconciled or progressing, because the operator is stopped", r)
		}
	}
	if len(s.count) > 0 {
		never(s.scale(t, s.many, "--timeout", "15s"), "not reconciled")
		never(s.run(t, "wait", "--timeout", "5s"), "has not seen the last change")
	}
	s.ask(t, secondImage)
	never(s.run(t, "wait", "--timeout", "15s"), "not reconciled")
}
