package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// The other verbs, on kinds that this program does not ship.

func TestCreateAnyKind(t *testing.T) {
	t.Parallel()
	installKinds(t)
	ns := cluster.NewNamespace(t)
	for args, want := range map[string]string{
		"widget/a --replicas 3":                       `{"replicas":3}`,
		"widgets.plain.example.com/b":                 ``, // no count without --replicas
		"wdg/c --replicas 0 --set .spec.color=12":     `{"color":"12","replicas":0}`,
		"ring/a --replicas 3":                         `{"clusterSize":3}`,
		"cell/a --replicas 3 --set spec.name=zone1":   `{"gateway":{"replicas":3},"name":"zone1"}`,
		"connector/a --replicas 3":                    `{"tasksMax":3}`,
		"crew/a --replicas 3":                         `{"teams":[{"members":3,"name":"deck"}]}`,
		"vertex/a --set .spec.a=3 --set .spec.b=true": `{"a":3,"b":true,"replicas":1}`,
		"vertex/b --set .spec.a=x --set .spec.b={}":   `{"a":"x","b":{},"replicas":1}`,
		"vertex/c --set-string .spec.a=3":             `{"a":"3","replicas":1}`,
		"lamp/a --set .spec.shade=true":               `{"shade":"true"}`,
		"lamp/b --set .spec.shade=a=b --replicas 2 " + "--replicas-path .spec.replicas":                                                 `{"replicas":2,"shade":"a=b"}`,
		"search/a --set .spec.nodeSets[0].name=hot --set .spec.nodeSets[0].count=2 --set .spec.nodeSets[1].name=cold":                   `{"nodeSets":[{"count":2,"name":"hot"},{"name":"cold"}]}`,
		`search/b --set .spec.nodeSets[?(@.name=="hot")].count=2 --set .spec.nodeSets[?(@.name=="hot")].roles[0]=true`:                  `{"nodeSets":[{"count":2,"name":"hot","roles":["true"]}]}`,
		`search/c --replicas 4 --replicas-path .spec.nodeSets[?(@.name=="hot")].count --set .spec.verbose=true --set .spec.maxShards=5`: `{"maxShards":5,"nodeSets":[{"count":4,"name":"hot"}],"verbose":true}`,
		`search/d --set .spec.nodeSets=[{"name":"x","count":1}]`:                                                                        `{"nodeSets":[{"count":1,"name":"x"}]}`,
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			typeName, name, _ := strings.Cut(harness.Words(args)[0], "/")
			out := cluster.Imoocpod(t, ns, append([]string{"create"}, harness.Words(args)...)...)
			if !strings.HasSuffix(out, "/"+name+" created\n") {
				t.Errorf("printed %q", out)
			}
			if got := harness.Must(t, cluster.Kubectl(t, ns, "get", typeName, name, "-o", "jsonpath={.spec}")); got != want {
				t.Errorf("the spec is %s, want %s", got, want)
			}
		})
	}
	for args, want := range map[string]struct {
		code int
		says []string
	}{
		"lamp/no --set .spec.replicas=2":                                         {harness.ExitError, []string{`The Lamp "no" is invalid: spec.shade: Required value`}},
		"lamp/no --replicas 2":                                                   {harness.ExitError, []string{"Choose one:", "kubectl imoocpod create lamps.no-scale.example.com/no -n " + ns + " --replicas 2 --replicas-path .spec.replicas"}},
		"lamp/no --replicas 11 --replicas-path .spec.replicas":                   {harness.ExitError, []string{`The Lamp "no" is invalid:`, "spec.shade: Required value", "less than or equal to 10"}},
		"run/no --replicas 2":                                                    {harness.ExitError, []string{"has no replica count"}},
		"nonsense/no":                                                            {harness.ExitNotFound, []string{`error: the server doesn't have a resource type "nonsense"`}},
		"widget/no --set .spec.size=big":                                         {harness.ExitUsage, []string{`--set: .spec.size is an integer, not "big"`}},
		"widget/no --set .spec.size":                                             {harness.ExitUsage, []string{"has no =: use PATH=VALUE"}},
		"widget/no --set .spec.nonsense=1":                                       {harness.ExitError, []string{`unknown field "spec.nonsense"`}},
		"search/no --set .spec.verbose=maybe":                                    {harness.ExitUsage, []string{`.spec.verbose is true or false, not "maybe"`}},
		"search/no --set .spec.nodeSets[1].count=1":                              {harness.ExitUsage, []string{"element 1 cannot be set before element 0 exists"}},
		"search/no --set .spec.nodeSets.count=1 --set .spec.nodeSets[0].count=1": {harness.ExitUsage, []string{"is not a list"}},
		"connector/no --replicas 0":                                              {harness.ExitError, []string{"spec.tasksMax"}},
		"widget/no --image web":                                                  {harness.ExitUsage, []string{"--image and a command can only be used for kinds that run-controller reconciles"}},
		"/no":                                                                    {harness.ExitUsage, []string{`"/no" has no type before the slash`}},
		"widget/No":                                                              {harness.ExitUsage, []string{`invalid name "No"`}},
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			r := cluster.Kubectl(t, ns, append([]string{"imoocpod", "create"}, harness.Words(args)...)...)
			if r.Code != want.code || r.Stdout != "" {
				t.Errorf("exit code %d, want %d; printed %q, said %q", r.Code, want.code, r.Stdout, r.Stderr)
			}
			for _, says := range want.says {
				if !strings.Contains(r.Stderr, says) {
					t.Errorf("said %q, want %q in it", r.Stderr, says)
				}
			}
		})
	}
	// The manifest to start from is valid unchanged.
	manifest := cluster.Imoocpod(t, ns, "create", "ring/dry", "--replicas", "3", "--dry-run=client", "-o", "yaml")
	if want := fmt.Sprintf("apiVersion: odd-name.example.com/v1\nkind: Ring\nmetadata:\n  name: dry\n  namespace: %s\nspec:\n  clusterSize: 3\n", ns); manifest != want {
		t.Errorf("got\n%s\nwant\n%s", manifest, want)
	}
	cluster.Apply(t, ns, manifest)
	cluster.Imoocpod(t, ns, "create", "ring/dry2", "--dry-run=server")
	if r := cluster.Kubectl(t, ns, "get", "ring", "dry2"); r.Code == 0 {
		t.Error("a dry run made something")
	}
	// A cluster-scoped object.
	cluster.Imoocpod(t, ns, "create", "fleet/"+ns, "--replicas", "1")
	if out := cluster.Imoocpod(t, ns, "delete", "fleet/"+ns); out != fmt.Sprintf("fleet.cluster-scoped.example.com %q deleted\n", ns) {
		t.Errorf("delete printed %q", out)
	}
}

