package check

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

func TestCheckServer(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]State{
		"v1.36.3": Passed, "v1.36.9-eks-1": Passed, "v1.30.0": Passed, "v1.30.0-gke.1": Passed, "v1.29.9": Unknown, "v1.38.0-alpha.1": Unknown,
		"v1.28.15": Failed, "main": Unknown,
	} {
		if c := Server(version, "https://server"); c.State != want {
			t.Errorf("%s: %+v, want %s", version, c, want)
		}
	}
}

func TestCheckCRD(t *testing.T) {
	t.Parallel()
	if c := MissingCRD(kinds.ImoocPod(), nil); c.State != Optional || !strings.Contains(c.Message, "is not installed (needed only for objects of the kind ImoocPod)") || len(c.Fix) != 1 {
		t.Errorf("missing: %+v", c)
	}
	crd := func(minimum any, established string, metadata map[string]any) map[string]any {
		return map[string]any{
			"metadata": metadata,
			"spec": map[string]any{
				"versions": []any{map[string]any{"name": "v1", "minimum": minimum}},
				"scope":    "Namespaced",
			},
			"status": map[string]any{"conditions": []any{
				map[string]any{"type": "NamesAccepted", "status": "True"}, map[string]any{"type": "Established", "status": established},
			}},
		}
	}
	want := crd(float64(0), "", nil)
	for name, test := range map[string]struct {
		have  map[string]any
		state State
		words string
	}{
		"there":           {crd(int64(0), "True", nil), Passed, "matches this version"},
		"not served":      {crd(int64(0), "False", nil), Failed, "installed but not served"},
		"another version": {crd(int64(1), "True", nil), Failed, "differs from the definition of this version"},
		"going":           {crd(int64(0), "True", map[string]any{"deletionTimestamp": "2026-01-02T15:04:05Z"}), Failed, "is being deleted"},
	} {
		c := CRD(&unstructured.Unstructured{Object: want}, &unstructured.Unstructured{Object: test.have}, nil)
		if c.State != test.state || !strings.Contains(c.Message, test.words) || (c.State == Failed) != (len(c.Fix) == 1) {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestCheckRights(t *testing.T) {
	t.Parallel()
	pods := func(namespace, verb string) Right {
		return Right{Namespace: namespace, Verb: verb, Resource: "pods"}
	}
	// rights checks a verb that needs one right besides the missing ones. asked is
	// set if the server returned an answer about that right.
	rights := func(verb string, missing []Right, asked bool, user string) Result {
		other := Right{Namespace: "a", Verb: "get", Resource: "others"}
		answers := map[Right]*bool{other: new(true)}
		if !asked {
			answers[other] = nil
		}
		for _, right := range missing {
			answers[right] = new(false)
		}
		return Asker{User: user, Namespace: "a"}.Rights(VerbRights{Verb: verb, Rights: append([]Right{other}, missing...)}, answers)
	}
	scale := Right{Namespace: "a", Verb: "patch", Group: "g", Resource: "things", Subresource: "scale"}
	for name, test := range map[string]struct {
		got     Result
		state   State
		message string
		fix     string
	}{
		"none missing":     {rights("scale", nil, true, "alice"), Passed, "ok (alice)", ""},
		"one not answered": {Asker{User: "alice"}.Rights(VerbRights{Verb: "scale", Rights: []Right{scale, pods("a", "get")}}, map[Right]*bool{scale: new(false)}), Unknown, "not reported", ""},
		"nothing answered": {rights("scale", nil, false, "alice"), Unknown, "not reported", ""},
		"in a namespace": {rights("scale", []Right{scale}, true, "alice"), Failed, "alice has no permission to patch things.g/scale",
			"kubectl create role imoocpod-scale --verb=patch --resource=things.g/scale -n a\n" +
				"kubectl create rolebinding imoocpod-scale --role=imoocpod-scale --user=alice -n a"},
		"different verbs": {rights("status", []Right{pods("a", "list"), pods("a", "get"), scale}, true, "system:serviceaccount:ci:bot"),
			Failed, "system:serviceaccount:ci:bot has no permission to list pods, get pods, patch things.g/scale",
			"kubectl create role imoocpod-status --verb=get,list --resource=pods -n a\n" +
				"kubectl create rolebinding imoocpod-status --role=imoocpod-status --serviceaccount=ci:bot -n a\n" +
				"kubectl create role imoocpod-status-2 --verb=patch --resource=things.g/scale -n a\n" +
				"kubectl create rolebinding imoocpod-status-2 --role=imoocpod-status-2 --serviceaccount=ci:bot -n a"},
		"everywhere, and many": {rights("x", []Right{pods("", "a"), pods("", "b"), pods("", "c"), pods("", "d"), pods("", "e"), pods("", "f")}, true, "alice"),
			Failed, "alice has no permission to a pods, b pods, c pods, d pods, and 2 more",
			"kubectl create clusterrole imoocpod-x --verb=a,b,c,d,e,f --resource=pods\n" +
				"kubectl create clusterrolebinding imoocpod-x --clusterrole=imoocpod-x --user=alice"},
		"one more than a few": {rights("x", []Right{pods("", "a"), pods("", "b"), pods("", "c"), pods("", "d"), pods("", "e")}, true, "alice"),
			Failed, "alice has no permission to a pods, b pods, c pods, d pods, e pods",
			"kubectl create clusterrole imoocpod-x --verb=a,b,c,d,e --resource=pods\n" +
				"kubectl create clusterrolebinding imoocpod-x --clusterrole=imoocpod-x --user=alice"},
		"of what is in no namespace": {rights("install", []Right{pods("a", "get"), {Verb: "get", Resource: "nodes"}}, true, "alice"),
			Failed, "alice has no permission to get pods, get nodes",
			"kubectl create clusterrole imoocpod-install --verb=get --resource=nodes,pods\n" +
				"kubectl create clusterrolebinding imoocpod-install --clusterrole=imoocpod-install --user=alice"},
	} {
		if c := test.got; c.State != test.state || c.Message != test.message || strings.Join(c.Fix, "\n") != test.fix {
			t.Errorf("%s: %s %q\n%s", name, c.State, c.Message, strings.Join(c.Fix, "\n"))
		}
	}
}

func TestCheckLoops(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	loop := func(scope leaserecord.Scope, version string, ago time.Duration) leaserecord.Loop {
		return leaserecord.Loop{Holder: "h", User: "alice", Host: "laptop", PID: 4711, Version: version, Scope: scope, Since: now.Add(-time.Hour), Renewed: now.Add(-ago)}
	}
	const alice = "alice on laptop (process 4711), since 2026-01-02 14:04:05 UTC"
	kinds := []string{"imoocpods.batch.tutorial.kubebuilder.io", "helloworlds.test.jiaozi.com"}
	for name, test := range map[string]struct {
		loops     []leaserecord.Loop
		namespace string
		want      string
	}{
		"none": {nil, "a", "failed no controller is running for namespace a [kubectl imoocpod run-controller -n a]"},
		"one":  {[]leaserecord.Loop{loop(leaserecord.Scope{Namespace: "a"}, "v1", 0)}, "a", "passed the built-in kinds in namespace a: " + alice + " []"},
		"two": {[]leaserecord.Loop{loop(leaserecord.Scope{Namespace: "a"}, "v1", 0), loop(leaserecord.Scope{}, "v1", 0)}, "a",
			"passed the built-in kinds in namespace a: " + alice + " []\npassed the built-in kinds in all namespaces: " + alice + " []"},
		"elsewhere":           {[]leaserecord.Loop{loop(leaserecord.Scope{Namespace: "b"}, "v1", 0)}, "a", "failed no controller is running for namespace a [kubectl imoocpod run-controller -n a]"},
		"dead":                {[]leaserecord.Loop{loop(leaserecord.Scope{}, "v1", time.Minute)}, "a", "failed no controller is running for namespace a; the last one was " + alice + ", and last renewed its lease at 2026-01-02 15:03:05 UTC [kubectl imoocpod run-controller -n a]"},
		"elsewhere, and here": {[]leaserecord.Loop{loop(leaserecord.Scope{Namespace: "b"}, "v1", 0), loop(leaserecord.Scope{Namespace: "a"}, "v1", 0)}, "a", "passed the built-in kinds in namespace a: " + alice + " []"},
		"dead, and alive":     {[]leaserecord.Loop{loop(leaserecord.Scope{}, "v1", time.Minute), loop(leaserecord.Scope{Namespace: "a"}, "v1", 0)}, "a", "passed the built-in kinds in namespace a: " + alice + " []"},
		"two dead ones":       {[]leaserecord.Loop{loop(leaserecord.Scope{}, "v1", time.Minute), loop(leaserecord.Scope{}, "v1", time.Hour)}, "a", "failed no controller is running for namespace a; the last one was " + alice + ", and last renewed its lease at 2026-01-02 15:03:05 UTC [kubectl imoocpod run-controller -n a]"},
		"for one kind":        {[]leaserecord.Loop{loop(leaserecord.Scope{Namespace: "a", Kinds: []string{"imoocpods.batch.tutorial.kubebuilder.io"}}, "v1", 0)}, "a", "passed imoocpods.batch.tutorial.kubebuilder.io in namespace a: " + alice + " []\nfailed no controller reconciles helloworlds.test.jiaozi.com in namespace a [kubectl imoocpod run-controller -n a]"},
		"for one namespace":   {[]leaserecord.Loop{loop(leaserecord.Scope{Namespace: "a"}, "v1", 0)}, "", "passed the built-in kinds in namespace a: " + alice + " []\nfailed no controller is running for all namespaces [kubectl imoocpod run-controller -A]"},
		"of another version":  {[]leaserecord.Loop{loop(leaserecord.Scope{}, "v0", 0)}, "a", "failed the built-in kinds in all namespaces: " + alice + "; it is version v0, but this program is version v1: stop it, and start this version [kubectl imoocpod run-controller -A]"},
		"one from the future": {[]leaserecord.Loop{loop(leaserecord.Scope{Namespace: "a"}, "v1", -time.Hour)}, "a",
			"failed no controller is running for namespace a; the last one was " + alice + ", and last renewed its lease at 2026-01-02 16:04:05 UTC [kubectl imoocpod run-controller -n a]"},
		"one whose clock is ahead": {[]leaserecord.Loop{loop(leaserecord.Scope{Namespace: "a"}, "v1", -time.Second)}, "a", "passed the built-in kinds in namespace a: " + alice + " []"},
		"of an unknown version":    {[]leaserecord.Loop{loop(leaserecord.Scope{}, "", 0)}, "a", "passed the built-in kinds in all namespaces: " + alice + " []"},
		"for a declared kind": {[]leaserecord.Loop{loop(leaserecord.Scope{Namespace: "a", Kinds: []string{"widgets.example.com"}}, "v1", 0)}, "a",
			"passed widgets.example.com in namespace a: " + alice + " []\nfailed no controller reconciles imoocpods.batch.tutorial.kubebuilder.io, helloworlds.test.jiaozi.com in namespace a [kubectl imoocpod run-controller -n a]"},
	} {
		var lines []string
		for _, c := range Loops(test.loops, kinds, test.namespace, "v1", now, nil) {
			lines = append(lines, string(c.State)+" "+c.Message+" ["+strings.Join(c.Fix, "; ")+"]")
		}
		if got := strings.Join(lines, "\n"); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, test.want)
		}
	}
	if len(kinds) != 2 || kinds[0] != "imoocpods.batch.tutorial.kubebuilder.io" {
		t.Error("the kinds were changed")
	}
}

func TestCheckDeclared(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	loop := func(scope leaserecord.Scope, ago time.Duration) []leaserecord.Loop {
		return []leaserecord.Loop{{Holder: "h", Scope: scope, Renewed: now.Add(-ago)}}
	}
	const missing = "failed no controller reconciles lamps.example.com in namespace a [kubectl imoocpod run-controller -n a --kinds lamps.example.com]"
	lamps := []string{"lamps.example.com"}
	for name, test := range map[string]struct {
		loops     []leaserecord.Loop
		kinds     []string
		namespace string
		want      string
	}{
		"no loop":                     {nil, lamps, "a", missing},
		"no objects":                  {nil, nil, "a", ""},
		"one for all that is shipped": {loop(leaserecord.Scope{Namespace: "a"}, 0), lamps, "a", missing},
		"one for what is declared":    {loop(leaserecord.Scope{Namespace: "a", Declared: true}, 0), lamps, "a", ""},
		"one for the kind":            {loop(leaserecord.Scope{Namespace: "a", Kinds: lamps}, 0), lamps, "a", ""},
		"a dead one for the kind":     {loop(leaserecord.Scope{Namespace: "a", Kinds: lamps}, time.Minute), lamps, "a", missing},
		"one elsewhere":               {loop(leaserecord.Scope{Namespace: "b", Kinds: lamps}, 0), lamps, "a", missing},
		"one of a namespace, for all": {loop(leaserecord.Scope{Namespace: "b", Kinds: lamps}, 0), lamps, "", "failed no controller reconciles lamps.example.com in all namespaces [kubectl imoocpod run-controller -A --kinds lamps.example.com]"},
	} {
		var lines []string
		for _, c := range Declared(test.loops, test.kinds, test.namespace, now, nil) {
			lines = append(lines, string(c.State)+" "+c.Message+" ["+strings.Join(c.Fix, "; ")+"]")
		}
		if got := strings.Join(lines, "\n"); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, test.want)
		}
	}
}

