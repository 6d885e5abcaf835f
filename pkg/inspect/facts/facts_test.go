package facts

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

func TestFacts(t *testing.T) {
	t.Parallel()
	obj := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "ns", "name": "foo", "uid": "u", "generation": int64(4), "deletionTimestamp": "2026-01-02T03:04:05Z",
			"annotations": map[string]any{apis.AnnotationPausedUntil: apis.PausedForever}},
		"spec": map[string]any{"replicas": int64(3)},
		"status": map[string]any{
			"observedGeneration": int64(3), "replicas": int64(2), "readyReplicas": int64(1),
			"conditions": []any{
				map[string]any{"type": "Theirs", "status": "True", "message": "why", "lastTransitionTime": ""}, "none",
				map[string]any{"type": "Ready", "status": "False", "reason": "PodsNotReady"},
			},
		},
	}}
	facts, err := Of(kinds.ImoocPod(), obj)
	if err != nil {
		t.Fatal(err)
	}
	if facts.Type != "imoocpod.batch.tutorial.kubebuilder.io" || facts.Kind != "ImoocPod" || facts.Namespace != "ns" || facts.Name != "foo" || facts.UID != "u" || facts.Deleted.IsZero() ||
		facts.Generation != 4 || facts.ObservedGeneration != 3 || facts.Desired != 3 || facts.Current != 2 || facts.Ready != 1 || !facts.UserPause.Forever ||
		len(facts.Conditions) != 2 || facts.Conditions[0].Message != "why" || facts.Conditions[1].Reason != "PodsNotReady" {
		t.Errorf("unexpected model of an ImoocPod: %+v", facts)
	}
	obj.Object["status"] = "what"
	if _, err := Of(kinds.ImoocPod(), obj); err == nil {
		t.Error("Of() returned no error for a status that is a string")
	}
}

// Of finds the counts in the different status fields that controllers of other programs write.
func TestFactsOfOtherKinds(t *testing.T) {
	t.Parallel()
	kind := kinds.Kind{Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "lamps"}, Kind: "Lamp", Singular: "lamp"}
	type counts struct {
		current, ready       int32
		untracked, uncounted bool
	}
	for name, test := range map[string]struct {
		status any
		want   counts
	}{
		"Deployment fields":   {map[string]any{"observedGeneration": int64(2), "replicas": int64(3), "readyReplicas": int64(2), "availableReplicas": int64(1)}, counts{3, 2, false, false}},
		"DaemonSet fields":    {map[string]any{"observedGeneration": int64(2), "currentNumberScheduled": int64(3), "numberReady": int64(2)}, counts{3, 2, false, false}},
		"available pods only": {map[string]any{"availableReplicas": int64(1)}, counts{1, 1, true, false}}, // at least the available pods exist
		"no ready count":      {map[string]any{"replicas": int64(3)}, counts{3, 0, true, true}},
		"other field names":   {map[string]any{"clusterSize": int64(3), "readyNodes": int64(3)}, counts{3, 3, true, false}},
		"counts as text":      {map[string]any{"ready": "3/3", "replicas": "three"}, counts{0, 0, true, true}},
		"boolean ready":       {map[string]any{"ready": true}, counts{0, 0, true, true}},
		"conditions as text":  {map[string]any{"conditions": "fine"}, counts{0, 0, true, true}},
		"no status":           {nil, counts{0, 0, true, true}},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "it"}}}
		if test.status != nil {
			obj.Object["status"] = test.status
		}
		o, err := Of(kind, obj)
		if got := (counts{o.Current, o.Ready, o.Untracked, o.ReadyUnknown}); err != nil || got != test.want || !o.Foreign || o.Type != "lamp.example.com" {
			t.Errorf("%s: counts = %+v, want %+v (error %v, model %+v)", name, got, test.want, err, o)
		}
	}
}

