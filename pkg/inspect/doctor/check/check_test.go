package check

import (
	"slices"
	"strings"
	"testing"
	"time"

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
		if r := Server(version, "https://server"); r.State != want {
			t.Errorf("version %s: %+v, want %s", version, r, want)
		}
	}
}

func TestCheckCRD(t *testing.T) {
	t.Parallel()
	if r := (Checker{}).CRD(kinds.ImoocPod(), &unstructured.Unstructured{}, nil); r.State != Optional || !strings.Contains(r.Message, "is not installed (needed only for objects of the kind ImoocPod)") || len(r.Fix) != 1 {
		t.Errorf("missing CRD: unexpected result %+v", r)
	}
	crd := func(minimum int64, established string, metadata map[string]any) map[string]any {
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
	want := crd(0, "", nil)
	for name, test := range map[string]struct {
		have  map[string]any
		state State
		words string
	}{
		"installed":       {crd(0, "True", nil), Passed, "matches this version"},
		"not served":      {crd(0, "False", nil), Failed, "installed but not served"},
		"another version": {crd(1, "True", nil), Failed, "differs from the definition of this version"},
		"being deleted":   {crd(0, "True", map[string]any{"deletionTimestamp": "2026-01-02T15:04:05Z"}), Failed, "is being deleted"},
	} {
		r := Checker{}.CRD(kinds.ImoocPod(), &unstructured.Unstructured{Object: want}, &unstructured.Unstructured{Object: test.have})
		if r.State != test.state || !strings.Contains(r.Message, test.words) || (r.State == Failed) != (len(r.Fix) == 1) {
			t.Errorf("%s: unexpected result %+v", name, r)
		}
	}
}

func TestCheckRights(t *testing.T) {
	t.Parallel()
	pods := func(namespace, verb string) Right {
		return Right{Namespace: namespace, Verb: verb, Resource: "pods"}
	}
	// rights checks a verb that needs the missing rights and one more right. If asked is set, the
	// server has answered the request for the additional right.
	rights := func(verb string, missing []Right, asked bool, user string) Result {
		other := Right{Namespace: "a", Verb: "get", Resource: "others"}
		answers := map[Right]*bool{other: new(true)}
		if !asked {
			answers[other] = nil
		}
		for _, right := range missing {
			answers[right] = new(false)
		}
		return Checker{User: user, Namespace: "a"}.Rights(VerbRights{Verb: verb, Rights: append([]Right{other}, missing...)}, answers)
	}
	scale := Right{Namespace: "a", Verb: "patch", Group: "g", Resource: "things", Subresource: "scale"}
	for name, test := range map[string]struct {
		got     Result
		state   State
		message string
		fix     string
	}{
		"none missing":     {rights("scale", nil, true, "alice"), Passed, "ok (alice)", ""},
		"one not answered": {Checker{User: "alice"}.Rights(VerbRights{Verb: "scale", Rights: []Right{scale, pods("a", "get")}}, map[Right]*bool{scale: new(false)}), Unknown, "not reported", ""},
		"nothing answered": {rights("scale", nil, false, "alice"), Unknown, "not reported", ""},
		"in a namespace": {rights("scale", []Right{scale}, true, "alice"), Failed, "alice has no permission to patch things.g/scale",
			"kubectl create role imoocpod-scale-alice --verb=patch --resource=things.g/scale -n a\n" +
				"kubectl create rolebinding imoocpod-scale-alice --role=imoocpod-scale-alice --user=alice -n a"},
		"different verbs": {rights("status", []Right{pods("a", "list"), pods("a", "get"), scale}, true, "system:serviceaccount:ci:bot"),
			Failed, "system:serviceaccount:ci:bot has no permission to list pods, get pods, patch things.g/scale",
			"kubectl create role imoocpod-status-system-serviceaccount-ci-bot --verb=get,list --resource=pods -n a\n" +
				"kubectl create rolebinding imoocpod-status-system-serviceaccount-ci-bot --role=imoocpod-status-system-serviceaccount-ci-bot --serviceaccount=ci:bot -n a\n" +
				"kubectl create role imoocpod-status-system-serviceaccount-ci-bot-2 --verb=patch --resource=things.g/scale -n a\n" +
				"kubectl create rolebinding imoocpod-status-system-serviceaccount-ci-bot-2 --role=imoocpod-status-system-serviceaccount-ci-bot-2 --serviceaccount=ci:bot -n a"},
		"many, in all namespaces": {rights("x", []Right{pods("", "a"), pods("", "b"), pods("", "c"), pods("", "d"), pods("", "e"), pods("", "f")}, true, "alice"),
			Failed, "alice has no permission to a pods, b pods, c pods, d pods, and 2 more",
			"kubectl create clusterrole imoocpod-x-alice --verb=a,b,c,d,e,f --resource=pods\n" +
				"kubectl create clusterrolebinding imoocpod-x-alice --clusterrole=imoocpod-x-alice --user=alice"},
		"five are all listed": {rights("x", []Right{pods("", "a"), pods("", "b"), pods("", "c"), pods("", "d"), pods("", "e")}, true, "alice"),
			Failed, "alice has no permission to a pods, b pods, c pods, d pods, e pods",
			"kubectl create clusterrole imoocpod-x-alice --verb=a,b,c,d,e --resource=pods\n" +
				"kubectl create clusterrolebinding imoocpod-x-alice --clusterrole=imoocpod-x-alice --user=alice"},
		"one is cluster-scoped": {rights("install", []Right{pods("a", "get"), {Verb: "get", Resource: "nodes"}}, true, "alice"),
			Failed, "alice has no permission to get pods, get nodes",
			"kubectl create clusterrole imoocpod-install-alice --verb=get --resource=nodes\n" +
				"kubectl create clusterrolebinding imoocpod-install-alice --clusterrole=imoocpod-install-alice --user=alice\n" +
				"kubectl create role imoocpod-install-alice-2 --verb=get --resource=pods -n a\n" +
				"kubectl create rolebinding imoocpod-install-alice-2 --role=imoocpod-install-alice-2 --user=alice -n a"},
		"of a single object": {rights("x", []Right{{Namespace: "b", Verb: "get", Resource: "pods", Name: "only"}}, true, "alice"),
			Failed, "alice has no permission to get pods",
			"kubectl create role imoocpod-x-alice --verb=get --resource=pods --resource-name=only -n b\n" +
				"kubectl create rolebinding imoocpod-x-alice --role=imoocpod-x-alice --user=alice -n b"},
	} {
		if r := test.got; r.State != test.state || r.Message != test.message || strings.Join(r.Fix, "\n") != test.fix {
			t.Errorf("%s: state %s, message %q, fix\n%s", name, r.State, r.Message, strings.Join(r.Fix, "\n"))
		}
	}
}

func now() time.Time { return time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC) }