func TestCheckDeployed(t *testing.T) {
	t.Parallel()
	for has, want := range map[string]State{"v1": Passed, "v0": Failed, "": Unknown} {
		if c := Deployed("a", has, "v1", 1, 1, nil); c.State != want {
			t.Errorf("%q: %+v", has, c)
		}
	}
}

// A controller without an available pod fails its check, whatever its version is.
func TestCheckAvailable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		desired, available int64
		want               State
	}{
		"all run": {2, 2, Passed}, "one runs": {2, 1, Passed}, "none runs": {2, 0, Failed}, "scaled to zero": {0, 0, Passed},
	} {
		result := Deployed("ns", "v1", "v1", test.desired, test.available, nil)
		if result.State != test.want || (result.State == Failed) != strings.Contains(strings.Join(result.Fix, "\n"), "status deployment/imoocpod-controller -n ns") {
			t.Errorf("%s: %+v", name, result)
		}
	}
}

func TestCheckHeldUp(t *testing.T) {
	t.Parallel()
	report := func(reason, message string) status.Report {
		return status.NewReport(status.Snapshot{Object: status.Object{
			Identity: status.Identity{Type: "thing.g", Namespace: "a", Name: "foo"},
			Counts:   status.Counts{Desired: 2},
			Evidence: status.Evidence{ObservedGeneration: 1, Conditions: []metav1.Condition{{Type: "ReplicaFailure", Status: metav1.ConditionTrue, Reason: reason, Message: message}}},
		}})
	}
	quota := report("QuotaExceeded", "exceeded quota: few")
	if quota.Problems[0].Code != problem.CodeQuotaExceeded {
		t.Fatalf("the problem is %+v", quota.Problems)
	}
	checks := HeldUp([]status.Report{status.NewReport(status.Snapshot{}), quota}, nil)
	if len(checks) != 1 || checks[0].State != Failed || !strings.Contains(checks[0].Message, "thing.g/foo in namespace a") ||
		strings.Join(checks[0].Fix, "") != "kubectl describe quota -n a" {
		t.Errorf("a quota: %+v", checks)
	}
	quota.Problems = append([]problem.Problem{{Code: problem.CodeCrashLoop}}, quota.Problems...)
	if checks := HeldUp([]status.Report{quota}, nil); len(checks) != 1 || checks[0].State != Failed {
		t.Errorf("a quota, and a pod that crashes: %+v", checks)
	}
	checks = HeldUp([]status.Report{report("AdmissionRefused", "no")}, nil)
	if len(checks) != 1 || strings.Join(checks[0].Fix, "") != "kubectl imoocpod describe thing.g/foo -n a" {
		t.Errorf("admission: %+v", checks)
	}
	if checks := HeldUp(nil, nil); len(checks) != 1 || checks[0].State != Passed {
		t.Errorf("nothing: %+v", checks)
	}
}