// The counts of shipped kinds are read from the fields that their mappings name, and are clamped to valid counts.
func TestFactsOfShippedKinds(t *testing.T) {
	t.Parallel()
	type counts struct{ desired, current, ready, updated int32 }
	for name, test := range map[string]struct {
		kind   kinds.Kind
		status map[string]any
		want   counts
		pruned bool
	}{
		"ImoocPod":           {kinds.ImoocPod(), map[string]any{"replicas": int64(3), "readyReplicas": int64(2), "updatedReplicas": int64(1)}, counts{4, 3, 2, 1}, false},
		"invalid counts":     {kinds.ImoocPod(), map[string]any{"replicas": int64(4294967296), "readyReplicas": int64(-1)}, counts{4, 2147483647, 0, -1}, false},
		"no updatedReplicas": {kinds.ImoocPod(), map[string]any{"replicas": int64(3), "readyReplicas": int64(2)}, counts{4, 3, 2, -1}, false},
		"AppService":         {kinds.AppService(), map[string]any{"replicas": int64(3), "availableReplicas": int64(2)}, counts{4, 3, 2, -1}, false},
		"HelloWorld":         {kinds.HelloWorld(), map[string]any{"replicas": int64(3), "availableReplicas": int64(2), "nodes": []any{"a"}}, counts{5, 3, 2, -1}, false},
		"pruned HelloWorld":  {kinds.HelloWorld(), map[string]any{"nodes": []any{"a"}}, counts{5, 0, 0, -1}, true},
		"new HelloWorld":     {kinds.HelloWorld(), nil, counts{5, 0, 0, -1}, false},
		"MyDaemonSet":        {kinds.MyDaemonSet(), map[string]any{"desiredNumberScheduled": int64(7), "currentNumberScheduled": int64(6), "availableReplicas": int64(5), "updatedNumberScheduled": int64(4)}, counts{7, 6, 5, 4}, false},
		"new MyDaemonSet":    {kinds.MyDaemonSet(), nil, counts{4, 0, 0, -1}, false},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(4), "size": int64(5)}}}
		if test.status != nil {
			obj.Object["status"] = test.status
		}
		o, err := Of(test.kind, obj)
		got := counts{o.Desired, o.Current, o.Ready, -1}
		if o.Updated != nil {
			got.updated = *o.Updated
		}
		if err != nil || got != test.want || o.Untracked != test.pruned || o.ReadyUnknown != test.pruned || o.Foreign {
			t.Errorf("%s: counts = %+v, want %+v (error %v, model %+v)", name, got, test.want, err, o)
		}
	}
}

func TestChild(t *testing.T) {
	t.Parallel()
	child := Child(&unstructured.Unstructured{Object: map[string]any{
		"kind": "ReplicaSet",
		"metadata": map[string]any{"name": "web-1", "uid": "set", "annotations": map[string]any{"deployment.kubernetes.io/revision": "7"}, "ownerReferences": []any{
			map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "web", "controller": true},
		}},
		"spec":   map[string]any{"replicas": int64(3)},
		"status": map[string]any{"readyReplicas": int64(2), "conditions": []any{map[string]any{"type": "ReplicaFailure", "status": "True"}}},
	}})
	if child.Kind != "ReplicaSet" || child.Name != "web-1" || child.UID != "set" || child.Controller != "web" || *child.Desired != 3 || *child.Ready != 2 || len(child.Conditions) != 1 || child.Revision != 7 {
		t.Errorf("unexpected model of a ReplicaSet: %+v", child)
	}
	for name, test := range map[string]struct {
		text             string
		counted, tracked bool
		updated          bool
	}{
		"built in":                 {"{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {replicas: 3}, status: {observedGeneration: 2, readyReplicas: 3, updatedReplicas: 3}}", true, true, true},
		"built in, no status":      {"{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}, spec: {replicas: 3}}", true, true, false},
		"built in, no replicas":    {"{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 2}, status: {observedGeneration: 2, desiredNumberScheduled: 3, numberReady: 3}}", true, true, false},
		"custom":                   {"{apiVersion: x/v1, kind: Lamp, metadata: {generation: 2}, spec: {replicas: 3}, status: {observedGeneration: 2, readyReplicas: 3, updatedReplicas: 3}}", true, true, false},
		"custom, not observed":     {"{apiVersion: x/v1, kind: Lamp, metadata: {generation: 2}, spec: {replicas: 3}, status: {readyReplicas: 3}}", true, false, false},
		"custom, no generation":    {"{apiVersion: x/v1, kind: Lamp, spec: {replicas: 3}, status: {observedGeneration: 2, readyReplicas: 3}}", true, false, false},
		"custom, no ready count":   {"{apiVersion: x/v1, kind: Lamp, metadata: {generation: 2}, spec: {replicas: 3}, status: {observedGeneration: 2}}", false, true, false},
		"custom, no desired count": {"{apiVersion: x/v1, kind: Lamp, metadata: {generation: 2}, spec: {}, status: {observedGeneration: 2, readyReplicas: 3}}", false, true, false},
	} {
		child := Child(readObject(t, test.text))
		if (child.Desired != nil) != test.counted || child.Tracked != test.tracked || (child.Updated != nil) != test.updated {
			t.Errorf("%s: %+v, want counts: %t, tracked: %t, updated: %t", name, child, test.counted, test.tracked, test.updated)
		}
	}
	if none := Child(&unstructured.Unstructured{Object: map[string]any{"status": "what"}}); none.Desired != nil || none.Controller != "" {
		t.Errorf("Child() of an object with an invalid status = %+v, want no counts and no controller", none)
	}
}

