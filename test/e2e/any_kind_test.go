package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// ownKind is a CRD in testdata/crds, with an object to test.
type ownKind struct {
	// class is the base name of the CRD's file.
	class    string
	resource string
	kind     string
	// spec is the spec of the object, as flow YAML.
	spec string
	// field is the plugin's name for the field that it changes; path is the field's
	// path. Both are empty if the field is unknown.
	field string
	path  []any
	// beside is the expected remark about other counts.
	beside string
	// choices are the fields that a refusal must list, with their paths.
	choices map[string][]any
}

// object returns the command-line name of the object.
func (k ownKind) object() string { return k.resource + "/it" }

func (k ownKind) manifest(name string) string {
	_, group, _ := strings.Cut(k.resource, ".")
	return fmt.Sprintf(`{apiVersion: %s/v1, kind: %s, metadata: {name: %s, labels: {a: b}, annotations: {note: kept}}, spec: %s}`, group, k.kind, name, k.spec)
}

func ownKinds() []ownKind {
	replicas := []any{"spec", "replicas"}
	return []ownKind{
		{class: "scale-plain", resource: "widgets.plain.example.com", kind: "Widget", spec: "{replicas: 2, size: 7, color: red}", field: ".spec.replicas", path: replicas},
		{class: "scale-odd-name", resource: "rings.odd-name.example.com", kind: "Ring", spec: "{clusterSize: 2, replicas: 9}", field: ".spec.clusterSize", path: []any{"spec", "clusterSize"},
			beside: "; other counts: .spec.replicas = 9"},
		{class: "scale-odd-status", resource: "caches.odd-status.example.com", kind: "Cache", spec: "{replicas: 2}", field: ".spec.replicas", path: replicas},
		{class: "scale-nested", resource: "cells.nested.example.com", kind: "Cell", spec: "{name: zone1, gateway: {replicas: 2}}", field: ".spec.gateway.replicas", path: []any{"spec", "gateway", "replicas"}},
		{class: "scale-no-selector", resource: "pools.no-selector.example.com", kind: "Pool", spec: "{replicas: 2}", field: ".spec.replicas", path: replicas},
		{class: "scale-cluster-scoped", resource: "fleets.cluster-scoped.example.com", kind: "Fleet", spec: "{replicas: 2, region: north}", field: ".spec.replicas", path: replicas},
		{class: "scale-schemaless", resource: "vertices.schemaless.example.com", kind: "Vertex", spec: "{replicas: 2, source: {size: 7, any: [{thing: 1}]}}", field: ".spec.replicas", path: replicas},
		{class: "scale-name-clash", resource: "statefulsets.name-clash.example.com", kind: "StatefulSet", spec: "{replicas: 2}", field: ".spec.replicas", path: replicas},
		{class: "scale-not-pods", resource: "connectors.not-pods.example.com", kind: "Connector", spec: "{tasksMax: 2}", field: ".spec.tasksMax", path: []any{"spec", "tasksMax"}},
		{class: "scale-not-replicas", resource: "agents.not-replicas.example.com", kind: "Agent", spec: "{shardCount: 2, replicaCount: 3}", field: ".spec.shardCount", path: []any{"spec", "shardCount"},
			beside: ", counted in shards, each with .spec.replicaCount = 3"},
		{class: "annotated", resource: "crews.annotated.example.com", kind: "Crew", spec: "{replicas: 9, teams: [{name: hold, members: 1}, {name: deck, members: 2}]}",
			field: `.spec.teams[?(@.name=="deck")].members`, path: []any{"spec", "teams", 1, "members"},
			beside: "; other counts: .spec.replicas = 9"},
		{class: "no-scale-field", resource: "lamps.no-scale.example.com", kind: "Lamp", spec: "{replicas: 2, shade: green}", choices: map[string][]any{".spec.replicas": replicas}},
		{class: "no-scale-ambiguous", resource: "stores.ambiguous.example.com", kind: "Store", spec: "{insert: {replicaCount: 1}, select: {replicaCount: 2}, storage: {retentionDays: 30}}", choices: map[string][]any{
			".spec.insert.replicaCount":  {"spec", "insert", "replicaCount"},
			".spec.select.replicaCount":  {"spec", "select", "replicaCount"},
			".spec.storage.replicaCount": {"spec", "storage", "replicaCount"}, // it is not set yet
		}},
		{class: "no-scale-array", resource: "searches.array.example.com", kind: "Search", spec: "{version: v1, maxShards: 9, nodeSets: [{name: cold, count: 1}, {name: it's hot, count: 2}, {name: new}]}", choices: map[string][]any{
			`.spec.nodeSets[?(@.name=="cold")].count`:     {"spec", "nodeSets", 0, "count"},
			`.spec.nodeSets[?(@.name=="it's hot")].count`: {"spec", "nodeSets", 1, "count"},
			`.spec.nodeSets[?(@.name=="new")].count`:      {"spec", "nodeSets", 2, "count"},
		}},
		{class: "trap", resource: "topics.trap.example.com", kind: "Topic", spec: "{partitions: 12, replicas: 2}", choices: map[string][]any{".spec.replicas": replicas}},
		{class: "negative", resource: "runs.negative.example.com", kind: "Run", spec: "{parallelism: 2}"},
	}
}