// model is the part of status -o json that these tests check.
type model struct {
	Metadata struct{ Type, Name string }
	Verdict  string
	Reason   string
	Replicas struct{ Desired, Current, Ready int }
	Pods     []struct {
		Name  string
		Ready bool
	}
}

func statusOf(t *testing.T, ns, target string) model {
	t.Helper()
	var m model
	if err := json.Unmarshal([]byte(cluster.Imoocpod(t, ns, "status", target, "-o", "json")), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func workload(kind, name string, replicas int) string {
	return fmt.Sprintf(`{apiVersion: apps/v1, kind: %s, metadata: {name: %s, labels: {app: a}}, spec: {replicas: %d, selector: {matchLabels: {app: %[2]s}},
  template: {metadata: {labels: {app: %[2]s}}, spec: {containers: [{name: main, image: web}]}}}}`, kind, name, replicas)
}

// Descendants of an object are found through controller references only, at any depth.
func TestStatusOfAnyKind(t *testing.T) {
	t.Parallel()
	installKinds(t)
	ns := cluster.NewNamespace(t)
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "web", 2))
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "other", 1))
	cluster.CreateObject(t, ns, "statefulsets.apps", workload("StatefulSet", "db", 1))
	cluster.Imoocpod(t, ns, "scale", "deployment/web", "--replicas", "3", "--timeout", "5m")
	cluster.Imoocpod(t, ns, "scale", "statefulset/db", "--replicas", "2", "--timeout", "5m")
	cluster.Imoocpod(t, ns, "scale", "deployment/other", "--replicas", "1", "--timeout", "5m")

	for target, n := range map[string]int{"deployment/web": 3, "statefulset/db": 2, "deployment/other": 1} {
		m := statusOf(t, ns, target)
		if m.Verdict != "ready" || m.Replicas.Desired != n || m.Replicas.Current != n || m.Replicas.Ready != n || len(m.Pods) != n {
			t.Errorf("%s is %+v, want %d pods", target, m, n)
		}
		for _, pod := range m.Pods {
			if !strings.HasPrefix(pod.Name, strings.SplitAfter(target, "/")[1]) {
				t.Errorf("%s has the pod %s", target, pod.Name)
			}
		}
	}

	// An operator's object has the count in its spec and its pods below a Deployment.
	// Its status has only observedGeneration. Until that is set, the object counts as
	// not seen, whatever its descendants.
	widget := cluster.CreateObject(t, ns, "widgets.plain.example.com", "{apiVersion: plain.example.com/v1, kind: Widget, metadata: {name: it}, spec: {replicas: 3}}")
	if m := statusOf(t, ns, "widget/it"); m.Replicas.Current != 0 || len(m.Pods) != 0 || m.Verdict == "ready" {
		t.Errorf("with nothing below it, it is %+v", m)
	}
	ownedBy(t, ns, "deployments.apps", "web", widget)
	if m := statusOf(t, ns, "widget/it"); m.Verdict == "ready" || m.Replicas.Ready != 3 {
		t.Errorf("before its controller says that it has seen it, it is %+v", m)
	}
	harness.Must(t, cluster.Kubectl(t, ns, "patch", "widget/it", "--subresource=status", "--type=merge", "-p", `{"status":{"observedGeneration":1}}`))
	if m := statusOf(t, ns, "widget/it"); m.Metadata.Type != "widget.plain.example.com" || m.Verdict != "ready" || m.Replicas.Desired != 3 || m.Replicas.Current != 3 || m.Replicas.Ready != 3 || len(m.Pods) != 3 {
		t.Errorf("with a Deployment below it, it is %+v", m)
	}
	// The count field is ambiguous.
	store := cluster.CreateObject(t, ns, "stores.ambiguous.example.com", "{apiVersion: ambiguous.example.com/v1, kind: Store, metadata: {name: it}, spec: {insert: {replicaCount: 7}}}")
	ownedBy(t, ns, "statefulsets.apps", "db", store)
	if m := statusOf(t, ns, "store/it"); m.Replicas.Current != 2 || len(m.Pods) != 2 {
		t.Errorf("without a count, it is %+v", m)
	}

	described := cluster.Imoocpod(t, ns, "describe", "widget/it", "deployment/web")
	for _, want := range []string{`(?m)^Name: +it$`, `(?m)^Kind: +Widget$`, `(?m)^ *Replicas: +3$`, `web-`, `(?m)^Kind: +Deployment$`, `ScalingReplicaSet`} {
		contains(t, described, want)
	}
	// Several targets make one table, with all errors.
	r := cluster.Kubectl(t, ns, "imoocpod", "status", "deployment/web", "widget/it", "widget/none", "deployment/none")
	if r.Code != harness.ExitNotFound || strings.Count(r.Stderr, " not found\n") != 2 || strings.Count(r.Stdout, "\n") != 3 {
		t.Errorf("exit code %d, printed %q, said %q", r.Code, r.Stdout, r.Stderr)
	}
	if out := cluster.Imoocpod(t, ns, "status", "deployment", "-l", "app=a", "-o", "name"); out != "deployment.apps/other\ndeployment.apps/web\n" {
		t.Errorf("by a label, it printed %q", out)
	}
}