func pathOf(t *testing.T, text string) *fieldpath.Path {
	t.Helper()
	path, err := fieldpath.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return &path
}

// The schema determines the facts. The counts are integers in the status or, if /scale names a nested status
// field, the integers next to that field. The name of the replica field determines the unit.
func TestFactsFromSchema(t *testing.T) {
	t.Parallel()
	integers := func(names string) string {
		var all []string
		for name := range strings.FieldsSeq(names) {
			all = append(all, name+": {type: integer}")
		}
		return "{type: object, properties: {" + strings.Join(all, ", ") + "}}"
	}
	crd := func(spec, status string) string {
		return "{type: object, properties: {spec: " + spec + ", status: " + status + "}}"
	}
	for name, test := range map[string]struct {
		schema, count string
		source        kinds.Source
		want          string
	}{
		"counts": {crd(integers("replicas"), integers("replicas readyReplicas updatedReplicas availableReplicas")), ".spec.replicas", kinds.Source{StatusServed: true},
			"none; pod; desired []; current [.status.replicas]; ready [.status.readyReplicas .status.availableReplicas]; updated [.status.updatedReplicas]; available [.status.availableReplicas]; zero [.status.readyReplicas .status.updatedReplicas]; beside []; several false; from [schema]"},
		"counts, no /status subresource": {crd(integers("replicas"), integers("readyReplicas observedGeneration")), ".spec.replicas", kinds.Source{},
			"none; pod; desired []; current []; ready [.status.readyReplicas]; updated []; available []; zero []; beside []; several false; from [schema]"},
		"observed generation": {crd(integers("replicas"), integers("observedGeneration readyReplicas")), ".spec.replicas", kinds.Source{StatusServed: true},
			".status.observedGeneration; pod; desired []; current []; ready [.status.readyReplicas]; updated []; available []; zero [.status.readyReplicas]; beside []; several false; from [schema]"},
		"count as text": {crd(integers("replicas"), "{type: object, properties: {phase: {type: string}, readyReplicas: {type: string}}}"), ".spec.replicas", kinds.Source{StatusServed: true},
			"none; pod; desired []; current []; ready []; updated []; available []; zero []; beside []; several false; from [schema]"},
		"nested phase": {crd(integers("replicas"), "{type: object, properties: {upToDateReplicas: {type: integer}, state: {type: object, properties: {phase: {type: string}}}}}"), ".spec.replicas", kinds.Source{StatusServed: true},
			"none; pod; desired []; current []; ready []; updated [.status.upToDateReplicas]; available []; zero [.status.upToDateReplicas]; beside []; several false; from [schema]"},
		"shards": {crd(integers("shards replicas"), integers("shards readyReplicas")), ".spec.shards", kinds.Source{StatusServed: true, SpecPath: ".spec.shards", StatusPath: ".status.shards", SelectorPath: ".status.selector"},
			"none; shard; desired []; current [.status.shards]; ready []; updated []; available []; zero []; beside [.spec.replicas]; several false; from [schema /scale]"},
		"shards, unit is a space": {crd(integers("shards replicas"), integers("shards")), ".spec.shards", kinds.Source{StatusServed: true, Annotations: map[string]string{annotationUnit: " "}},
			"none; pod; desired []; current [.status.shards]; ready []; updated []; available []; zero []; beside [.spec.replicas]; several false; from [schema annotation imoocpod.dev/unit]"},
		"/scale, nested": {crd("{type: object, properties: {gateway: "+integers("replicas")+"}}", "{type: object, properties: {gateway: "+integers("replicas readyReplicas")+", readyReplicas: {type: integer}}}"), ".spec.gateway.replicas",
			kinds.Source{StatusServed: true, SpecPath: "spec.gateway.replicas", StatusPath: ".status.gateway.replicas"},
			"none; pod; desired []; current [.status.gateway.replicas]; ready [.status.gateway.readyReplicas]; updated []; available []; zero [.status.gateway.readyReplicas]; beside []; several false; from [schema /scale]"},
		"/scale of another count": {crd(integers("replicas size"), integers("replicas")), ".spec.replicas", kinds.Source{StatusServed: true, SpecPath: ".spec.size", StatusPath: ".status.size"},
			"none; pod; desired []; current [.status.replicas]; ready []; updated []; available []; zero []; beside []; several false; from [schema]"},
		"no replica field": {crd("{type: object}", integers("desiredNumberScheduled numberReady")), "", kinds.Source{StatusServed: true},
			"none; pod; desired [.status.desiredNumberScheduled]; current []; ready [.status.numberReady]; updated []; available []; zero [.status.desiredNumberScheduled .status.numberReady]; beside []; several false; from [schema]"},
		"no replica field, but /scale": {crd("{type: object}", integers("replicas")), "", kinds.Source{StatusServed: true, StatusPath: ".status.replicas"},
			"none; pod; desired []; current [.status.replicas]; ready []; updated []; available []; zero []; beside []; several false; from [schema /scale]"},
		"two groups": {crd("{type: object, properties: {a: "+integers("replicas")+", b: "+integers("replicas")+"}}", integers("readyReplicas")), ".spec.a.replicas", kinds.Source{StatusServed: true},
			"none; pod; desired []; current []; ready [.status.readyReplicas]; updated []; available []; zero [.status.readyReplicas]; beside [.spec.b.replicas]; several true; from [schema]"},
		"count at the top level": {crd("{type: object, properties: {replicas: {type: integer}, b: "+integers("replicas")+"}}", integers("readyReplicas")), ".spec.replicas", kinds.Source{StatusServed: true},
			"none; pod; desired []; current []; ready [.status.readyReplicas]; updated []; available []; zero [.status.readyReplicas]; beside []; several false; from [schema]"},
		"count in one group": {crd("{type: object, properties: {replicas: {type: integer}, b: "+integers("replicas")+"}}", integers("readyReplicas")), ".spec.b.replicas", kinds.Source{StatusServed: true},
			"none; pod; desired []; current []; ready [.status.readyReplicas]; updated []; available []; zero [.status.readyReplicas]; beside [.spec.replicas]; several false; from [schema]"},
	} {
		var count *fieldpath.Path
		if test.count != "" {
			count = pathOf(t, test.count)
		}
		test.source.Schema = parsed(t, test.schema)
		f, err := New(kindNamed("lamps.example.com", "Lamp"), test.source, count)
		got := fmt.Sprintf("%v; %s; desired %v; current %v; ready %v; updated %v; available %v; zero %v; beside %v; several %t; from %v",
			f.Generation, f.Unit, f.Desired, f.Current, f.Ready, f.Updated, f.Available, f.Zero, f.OtherCounts, f.Several, f.From)
		if err != nil || got != test.want {
			t.Errorf("%s:\n%s (%v)\nwant\n%s", name, got, err, test.want)
		}
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		".status.replicas": "", ".status.gateway.replicas": ".gateway", ".status.a.b.c": ".a.b", ".spec.gateway.replicas": "", ".status": "", ".status[": "", "": "",
	} {
		if got := within(path).String(); got != ".status"+want {
			t.Errorf("within(%q) = %q, want %q", path, got, ".status"+want)
		}
	}
}