// For each way in which CRDs hold a replica count, scale changes the right field and
// nothing else, or refuses, and prints the candidates with a command for each.
func TestScaleAnyKind(t *testing.T) {
	t.Parallel()
	installKinds(t)
	ns := cluster.NewNamespace(t)
	for _, k := range ownKinds() {
		t.Run(k.class, func(t *testing.T) {
			t.Parallel()
			at := ns
			if isClusterwide(k.resource) {
				at = ""
			}
			before := cluster.CreateObject(t, at, k.resource, k.manifest("it"))
			r := cluster.Kubectl(t, ns, "imoocpod", "scale", k.object(), "--replicas", "4")
			after := cluster.Object(t, at, k.resource, "it")
			if k.field == "" {
				k.refused(t, before, after, r)
				k.chosen(t, at, r)
				return
			}
			singular := strings.ToLower(k.kind) + strings.TrimPrefix(k.resource, harness.Resource(k.resource).Resource)
			says := status.ShortType(singular) + "/it: X → 4\n"
			if k.field != ".spec.replicas" {
				says += strings.ToLower(k.kind) + "/it: replica field " + k.field + k.beside + "\n"
			}
			if r.Code != 0 || r.Stdout != singular+"/it scaled\n" || regexp.MustCompile(`: (set to|\d+ →) 4\n`).ReplaceAllString(r.Stderr, ": X → 4\n") != says {
				t.Errorf("exit code %d, printed %q, said %q, want it to say %q", r.Code, r.Stdout, r.Stderr, says)
			}
			changedOnly(t, before, after, int64(4), k.path...)
		})
	}
}

// refused checks that the object is unchanged and that the message is helpful.
func (k ownKind) refused(t *testing.T, before, after *unstructured.Unstructured, r harness.Result) {
	t.Helper()
	if before.GetResourceVersion() != after.GetResourceVersion() {
		t.Errorf("a guess was written: %s", toJSON(t, after.Object))
	}
	if r.Code != harness.ExitError || r.Stdout != "" {
		t.Errorf("exit code %d, printed %q", r.Code, r.Stdout)
	}
	if len(k.choices) == 0 {
		if want := "error: " + k.resource + " has no replica count: no /scale, and no such field in .spec\n"; r.Stderr != want {
			t.Errorf("said %q, want %q", r.Stderr, want)
		}
		return
	}
	if want := "error: " + k.resource + " has no /scale, and its CRD does not name the replica field. Choose one:\n"; !strings.HasPrefix(r.Stderr, want) {
		t.Errorf("said %q, want %q first", r.Stderr, want)
	}
}