func TestCheckPaused(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 5, 0, 0, time.UTC)
	report := func(name string, pause apis.Pause) status.Report {
		return status.NewReport(status.Snapshot{Object: status.Object{Identity: status.Identity{Type: "thing.g", Namespace: "a", Name: name}, UserPause: pause}, Now: now})
	}
	soon, late := report("soon", apis.Pause{Until: now.Add(time.Hour)}), report("late", apis.Pause{Until: now.Add(48 * time.Hour)})
	forever, over := report("forever", apis.Pause{Forever: true}), report("over", apis.Pause{Until: now})
	for name, c := range map[string]struct {
		reports   []status.Report
		namespace string
		message   string
		fix       string
	}{
		"nothing":   {[]status.Report{over}, "a", "", ""},
		"a day":     {[]status.Report{report("day", apis.Pause{Until: now.Add(24 * time.Hour)})}, "a", "1 object paused: kubectl imoocpod status --only=paused -n a", ""},
		"soon over": {[]status.Report{over, soon}, "a", "1 object paused: kubectl imoocpod status --only=paused -n a", ""},
		"long": {[]status.Report{soon, late, forever}, "", "3 objects paused, 2 of them forever or for more than a day: kubectl imoocpod status --only=paused -A",
			"kubectl imoocpod resume thing.g/late -n a; kubectl imoocpod resume thing.g/forever -n a"},
	} {
		t.Run(name, func(t *testing.T) {
			checks := Paused(c.reports, c.namespace, now, nil)
			if c.message == "" {
				if len(checks) > 0 {
					t.Errorf("%+v", checks)
				}
				return
			}
			if len(checks) != 1 || checks[0].State != Passed || checks[0].Message != c.message || strings.Join(checks[0].Fix, "; ") != c.fix {
				t.Errorf("%+v\nwant %q and %q", checks, c.message, c.fix)
			}
		})
	}
}