// ReadyUnknown is set if the mapping has no field for ready or available pods. Template is set if it has no field for
// updated pods, except with the strategy Deployment. Without a field for all pods, Current is the number of ready pods.
func TestReadMapped(t *testing.T) {
	t.Parallel()
	field, other := []string{"status", "x"}, []string{"status", "y"}
	for name, test := range map[string]struct {
		mapping                                 kinds.Mapping
		template, untracked, uncounted, noCount bool
		desired, current                        int32
	}{
		"all":                  {kinds.Mapping{Strategy: kinds.StrategyPods, Status: kinds.StatusPaths{ObservedGeneration: field, Ready: field, Available: field, Updated: field, Desired: other, Current: other}}, false, false, false, false, 5, 5},
		"all but Current":      {kinds.Mapping{Strategy: kinds.StrategyPods, Status: kinds.StatusPaths{ObservedGeneration: field, Ready: field, Available: field, Updated: field, Desired: other}}, false, false, false, false, 5, 2},
		"no fields":            {kinds.Mapping{Strategy: kinds.StrategyPods}, true, true, true, false, 3, 0},
		"Deployment":           {kinds.Mapping{Strategy: kinds.StrategyDeployment, Status: kinds.StatusPaths{ObservedGeneration: field, Ready: field}}, false, false, false, false, 3, 2},
		"per node, no count":   {kinds.Mapping{Strategy: kinds.StrategyNodes, Status: kinds.StatusPaths{ObservedGeneration: field, Available: field}}, true, false, false, true, 3, 2},
		"per node, with count": {kinds.Mapping{Strategy: kinds.StrategyNodes, Status: kinds.StatusPaths{ObservedGeneration: field, Ready: field, Desired: other}}, true, false, false, false, 5, 2},
	} {
		o := status.Object{Counts: status.Counts{Desired: 3}}
		test.mapping.ImagePath = []string{"spec", "image"}
		kind := kinds.Kind{Mapping: test.mapping}
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"image": "a"}, "status": map[string]any{"x": int64(2), "y": int64(5)}}}
		readMapped(kind, &o, obj)
		template := ""
		if test.template {
			template = kinds.TemplateHash(kind, obj)
		}
		if o.Template != template || o.Untracked != test.untracked || o.ReadyUnknown != test.uncounted || o.NoCount != test.noCount || o.Desired != test.desired || o.Current != test.current {
			t.Errorf("%s: %+v; want template %q, untracked %t, unknown ready %t, no count %t, desired %d, current %d", name, o, template, test.untracked, test.uncounted, test.noCount, test.desired, test.current)
		}
	}
}