// chosen runs the commands of a refusal, each on a new object.
func (k ownKind) chosen(t *testing.T, ns string, r harness.Result) {
	t.Helper()
	offered := map[string]string{}
	for path, line := range commands(t, r) {
		offered[strings.ReplaceAll(path, `'\''`, `'`)] = line
	}
	if len(offered) != len(k.choices) {
		t.Errorf("it offers %q, want %q:\n%s", keys(offered), keys(k.choices), r.Stderr)
	}
	for path, place := range k.choices {
		before := cluster.Object(t, ns, k.resource, "it")
		if offered[path] == "" {
			t.Errorf("%s is not offered:\n%s", path, r.Stderr)
			continue
		}
		if r := cluster.Shell(t, offered[path]); r.Code != 0 {
			t.Errorf("%s: exit code %d, said %q", r.Line, r.Code, r.Stderr)
		}
		changedOnly(t, before, cluster.Object(t, ns, k.resource, "it"), int64(4), place...)
	}
}

// A refusal describes each candidate, and prints the command with which an administrator
// marks the right one permanently. That command works too.
func TestAnnotateOnce(t *testing.T) {
	t.Parallel()
	installKinds(t)
	ns := cluster.NewNamespace(t)
	manifest := strings.NewReplacer("lamps.no-scale.example.com", "lanterns.once.example.com", "no-scale.example.com", "once.example.com",
		"kind: Lamp, plural: lamps, singular: lamp", "kind: Lantern, plural: lanterns, singular: lantern").Replace(harness.ReadFile(t, "testdata/crds/no-scale-field.yaml"))
	cluster.Apply(t, "", manifest)
	cluster.AwaitEstablished(t, "crd/lanterns.once.example.com")
	cluster.CreateObject(t, ns, "lanterns.once.example.com", "{apiVersion: once.example.com/v1, kind: Lantern, metadata: {name: it}, spec: {shade: red, replicas: 2}}")
	var r harness.Result
	harness.Eventually(t, "the server publishes the schema", func() bool {
		r = cluster.Kubectl(t, ns, "imoocpod", "scale", "lantern/it", "--replicas", "3")
		return strings.Contains(r.Stderr, "Choose one")
	})
	if want := "\n  .spec.replicas (now 2, at least 1, at most 10): How many lamps burn.\n"; !strings.Contains(r.Stderr, want) {
		t.Errorf("said %q, want %q in it", r.Stderr, want)
	}
	_, annotate, found := strings.Cut(r.Stderr, "\nTo set it for all objects: ")
	if !found {
		t.Fatalf("said %q", r.Stderr)
	}
	harness.Must(t, cluster.Shell(t, annotate))
	cluster.Imoocpod(t, ns, "scale", "lantern/it", "--replicas", "3")
	if n, _, _ := unstructured.NestedInt64(cluster.Object(t, ns, "lanterns.once.example.com", "it").Object, "spec", "replicas"); n != 3 {
		t.Errorf("there are %d, want 3", n)
	}
	harness.Must(t, cluster.Kubectl(t, "", "annotate", "--overwrite", "crd", "lanterns.once.example.com", "imoocpod.dev/replicas-path=.status.replicas"))
	r = cluster.Kubectl(t, ns, "imoocpod", "scale", "lantern/it", "--replicas", "4")
	if r.Code != harness.ExitError || !strings.Contains(r.Stderr, "annotation imoocpod.dev/replicas-path of the CRD lanterns.once.example.com: ") {
		t.Errorf("a wrong annotation: exit code %d, said %q", r.Code, r.Stderr)
	}
}