func loop(scope leaserecord.Scope, version string, ago time.Duration) leaserecord.Loop {
	return leaserecord.Loop{Holder: "h", User: "alice", Host: "laptop", PID: 4711, Version: version, Scope: scope, Since: now().Add(-time.Hour), Renewed: now().Add(-ago)}
}

func lines(checks []Result) string {
	var lines []string
	for _, r := range checks {
		lines = append(lines, string(r.State)+" "+r.Message+" ["+strings.Join(r.Fix, "; ")+"]")
	}
	return strings.Join(lines, "\n")
}

func TestCheckLoops(t *testing.T) {
	t.Parallel()
	const alice = "alice on laptop (process 4711), since 2026-01-02 14:04:05 UTC"
	kinds := []string{"imoocpods.batch.tutorial.kubebuilder.io", "helloworlds.test.jiaozi.com"}
	for name, test := range map[string]struct {
		loops     []leaserecord.Loop
		namespace string
		want      string
	}{
		"no controller":  {nil, "a", "failed no controller is running for namespace a [kubectl imoocpod run-controller -n a]"},
		"one controller": {[]leaserecord.Loop{loop(leaserecord.Scope{Namespace: "a"}, "v1", 0)}, "a", "passed the shipped kinds in namespace a: " + alice + " []"},
		"two controllers": {[]leaserecord.Loop{loop(leaserecord.Scope{Namespace: "a"}, "v1", 0), loop(leaserecord.Scope{}, "v1", 0)}, "a",
			"passed the shipped kinds in namespace a: " + alice + " []\npassed the shipped kinds in all namespaces: " + alice + " []"},
		"elsewhere":           {[]leaserecord.Loop{loop(leaserecord.Scope{Namespace: "b"}, "v1", 0)}, "a", "failed no controller is running for namespace a [kubectl imoocpod run-controller -n a]"},
		"expired":             {[]leaserecord.Loop{loop(leaserecord.Scope{}, "v1", time.Minute)}, "a", "failed no controller is running for namespace a; the last one was " + alice + ", and last renewed its lease at 2026-01-02 15:03:05 UTC [kubectl imoocpod run-controller -n a]"},
		"elsewhere, and here": {[]leaserecord.Loop{loop(leaserecord.Scope{Namespace: "b"}, "v1", 0), loop(leaserecord.Scope{Namespace: "a"}, "v1", 0)}, "a", "passed the shipped kinds in namespace a: " + alice + " []"},
		"expired, and live":   {[]leaserecord.Loop{loop(leaserecord.Scope{}, "v1", time.Minute), loop(leaserecord.Scope{Namespace: "a"}, "v1", 0)}, "a", "passed the shipped kinds in namespace a: " + alice + " []"},
		"two expired":         {[]leaserecord.Loop{loop(leaserecord.Scope{}, "v1", time.Minute), loop(leaserecord.Scope{}, "v1", time.Hour)}, "a", "failed no controller is running for namespace a; the last one was " + alice + ", and last renewed its lease at 2026-01-02 15:03:05 UTC [kubectl imoocpod run-controller -n a]"},
		"for one kind":        {[]leaserecord.Loop{loop(leaserecord.Scope{Namespace: "a", Kinds: []string{"imoocpods.batch.tutorial.kubebuilder.io"}}, "v1", 0)}, "a", "passed imoocpods.batch.tutorial.kubebuilder.io in namespace a: " + alice + " []\nfailed no controller reconciles helloworlds.test.jiaozi.com in namespace a [kubectl imoocpod run-controller -n a]"},
		"for one namespace":   {[]leaserecord.Loop{loop(leaserecord.Scope{Namespace: "a"}, "v1", 0)}, "", "passed the shipped kinds in namespace a: " + alice + " []\nfailed no controller is running for all namespaces [kubectl imoocpod run-controller -A]"},
		"another version":     {[]leaserecord.Loop{loop(leaserecord.Scope{}, "v0", 0)}, "a", "failed the shipped kinds in all namespaces: " + alice + "; it is version v0, but this program is version v1: stop it, and start this version [kubectl imoocpod run-controller -A]"},
		"another version of one kind": {[]leaserecord.Loop{loop(leaserecord.Scope{Namespace: "a", Kinds: []string{"widgets.example.com"}, Selector: "team=x"}, "v0", 0), loop(leaserecord.Scope{Namespace: "a"}, "v1", 0)}, "a",
			"failed widgets.example.com in namespace a, where team=x: " + alice + "; it is version v0, but this program is version v1: stop it, and start this version " +
				"[kubectl imoocpod run-controller -n a --kinds widgets.example.com --selector team=x]\npassed the shipped kinds in namespace a: " + alice + " []"},
		"lease in the future": {[]leaserecord.Loop{loop(leaserecord.Scope{Namespace: "a"}, "v1", -time.Hour)}, "a",
			"failed no controller is running for namespace a; the last one was " + alice + ", and last renewed its lease at 2026-01-02 16:04:05 UTC [kubectl imoocpod run-controller -n a]"},
		"a clock slightly ahead": {[]leaserecord.Loop{loop(leaserecord.Scope{Namespace: "a"}, "v1", -time.Second)}, "a", "passed the shipped kinds in namespace a: " + alice + " []"},
		"an unknown version":     {[]leaserecord.Loop{loop(leaserecord.Scope{}, "", 0)}, "a", "passed the shipped kinds in all namespaces: " + alice + " []"},
		"for a declared kind": {[]leaserecord.Loop{loop(leaserecord.Scope{Namespace: "a", Kinds: []string{"widgets.example.com"}}, "v1", 0)}, "a",
			"passed widgets.example.com in namespace a: " + alice + " []\nfailed no controller reconciles imoocpods.batch.tutorial.kubebuilder.io, helloworlds.test.jiaozi.com in namespace a [kubectl imoocpod run-controller -n a]"},
	} {
		if got := lines(Checker{Namespace: test.namespace, Version: "v1"}.Loops(test.loops, kinds, now())); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, test.want)
		}
	}
	if len(kinds) != 2 || kinds[0] != "imoocpods.batch.tutorial.kubebuilder.io" {
		t.Error("Loops changed the list of kinds")
	}
}