// groups omits groups with the same name in different objects, because no label or status field distinguishes them.
func TestGroups(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"{racks: [{name: a, server: {replicas: 1}}], proxy: {replicas: 2}}":                     "proxy server",
		"{blue: {server: {replicas: 1}}, green: {server: {replicas: 3}}, proxy: {replicas: 2}}": "proxy",
		"{proxy: {replicas: 2, minReplicas: 1}}":                                                "proxy",
	} {
		var got []string
		for _, g := range (Facts{}).groups(readObject(t, "{apiVersion: x/v1, kind: It, spec: "+spec+"}").Object) {
			got = append(got, g.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("groups of %s = %q, want %q", spec, got, want)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"replicas: 3, minReplicas: 2, maxReplicas: 6":            ".spec.maxReplicas 6 true, .spec.minReplicas 2 false",
		"replicas: 3, maximumReplicas: 6, minimumReplicas: 2":    ".spec.maximumReplicas 6 true, .spec.minimumReplicas 2 false",
		"replicas: 3, maxReplicas: 0, minReplicas: 0":            ".spec.minReplicas 0 false",
		"replicas: 3, min: 2, maxPods: 6, minReplicas: two":      "",
		"replicas: 3, limitReplicas: 6, maxPods: 5, minReady: 1": "",
		"replicas: 3, maxPods: 5, minReplicas: 2":                ".spec.minReplicas 2 false",
	} {
		var got []string
		for _, b := range bounds(readObject(t, "{apiVersion: x/v1, kind: It, spec: {"+spec+"}}").Object, fieldpath.Fields("spec", "replicas")) {
			got = append(got, fmt.Sprintf("%s %d %t", b.Path, b.Value, b.Above))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("bounds in %s = %q, want %q", spec, got, want)
		}
	}
}

func TestSetsImage(t *testing.T) {
	t.Parallel()
	field := []string{"spec", "x"}
	for name, test := range map[string]struct {
		kind kinds.Kind
		want bool
	}{
		"template path":                {kinds.Kind{Mapping: kinds.Mapping{Strategy: kinds.StrategyPods, TemplatePath: field}}, true},
		"image path":                   {kinds.Kind{Mapping: kinds.Mapping{Strategy: kinds.StrategyPods, ImagePath: field}}, true},
		"template path and image path": {kinds.Kind{Mapping: kinds.Mapping{Strategy: kinds.StrategyPods, ImagePath: field, TemplatePath: field}}, true},
		"only a default image":         {kinds.Kind{Mapping: kinds.Mapping{Strategy: kinds.StrategyPods, Image: "nginx"}}, false},
		"Deployment":                   {kindNamed("deployments.apps", "Deployment"), true},
		"custom resource":              {kindNamed("lamps.example.com", "Lamp"), false},
		"ReplicaSet":                   {kindNamed("replicasets.apps", "ReplicaSet"), false},
	} {
		o, err := Of(test.kind, &unstructured.Unstructured{Object: map[string]any{}})
		if err != nil || o.SetsImage != test.want {
			t.Errorf("%s: SetsImage = %t (error %v), want %t", name, o.SetsImage, err, test.want)
		}
	}
}

// A generation may be a number or a numeric string. An empty string means that no controller has seen the
// object. The result for a hash or an absent field depends on the facts of the kind.
func TestReadGeneration(t *testing.T) {
	t.Parallel()
	ready := []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
	declared, builtIn := Facts{Generation: GenerationField}, Facts{Generation: GenerationField, builtIn: true}
	for name, test := range map[string]struct {
		facts                  Facts
		generation             int64
		conditions             []metav1.Condition
		observed               any
		want                   int64
		untracked, conditioned bool
	}{
		"number":                            {Facts{}, 3, nil, int64(3), 3, false, false},
		"numeric string":                    {Facts{}, 3, nil, "3", 3, false, false},
		"empty string":                      {Facts{}, 3, nil, "", 0, false, false},
		"hash":                              {Facts{}, 3, nil, "a1b2", 0, true, false},
		"absent":                            {Facts{}, 3, nil, nil, 0, true, false},
		"absent, with conditions":           {Facts{Conditions: true}, 3, nil, nil, 0, true, true},
		"absent, built in, with conditions": {Facts{Conditions: true, builtIn: true}, 3, nil, nil, 0, true, false},
		"declared, absent":                  {declared, 3, nil, nil, 0, false, false},
		"declared as a string, hash":        {Facts{Generation: GenerationText}, 3, nil, "a1b2", 0, false, false},
		"declared, absent, Ready is True":   {declared, 3, ready, nil, 0, true, false},
		"declared, absent, no generation":   {declared, 0, nil, nil, 0, false, false},
		"built in, absent":                  {builtIn, 3, nil, nil, 0, false, false},
		"built in, absent, Ready is True":   {builtIn, 3, ready, nil, 0, false, false},
		"built in, absent, no generation":   {builtIn, 0, nil, nil, 0, true, false},
	} {
		o := status.Object{Evidence: status.Evidence{Generation: test.generation, Conditions: test.conditions}}
		test.facts.readGeneration(&o, map[string]any{"status": map[string]any{"observedGeneration": test.observed}})
		if o.ObservedGeneration != test.want || o.Untracked != test.untracked || o.Conditioned != test.conditioned {
			t.Errorf("%s: %+v; want generation %d, untracked %t, conditioned %t", name, o.Evidence, test.want, test.untracked, test.conditioned)
		}
	}
}

// Selects is true only if the selector field for /scale is not empty.
func TestSelects(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"{status: {selector: 'app=web'}}": true, "{status: {selector: ''}}": false, "{}": false} {
		var o status.Object
		if (Facts{ScaleSelector: ".status.selector"}).read(&o, parsed(t, text)); o.Selects != want {
			t.Errorf("%s: Selects = %t, want %t", text, o.Selects, want)
		}
	}
}