// For a kind that does not report ready pods, scale waits only for what kubectl waits
// for.
func TestScaleTimeoutOfAnyKind(t *testing.T) {
	t.Parallel()
	installKinds(t)
	ns := cluster.NewNamespace(t)
	const cells = "cells.nested.example.com"
	cluster.CreateObject(t, ns, cells, "{apiVersion: nested.example.com/v1, kind: Cell, metadata: {name: it}, spec: {gateway: {replicas: 1}}}")
	w := cluster.StartPlugin(t, "scale", "cell/it", "-n", ns, "--replicas", "3", "--timeout", "1h")
	w.AwaitOutput("cell.nested.example.com/it scaled")
	_, err := cluster.Dynamic.Resource(harness.Resource(cells)).Namespace(ns).Patch(t.Context(), "it", types.MergePatchType, []byte(`{"status":{"gateway":{"replicas":3}}}`), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	if code := w.Wait(); code != 0 {
		t.Errorf("the wait ended with exit code %d", code)
	}
	// This kind could report ready pods but does not; for kubectl that is enough.
	const caches = "caches.odd-status.example.com"
	cluster.CreateObject(t, ns, caches, "{apiVersion: odd-status.example.com/v1, kind: Cache, metadata: {name: it}, spec: {replicas: 3}}")
	_, err = cluster.Dynamic.Resource(harness.Resource(caches)).Namespace(ns).Patch(t.Context(), "it", types.MergePatchType, []byte(`{"status":{"currentWorkerNumberScheduled":3}}`), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	harness.Must(t, cluster.Kubectl(t, ns, "scale", "cache/it", "--replicas", "3", "--timeout", "1h"))
	if r := cluster.Kubectl(t, ns, "imoocpod", "scale", "cache/it", "--replicas", "3", "--timeout", "1s"); r.Code != harness.ExitTimeout {
		t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
	}
	contains(t, harness.ReadFile(t, "../../docs/differences.md"), regexp.QuoteMeta("**"+waitsForReady+".**"))
}

// One failing target does not stop the others. Every error is printed, and the most
// serious one sets the exit code.
func TestSeveralTargets(t *testing.T) {
	t.Parallel()
	installKinds(t)
	ns := cluster.NewNamespace(t)
	const widgets = "widgets.plain.example.com"
	for _, name := range []string{"a", "b", "c"} {
		cluster.CreateObject(t, ns, widgets, fmt.Sprintf("{apiVersion: plain.example.com/v1, kind: Widget, metadata: {name: %s, labels: {app: %[1]s}}, spec: {replicas: 2}}", name))
	}
	cluster.CreateObject(t, ns, "lamps.no-scale.example.com", "{apiVersion: no-scale.example.com/v1, kind: Lamp, metadata: {name: it}, spec: {shade: red}}")
	cluster.Imoocpod(t, ns, "create", "imp", "--replicas", "2")
	counts := func() map[string]int64 {
		found := map[string]int64{}
		for _, name := range []string{"a", "b", "c"} {
			found[name], _, _ = unstructured.NestedInt64(cluster.Object(t, ns, widgets, name).Object, "spec", "replicas")
		}
		found["imp"] = int64(*cluster.ImoocPod(t, ns, "imp").Spec.Replicas)
		return found
	}
	widgetA := harness.WriteFile(t, "{apiVersion: plain.example.com/v1, kind: Widget, metadata: {name: a}}")
	for _, step := range []struct {
		args, stdin string
		code        int
		says        []string
		want        map[string]int64
	}{
		{"widget/a widget/none imoocpod/imp --replicas 3", "", harness.ExitNotFound, []string{`widgets.plain.example.com "none" not found`}, map[string]int64{"a": 3, "b": 2, "c": 2, "imp": 3}},
		{"widget/none lamp/it widget/b --replicas 4", "", harness.ExitError, []string{`"none" not found`, "Choose one"}, map[string]int64{"a": 3, "b": 4, "c": 2, "imp": 3}},
		{"widget a b none c --replicas 4 --current-replicas 4", "", harness.ExitNotFound, []string{"replicas of widget/a to be 4, was 3", "widget/c to be 4, was 2", `"none" not found`}, map[string]int64{"a": 3, "b": 4, "c": 2, "imp": 3}},
		{"widget a b c --replicas 5 --current-replicas 4", "", harness.ExitPrecondition, []string{"/a to be 4", "/c to be 4"}, map[string]int64{"a": 3, "b": 5, "c": 2, "imp": 3}},
		{"imoocpod/imp imoocpod/none --replicas 6", "", harness.ExitNotFound, []string{`imoocpods.batch.tutorial.kubebuilder.io "none" not found`}, map[string]int64{"a": 3, "b": 5, "c": 2, "imp": 6}},
		{"widget -l app=a --replicas 7", "", 0, nil, map[string]int64{"a": 7, "b": 5, "c": 2, "imp": 6}},
		{"widget --all --replicas 8", "", 0, nil, map[string]int64{"a": 8, "b": 8, "c": 8, "imp": 6}},
		{"-f " + widgetA + " --replicas 9", "", 0, nil, map[string]int64{"a": 9, "b": 8, "c": 8, "imp": 6}},
		{"-f - --replicas 9", harness.ImoocPodManifest("imp", ""), 0, nil, map[string]int64{"a": 9, "b": 8, "c": 8, "imp": 9}},
		{"widget,lamp --all --replicas 1", "", harness.ExitError, []string{"Choose one"}, map[string]int64{"a": 1, "b": 1, "c": 1, "imp": 9}},
		{"pear plum --replicas 1", "", harness.ExitNotFound, []string{`doesn't have a resource type "pear"`, "to name several ImoocPods: kubectl imoocpod scale imoocpod/pear imoocpod/plum --namespace=" + ns + " --replicas=1\n"}, map[string]int64{"a": 1, "b": 1, "c": 1, "imp": 9}},
	} {
		r := cluster.KubectlFrom(t, step.stdin, nil, ns, append([]string{"imoocpod", "scale"}, harness.Words(step.args)...)...)
		if r.Code != step.code {
			t.Errorf("%s: exit code %d, want %d; it said %q", step.args, r.Code, step.code, r.Stderr)
		}
		for _, says := range step.says {
			if !strings.Contains(r.Stderr, says) {
				t.Errorf("%s: it said %q, want %q in it", step.args, r.Stderr, says)
			}
		}
		if got := counts(); !maps.Equal(got, step.want) {
			t.Errorf("%s: the counts are %v, want %v", step.args, got, step.want)
		}
	}

	// The other verbs accept the same targets.
	for args, n := range map[string]int{"status widget --all -o name": 3, "status -f " + widgetA + " -o name": 1, "status widget/a imoocpod/imp -o name": 2} {
		if out := cluster.Imoocpod(t, ns, harness.Words(args)...); strings.Count(out, "\n") != n {
			t.Errorf("%s printed %q", args, out)
		}
	}
	if out := cluster.Imoocpod(t, ns, "describe", "widget", "--all"); strings.Count(out, "Kind:  ") != 3 {
		t.Errorf("describe printed\n%s", out)
	}
	r := cluster.Kubectl(t, ns, "imoocpod", "delete", "widget/a", "widget/none", "lamp/it")
	if want := fmt.Sprintf("widget.plain.example.com \"a\" deleted from %[1]s namespace\nlamp.no-scale.example.com \"it\" deleted from %[1]s namespace\n", ns); r.Code != harness.ExitNotFound || r.Stdout != want {
		t.Errorf("exit code %d, printed %q, said %q", r.Code, r.Stdout, r.Stderr)
	}
	if out := cluster.Imoocpod(t, ns, "delete", "-f", widgetA, "--ignore-not-found"); out != "" {
		t.Errorf("a deleted object was deleted again: %q", out)
	}
	cluster.Imoocpod(t, ns, "delete", "widget", "-l", "app=b", "--wait=false")
	if out := cluster.Imoocpod(t, ns, "delete", "widget", "--all", "-o", "name"); out != "widget.plain.example.com/c\n" {
		t.Errorf("printed %q", out)
	}
	if r := cluster.KubectlFrom(t, harness.ImoocPodManifest("imp", ""), nil, ns, "imoocpod", "delete", "-f", "-"); r.Code != 0 || !strings.Contains(r.Stdout, `"imp" deleted`) {
		t.Errorf("exit code %d, printed %q, said %q", r.Code, r.Stdout, r.Stderr)
	}
}

// Scaling an ImoocPod needs no discovery, whatever form its name has: one read and one
// write. The leases of controllers are read from the server's cache, and read again
// because there are none.
func TestScaleImoocPodsWithoutDiscovery(t *testing.T) {
	t.Parallel()
	for args, n := range map[string]int{"a": 1, "imoocpod/a": 1, "imoocpods a b": 2, "imoocpod/a imoocpod.batch.tutorial.kubebuilder.io/b": 2} {
		ns := cluster.NewNamespace(t)
		cluster.Imoocpod(t, ns, "create", "a")
		cluster.Imoocpod(t, ns, "create", "b")
		// Every request is logged in one line, including discovery.
		r := cluster.Kubectl(t, ns, append([]string{"imoocpod", "scale", "--replicas", "3", "-v=6"}, harness.Words(args)...)...)
		harness.Must(t, r)
		if patches, all := strings.Count(r.Stderr, `verb="PATCH"`), strings.Count(r.Stderr, "verb="); patches != n || all != 2*n+2 {
			t.Errorf("%s: %d requests, %d of them patches, want %d and %d:\n%s", args, all, patches, 2*n+2, n, r.Stderr)
		}
	}
}