func TestCheckDeclared(t *testing.T) {
	t.Parallel()
	one := func(scope leaserecord.Scope, ago time.Duration) []leaserecord.Loop {
		return []leaserecord.Loop{loop(scope, "v1", ago)}
	}
	const missing = "failed no controller reconciles lamps.example.com in namespace a [kubectl imoocpod run-controller -n a --kinds lamps.example.com]"
	lamps := []string{"lamps.example.com"}
	for name, test := range map[string]struct {
		loops     []leaserecord.Loop
		kinds     []string
		namespace string
		want      string
	}{
		"no loop":                {nil, lamps, "a", missing},
		"no objects":             {nil, nil, "a", ""},
		"for the shipped kinds":  {one(leaserecord.Scope{Namespace: "a"}, 0), lamps, "a", missing},
		"for all declared kinds": {one(leaserecord.Scope{Namespace: "a", Declared: true}, 0), lamps, "a", ""},
		"for this kind":          {one(leaserecord.Scope{Namespace: "a", Kinds: lamps}, 0), lamps, "a", ""},
		"for this kind, expired": {one(leaserecord.Scope{Namespace: "a", Kinds: lamps}, time.Minute), lamps, "a", missing},
		"in another namespace":   {one(leaserecord.Scope{Namespace: "b", Kinds: lamps}, 0), lamps, "a", missing},
		"not in all namespaces":  {one(leaserecord.Scope{Namespace: "b", Kinds: lamps}, 0), lamps, "", "failed no controller reconciles lamps.example.com in all namespaces [kubectl imoocpod run-controller -A --kinds lamps.example.com]"},
	} {
		if got := lines(Checker{Namespace: test.namespace}.Declared(test.loops, test.kinds, now())); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, test.want)
		}
	}
}