func TestReplicasPath(t *testing.T) {
	t.Parallel()
	installKinds(t)
	ns := cluster.NewNamespace(t)
	const searches = "searches.array.example.com"
	for i, step := range []struct {
		path string
		code int
		says string
		want []any
	}{
		{`.spec.nodeSets[?(@.name=="hot")].count`, 0, "", []any{"spec", "nodeSets", 1, "count"}},
		{`{.spec.nodeSets[?(@.name=='cold')].count}`, 0, "", []any{"spec", "nodeSets", 0, "count"}},
		{`spec.nodeSets[1].count`, 0, "", []any{"spec", "nodeSets", 1, "count"}},
		{`.spec.nodeSets[?(@.name=="bare")].count`, 0, "", []any{"spec", "nodeSets", 2, "count"}},
		{`.spec.nodeSets[?(@.name=="none")].count`, harness.ExitError, "does not exist: elements of a list are changed, never added", nil},
		{`.spec.nodeSets[?(@.count==1)].count`, harness.ExitError, "matches 2 fields", nil},
		{`.spec.nodeSets[*].count`, harness.ExitUsage, "wildcards are not supported", nil},
		{`.spec.nodeSets.count`, harness.ExitError, "is a list: select one of its elements by a key", nil},
		{`.spec.version`, harness.ExitError, `is the string "v1", not an integer`, nil},
		{`.status.count`, harness.ExitUsage, "outside .spec", nil},
		{`.spec.nodeSet[0].count`, harness.ExitError, "does not exist", nil},
		{`.spec.counter`, harness.ExitError, "counter", nil}, // the schema has no such field
	} {
		t.Run(step.path, func(t *testing.T) {
			t.Parallel()
			name := fmt.Sprintf("it-%d", i)
			before := cluster.CreateObject(t, ns, searches, fmt.Sprintf(`{apiVersion: array.example.com/v1, kind: Search, metadata: {name: %s}, spec: {version: v1,
  nodeSets: [{name: cold, count: 1}, {name: hot, count: 1, roles: [a, b]}, {name: bare}]}}`, name))
			r := cluster.Kubectl(t, ns, "imoocpod", "scale", "search/"+name, "--replicas", "5", "--replicas-path", step.path)
			if r.Code != step.code || !strings.Contains(r.Stderr, step.says) {
				t.Errorf("exit code %d, said %q, want %d and %q", r.Code, r.Stderr, step.code, step.says)
			}
			changedOnly(t, before, cluster.Object(t, ns, searches, name), int64(5), step.want...)
		})
	}
	// Preconditions apply to a path as they do to /scale.
	cluster.CreateObject(t, ns, searches, "{apiVersion: array.example.com/v1, kind: Search, metadata: {name: it}, spec: {nodeSets: [{name: hot, count: 1}]}}")
	const hot = `.spec.nodeSets[?(@.name=="hot")].count`
	for _, refused := range [][]string{{"--current-replicas", "2"}, {"--resource-version", "1"}, {"--current-replicas", "2", "--dry-run=client"}, {"--resource-version", "1", "--dry-run=client"}} {
		r := cluster.Kubectl(t, ns, append([]string{"imoocpod", "scale", "search/it", "--replicas", "3", "--replicas-path", hot}, refused...)...)
		if r.Code != harness.ExitPrecondition {
			t.Errorf("%v: exit code %d, said %q", refused, r.Code, r.Stderr)
		}
	}
	out := cluster.Imoocpod(t, ns, "scale", "search/it", "--replicas", "3", "--replicas-path", hot, "--dry-run=server", "-o", "jsonpath={.spec.nodeSets[0].count}")
	if n := cluster.Object(t, ns, searches, "it"); out != "3" || n.GetGeneration() != 1 {
		t.Errorf("a dry run printed %q and left %v", out, n.Object["spec"])
	}
	cluster.Imoocpod(t, ns, "scale", "search/it", "--replicas", "3", "--replicas-path", hot, "--current-replicas", "1", "--resource-version", cluster.Object(t, ns, searches, "it").GetResourceVersion())
}