// The schema, the annotations, and the profile of a type determine its rules and the field for a restart. Each test
// case lists rules that the type has, and rules that it does not have.
func TestRulesOfAType(t *testing.T) {
	t.Parallel()
	schema := parsed(t, "{type: object, properties: {status: {type: object, properties: {observedGeneration: {type: integer}}}}}")
	annotations := map[string]string{
		annotationReadyWhen: "{.status.up}=true", kinds.AnnotationDesiredPath: ".status.wanted", annotationRestartPath: ".spec.restart.at",
	}
	for _, test := range []struct {
		kind                 kinds.Kind
		source               kinds.Source
		has, hasNot, restart string
	}{
		{kindNamed("deployments.apps", "Deployment"), kinds.Source{}, "NotSeen Counts", "Reported NothingDone ChangeNotSeen", ""},
		{kindNamed("lamps.example.com", "Lamp"), kinds.Source{}, "Reported Total ChangeNotSeen", "NotSeen ReadyWhen", ""},
		{kindNamed("lamps.example.com", "Lamp"), kinds.Source{Schema: schema, StatusServed: true}, "NotSeen", "ChangeNotSeen", ""},
		{kindNamed("lamps.example.com", "Lamp"), kinds.Source{Annotations: annotations}, "ReadyWhen", "Phase Reported", ".spec.restart.at"},
		{kindNamed("rollouts.argoproj.io", "Rollout"), kinds.Source{}, "Reported Total ChangeNotSeen", "NotSeen ReadyWhen", ".spec.restartAt"},
	} {
		facts, err := New(test.kind, test.source, nil)
		if err != nil {
			t.Fatal(err)
		}
		rules := sets.New(facts.Rules()...)
		if !rules.HasAll(strings.Fields(test.has)...) || rules.HasAny(strings.Fields(test.hasNot)...) {
			t.Errorf("%s, %+v: rules = %q, want %s and none of %s", test.kind, test.source, facts.Rules(), test.has, test.hasNot)
		}
		if facts.Restart != test.restart {
			t.Errorf("%s, %+v: a restart sets %q, want %q", test.kind, test.source, facts.Restart, test.restart)
		}
	}
}

// An expression that may have several results is rejected. The number of expressions is limited.
func TestHostileExpressions(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"{.status..zz}=1", "{.status['a','a']['a','a']}=1", "{.status.parts[*].ready}=true"} {
		if _, err := expressions(word); err == nil {
			t.Errorf("expressions(%q) returned no error", word)
		}
	}
	for _, word := range []string{"{.status.phase}=Ready", `{.status.conditions[?(@.type=="Ready")].status}=True`, "{.status.parts[0].ready}=true"} {
		if _, err := expressions(strings.Repeat(word+"\n", mostExpressions)); err != nil {
			t.Errorf("%d expressions %s: %v", mostExpressions, word, err)
		}
		if _, err := expressions(strings.Repeat(word+"\n", mostExpressions+1)); err == nil {
			t.Errorf("%d expressions are accepted, want at most %d", mostExpressions+1, mostExpressions)
		}
	}
}