// A controller fails its check if its version differs from the version of this program, or if it
// desires pods and none are available.
func TestCheckDeployed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		has                string
		desired, available int32
		want               State
	}{
		"all run": {"v1", 2, 2, Passed}, "one runs": {"v1", 2, 1, Passed}, "none runs": {"v1", 2, 0, Failed}, "scaled to zero": {"v1", 0, 0, Passed},
		"another version": {"v0", 1, 1, Failed}, "an unknown version": {"", 1, 1, Unknown},
	} {
		deployment := Deployment{Namespace: "ns", Name: "imoocpod-controller-a", Version: test.has, Desired: test.desired, Available: test.available, Everywhere: name == "another version"}
		result := Checker{Version: "v1"}.Deployed(deployment)
		if fix := "kubectl imoocpod install --controller --image=IMAGE -A -n ns"; name == "another version" && !slices.Contains(result.Fix, fix) {
			t.Errorf("the fixes for a controller of all namespaces are %q, want %q", result.Fix, fix)
		}
		looks := strings.Contains(strings.Join(result.Fix, "\n"), "status deployment/imoocpod-controller-a -n ns")
		if result.State != test.want || looks != (test.desired > 0 && test.available == 0) {
			t.Errorf("%s: unexpected result %+v", name, result)
		}
	}
}

func TestCheckHeldUp(t *testing.T) {
	t.Parallel()
	report := func(codes ...problem.Code) status.Report {
		r := status.Report{Metadata: status.Metadata{Type: "thing.g", Namespace: "a", Name: "foo"}}
		for _, code := range codes {
			r.Problems = append(r.Problems, problem.Problem{Code: code, Message: "no"})
		}
		return r
	}
	const none, held = "passed none is blocked by a quota or by admission []", "failed thing.g/foo in namespace a: no "
	const quota, describe = held + "[kubectl describe quota -n a]", held + "[kubectl imoocpod describe thing.g/foo -n a]"
	for name, test := range map[string]struct {
		reports []status.Report
		want    string
	}{
		"no objects":                 {nil, none},
		"a pod that crashes":         {[]status.Report{report(problem.CodeCrashLoop)}, none},
		"a quota":                    {[]status.Report{report(), report(problem.CodeQuotaExceeded)}, quota},
		"a quota, and a pod crashes": {[]status.Report{report(problem.CodeCrashLoop, problem.CodeQuotaExceeded)}, quota},
		"admission":                  {[]status.Report{report(problem.CodeAdmissionRefused)}, describe},
		"a name that is taken":       {[]status.Report{report(problem.CodeNameTaken)}, describe},
		"a create that fails":        {[]status.Report{report(problem.CodeCreateFailed)}, describe},
		"two problems of one object": {[]status.Report{report(problem.CodeQuotaExceeded, problem.CodeAdmissionRefused)}, quota + "\n" + describe},
	} {
		if got := lines(Checker{}.HeldUp(test.reports)); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, test.want)
		}
	}
}

func TestCheckPaused(t *testing.T) {
	t.Parallel()
	report := func(name string, pause apis.Pause) status.Report {
		return status.NewReport(status.Snapshot{Object: status.Object{Identity: status.Identity{Type: "thing.g", Namespace: "a", Name: name}, UserPause: pause}, Now: now()})
	}
	in := func(name string, d time.Duration) status.Report { return report(name, apis.Pause{Until: now().Add(d)}) }
	soon, late, over := in("soon", time.Hour), in("late", 48*time.Hour), in("over", 0)
	const one = "passed 1 object paused: kubectl imoocpod status --only=paused -n a []"
	for name, test := range map[string]struct {
		reports   []status.Report
		namespace string
		want      string
	}{
		"an ended pause": {[]status.Report{over}, "a", ""},
		"a day":          {[]status.Report{in("day", 24*time.Hour)}, "a", one},
		"a short pause":  {[]status.Report{over, soon}, "a", one},
		"two long pauses": {[]status.Report{soon, late, report("forever", apis.Pause{Forever: true})}, "",
			"passed 3 objects paused, 2 of them forever or for more than a day: kubectl imoocpod status --only=paused -A" +
				" [kubectl imoocpod resume thing.g/late -n a; kubectl imoocpod resume thing.g/forever -n a]"},
	} {
		if got := lines(Checker{Namespace: test.namespace}.Paused(test.reports, now())); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, test.want)
		}
	}
}