// If an optional count is not set, the server cannot show /scale, but can set it.
func TestAbsentCount(t *testing.T) {
	t.Parallel()
	installKinds(t)
	ns := cluster.NewNamespace(t)
	const cells = "cells.nested.example.com"
	before := cluster.CreateObject(t, ns, cells, "{apiVersion: nested.example.com/v1, kind: Cell, metadata: {name: it}, spec: {name: zone1}}")
	if r := cluster.Kubectl(t, ns, "get", "--raw", "/apis/nested.example.com/v1/namespaces/"+ns+"/cells/it/scale"); r.Code == 0 {
		t.Error("the server shows /scale without a count, so this tests nothing")
	}
	cluster.Imoocpod(t, ns, "status", "cell/it")
	cluster.Imoocpod(t, ns, "describe", "cell/it")
	if r := cluster.Kubectl(t, ns, "imoocpod", "scale", "cell/it", "--replicas", "3", "--current-replicas", "1"); r.Code != harness.ExitPrecondition {
		t.Errorf("no count is not one: exit code %d, said %q", r.Code, r.Stderr)
	} else if want := "expected the replicas of cell/it to be 1, but .spec.gateway.replicas is not set"; !strings.Contains(r.Stderr, want) {
		t.Errorf("said %q, want %q", r.Stderr, want)
	}
	for _, dryRun := range []string{"none", "client"} {
		r := cluster.Kubectl(t, ns, "imoocpod", "scale", "cell/it", "--by", "+1", "--dry-run="+dryRun)
		if want := "expected the replicas of cell/it to be set, but .spec.gateway.replicas is not set"; r.Code != harness.ExitPrecondition || !strings.Contains(r.Stderr, want) {
			t.Errorf("nothing plus one: exit code %d, said %q, want %q", r.Code, r.Stderr, want)
		}
	}
	cluster.Imoocpod(t, ns, "scale", "cell/it", "--replicas", "3")
	changedOnly(t, before, cluster.Object(t, ns, cells, "it"), int64(3), "spec", "gateway", "replicas")
}

// Validation errors of a kind are shown verbatim.
func TestRulesOfAKind(t *testing.T) {
	t.Parallel()
	installKinds(t)
	const fleets = "fleets.cluster-scoped.example.com"
	for name, spec := range map[string]string{"static": "{replicas: 2}", "dynamic": "{region: south}"} {
		cluster.CreateObject(t, "", fleets, fmt.Sprintf("{apiVersion: cluster-scoped.example.com/v1, kind: Fleet, metadata: {name: %s}, spec: %s}", name, spec))
	}
	for args, says := range map[string]string{
		"fleet/static --replicas 6":                               `The Fleet "static" is invalid: spec: Invalid value: a fleet has no more than five nodes`,
		"fleet/dynamic --replicas 3":                              `The Fleet "dynamic" is invalid: spec: Invalid value: a dynamic fleet cannot become a static one`,
		"fleet/static --replicas 6 --dry-run=server":              "a fleet has no more than five nodes",
		"fleet/static --replicas 6 --replicas-path spec.replicas": "a fleet has no more than five nodes",
	} {
		r := cluster.Kubectl(t, "", append([]string{"imoocpod", "scale"}, harness.Words(args)...)...)
		if r.Code != harness.ExitError || r.Stdout != "" || !strings.Contains(r.Stderr, says) {
			t.Errorf("%s: exit code %d, printed %q, said %q, want %q", args, r.Code, r.Stdout, r.Stderr, says)
		}
	}
}

// A user who may not read CRDs can scale, and sees what is known.
func TestScaleWithoutReadingCRDs(t *testing.T) {
	t.Parallel()
	installKinds(t)
	ns := cluster.NewNamespace(t)
	cluster.Apply(t, ns, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: rings}
rules: [{apiGroups: [odd-name.example.com, no-scale.example.com], resources: ["*"], verbs: [get, patch, create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: rings}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: rings}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}]
`, ns))
	harness.Eventually(t, "the user has rights", func() bool {
		return cluster.Kubectl(t, ns, "auth", "can-i", "patch", "rings.odd-name.example.com", "--subresource", "scale", "--as", ns).Code == 0
	})
	before := cluster.CreateObject(t, ns, "rings.odd-name.example.com", "{apiVersion: odd-name.example.com/v1, kind: Ring, metadata: {name: it}, spec: {clusterSize: 2}}")
	r := cluster.Kubectl(t, ns, "imoocpod", "scale", "ring/it", "--replicas", "4", "--as", ns)
	if want := "ring/it: set to 4\nring/it: replica field /scale\n"; r.Code != 0 || r.Stderr != want {
		t.Errorf("exit code %d, said %q, want %q", r.Code, r.Stderr, want)
	}
	changedOnly(t, before, cluster.Object(t, ns, "rings.odd-name.example.com", "it"), int64(4), "spec", "clusterSize")
	// A refusal is made from the schema, which everyone may read.
	cluster.CreateObject(t, ns, "lamps.no-scale.example.com", "{apiVersion: no-scale.example.com/v1, kind: Lamp, metadata: {name: it}, spec: {shade: red}}")
	r = cluster.Kubectl(t, ns, "imoocpod", "scale", "lamp/it", "--replicas", "4", "--as", ns)
	if r.Code != harness.ExitError || len(commands(t, r)) != 1 {
		t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
	}
	r = cluster.Kubectl(t, ns, "imoocpod", "create", "ring/new", "--replicas", "4", "--as", ns)
	if r.Code != harness.ExitForbidden || !strings.Contains(r.Stderr, "name it with --replicas-path") {
		t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
	}
	cluster.Imoocpod(t, ns, "create", "ring/new", "--replicas", "4", "--replicas-path", ".spec.clusterSize", "--as", ns)
}

// Many clients change the same object at once and reorder the list that holds the
// counts. Each reported success changed the intended element, and no update is lost.
func TestNoUpdateIsLost(t *testing.T) {
	t.Parallel()
	installKinds(t)
	ns := cluster.NewNamespace(t)
	const searches = "searches.array.example.com"
	const n = 10
	var sets []string
	for i := range n {
		sets = append(sets, fmt.Sprintf("{name: set-%d, count: 1}", i))
	}
	cluster.CreateObject(t, ns, searches, "{apiVersion: array.example.com/v1, kind: Search, metadata: {name: it}, spec: {nodeSets: ["+strings.Join(sets, ", ")+"]}}")
	results := make([]harness.Result, n)
	var running, moving sync.WaitGroup
	done := make(chan struct{})
	moves := 0
	moving.Go(func() {
		patch := []byte(`[{"op": "move", "from": "/spec/nodeSets/0", "path": "/spec/nodeSets/-"}]`)
		for {
			_, err := cluster.Dynamic.Resource(harness.Resource(searches)).Namespace(ns).Patch(t.Context(), "it", types.JSONPatchType, patch, metav1.PatchOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			moves++
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for i := range n {
		running.Go(func() {
			results[i] = cluster.Kubectl(t, ns, "imoocpod", "scale", "search/it", "--replicas", fmt.Sprint(i+2), "--replicas-path", fmt.Sprintf(".spec.nodeSets[?(@.name==%q)].count", fmt.Sprintf("set-%d", i)))
		})
	}
	running.Wait()
	close(done)
	moving.Wait()
	want := map[any]any{}
	for i, r := range results {
		want[fmt.Sprintf("set-%d", i)] = int64(1)
		switch r.Code {
		case 0:
			want[fmt.Sprintf("set-%d", i)] = int64(i + 2)
		case harness.ExitPrecondition: // it lost every race and reports that
		default:
			t.Errorf("%s: exit code %d, said %q", r.Line, r.Code, r.Stderr)
		}
	}
	list, _, err := unstructured.NestedSlice(cluster.Object(t, ns, searches, "it").Object, "spec", "nodeSets")
	if err != nil {
		t.Fatal(err)
	}
	got := map[any]any{}
	for _, set := range list {
		got[below(set, "name")] = below(set, "count")
	}
	if !maps.Equal(got, want) {
		t.Errorf("after %d moves the counts are %v, want %v", moves, got, want)
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	installKinds(t)
	ns := cluster.NewNamespace(t)
	cluster.CreateObject(t, ns, "rings.odd-name.example.com", "{apiVersion: odd-name.example.com/v1, kind: Ring, metadata: {name: counted}, spec: {clusterSize: 2}}")
	type row struct {
		Kind, Group, Version, Resource, Field, Found string
		Candidates                                   []string
		MayScale                                     *bool
		Objects                                      *int64
		Reconciled                                   bool
	}
	var list struct {
		APIVersion, Kind string
		Items            []row
	}
	if err := json.Unmarshal([]byte(cluster.Imoocpod(t, ns, "kinds", "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	find := func(kind, group string) (row, bool) {
		i := slices.IndexFunc(list.Items, func(r row) bool { return r.Kind == kind && r.Group == group })
		if i < 0 {
			return row{}, false
		}
		return list.Items[i], true
	}
	for _, k := range ownKinds() {
		resource := harness.Resource(k.resource)
		got, listed := find(k.kind, resource.Group)
		if k.field == "" && k.choices == nil {
			if listed {
				t.Errorf("%s is listed, though it has no count: %+v", k.class, got)
			}
			continue
		}
		if !listed || got.Field != k.field || got.Resource != resource.Resource || got.MayScale == nil || !*got.MayScale || got.Objects == nil || got.Reconciled {
			t.Errorf("%s is listed as %+v, want the field %q", k.class, got, k.field)
		}
		if k.field == "" && len(got.Candidates) == 0 {
			t.Errorf("%s has no candidates: %+v", k.class, got)
		}
	}
	if got, _ := find("Ring", "odd-name.example.com"); got.Found != "/scale" || *got.Objects < 1 {
		t.Errorf("got %+v", got)
	}
	if got, _ := find("Crew", "annotated.example.com"); got.Found != "annotation of the CRD" {
		t.Errorf("got %+v", got)
	}
	if got, _ := find("Store", "ambiguous.example.com"); got.Found != "guess" || len(got.Candidates) != 3 {
		t.Errorf("got %+v", got)
	}
	for _, want := range [][4]string{
		{"ImoocPod", "batch.tutorial.kubebuilder.io", ".spec.replicas", "built in"},
		{"AppService", "appcontroller.k8s.io", ".spec.replicas", "built in"},
		{"HelloWorld", "test.jiaozi.com", ".spec.size", "built in"},
		{"MyDaemonSet", "apps.zhongmingmao.io", "", "one per node"},
	} {
		if got, _ := find(want[0], want[1]); got.Field != want[2] || got.Found != want[3] || !got.Reconciled {
			t.Errorf("%s is listed as %+v", want[0], got)
		}
	}
	if got, _ := find("Deployment", "apps"); got.Field != ".spec.replicas" || got.Found != "/scale" {
		t.Errorf("got %+v", got)
	}
	// Every list is sorted, whatever order the server uses.
	byName := func(a, b row) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource)) }
	if !slices.IsSortedFunc(list.Items, byName) {
		t.Errorf("the kinds are not in the order of their groups and names: %+v", list.Items)
	}
	table := cluster.Imoocpod(t, ns, "kinds")
	for _, line := range []string{
		`(?m)^KIND +GROUP +FIELD +SOURCE +CAN SCALE +OBJECTS +CONTROLLER$`,
		`(?m)^Ring +odd-name\.example\.com +\.spec\.clusterSize \(\+1\) +/scale +yes +\d+ +no$`,
		`(?m)^Store +ambiguous\.example\.com +\.spec\.insert\.replicaCount\? \(\+2\) +guess +yes +\d+ +no$`,
		`(?m)^ReplicationController +<none> +\.spec\.replicas +/scale +yes +\d+ +no$`,
	} {
		contains(t, table, line)
	}
	contains(t, cluster.Imoocpod(t, ns, "kinds", "-o", "name"), `(?m)^deployments\.apps$`)
	contains(t, cluster.Imoocpod(t, ns, "kinds", "-o", "custom-columns=KIND:.kind,FIELD:.field"), `(?m)^Deployment +\.spec\.replicas$`)
	contains(t, cluster.Imoocpod(t, ns, "kinds", "-o", "wide"), `(?m)^Store +\S+ +\.spec\.insert\.replicaCount\?,\.spec\.select\.replicaCount\?,\.spec\.storage\.replicaCount\? `)
	// A user without any rights sees that, and what is therefore unknown.
	contains(t, cluster.Imoocpod(t, ns, "kinds", "--as", "nobody"), `(?m)^Ring +odd-name\.example\.com +/scale +/scale +no +<unknown> +no$`)
}
