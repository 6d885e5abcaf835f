package candidates

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath/fieldpathtest"
)

func (c Field) text() string {
	var b strings.Builder
	b.WriteString(c.Path)
	if c.Pattern {
		b.WriteString(" pattern")
	}
	for _, n := range []struct {
		name  string
		value *int64
	}{{"value", c.Value}, {"min", c.Minimum}, {"max", c.Maximum}} {
		if n.value != nil {
			fmt.Fprintf(&b, " %s=%d", n.name, *n.value)
		}
	}
	if c.Description != "" {
		b.WriteString(" # " + c.Description)
	}
	return b.String()
}

// Some of these schemas are from real operators.
func TestCandidates(t *testing.T) {
	t.Parallel()
	const one = `properties: {spec: {type: object, properties: {replicas: {type: integer, format: int32}}}}`
	for name, test := range map[string]struct {
		schema, obj string
		want        []string
	}{
		"plain": {`
properties:
  status: {properties: {replicas: {type: integer}}}
  spec:
    type: object
    properties:
      replicas: {type: integer, default: 1, minimum: 0, maximum: 9, description: "How many, e.g. three. More\ncost more."}
      minReplicas: {type: integer}
      maxReplicas: {type: integer}
      revisionHistoryLimit: {type: integer}
      minReadySeconds: {type: integer}
      port: {type: integer}`, "spec: {replicas: 4, port: 80}", []string{".spec.replicas value=4 min=0 max=9 # How many, e.g. three."}},
		"odd name":       {`properties: {spec: {properties: {clusterSize: {type: integer, minimum: 0, exclusiveMinimum: true}}}}`, "", []string{".spec.clusterSize min=1"}},
		"odd status":     {`properties: {spec: {properties: {replicas: {type: integer}}}, status: {properties: {currentWorkers: {type: integer}}}}`, "", []string{".spec.replicas"}},
		"no selector":    {one, "{spec: {}}", []string{".spec.replicas"}},
		"cluster-scoped": {one, "spec: {replicas: null}", []string{".spec.replicas"}},
		"name clash":     {one, `spec: {replicas: "2"}`, []string{".spec.replicas"}},
		"not pods":       {`properties: {spec: {properties: {tasksMax: {type: integer}, replicas: {type: integer}}}}`, "", []string{".spec.replicas"}},
		"nested":         {`properties: {spec: {properties: {gateway: {properties: {replicas: {type: integer}}}}}}`, "spec: {gateway: {replicas: 2}}", []string{".spec.gateway.replicas value=2"}},
		"not replicas": {`properties: {spec: {properties: {shardCount: {type: integer}, replicaCount: {type: integer}}}}`, "",
			[]string{".spec.replicaCount", ".spec.shardCount"}},
		"schemaless": {`
properties:
  spec:
    type: object
    x-kubernetes-preserve-unknown-fields: true
    properties: {replicas: {type: integer}}`,
			"spec: {size: 2, source: {workers: 3, port: 4, groups: [{name: a, count: 5}]}, template: {spec: {containers: [], replicas: 6}}, storage: {size: 7}}",
			[]string{".spec.replicas", ".spec.size value=2", ".spec.source.workers value=3", `.spec.source.groups[?(@.name=="a")].count value=5`}},
		"a field": {`properties: {spec: {properties: {nodes: {type: integer, minimum: 3}, grpcPort: {type: integer}, maxUnavailable: {type: integer}}}}`, "", []string{".spec.nodes min=3"}},
		"several: shallow first": {`
properties:
  spec:
    properties:
      storage: {properties: {replicaCount: {type: integer}, size: {type: integer}}}
      insert: {properties: {replicaCount: {type: integer}, hpa: {properties: {maxReplicas: {type: integer}}}}}
      select: {properties: {instances: {type: integer}, replicas: {type: integer}}}
      a: {properties: {b: {properties: {replicas: {type: integer}}}}}`, "",
			[]string{".spec.select.replicas", ".spec.insert.replicaCount", ".spec.storage.replicaCount", ".spec.select.instances", ".spec.a.b.replicas"}},
		"a list, empty": {`
properties: {spec: {properties: {tasks: {type: array, items: {properties: {name: {type: string}, replicas: {type: integer}, template: {
  properties: {spec: {properties: {containers: {type: array}, nodes: {type: integer}}}}}}}}}}}`, "spec: {tasks: []}",
			[]string{`.spec.tasks[?(@.name=="<NAME>")].replicas pattern`}},
		"a list": {`properties: {spec: {properties: {tasks: {items: {properties: {name: {type: string}, replicas: {type: integer}}}}}}}`,
			`spec: {tasks: [{name: b, replicas: 2}, {name: "a\"", replicas: 1}, {name: c}]}`,
			[]string{`.spec.tasks[?(@.name=="b")].replicas value=2`, `.spec.tasks[?(@.name=="a\"")].replicas value=1`, `.spec.tasks[?(@.name=="c")].replicas`}},
		"a list without keys": {`properties: {spec: {properties: {tasks: {items: {properties: {replicas: {type: integer}}}}}}}`,
			`spec: {tasks: [{id: 1, name: x}, {name: x, replicas: 1, key: k}, {name: x}]}`,
			[]string{`.spec.tasks[?(@.id==1)].replicas`, `.spec.tasks[?(@.key=="k")].replicas value=1`, `.spec.tasks[2].replicas`}},
		"a list that is empty and has no keys": {`properties: {spec: {properties: {tasks: {items: {properties: {replicas: {type: integer}}}}}}}`, "",
			[]string{`.spec.tasks[0].replicas pattern`}},
		"lists in lists, with the keys of the schema": {`
properties:
  spec:
    properties:
      cells: {items: {properties: {name: {type: string}, pools: {x-kubernetes-list-map-keys: [type, cell], items: {properties: {replicas: {type: integer}}}}}}}`,
			"spec: {cells: [{name: a, pools: [{type: x, cell: 1, replicas: 2}]}, {name: b}]}",
			[]string{`.spec.cells[?(@.name=="a")].pools[?(@.type=="x" && @.cell==1)].replicas value=2`, `.spec.cells[?(@.name=="b")].pools[?(@.type=="<NAME>" && @.cell=="<NAME>")].replicas pattern`}},
		"a map": {`properties: {spec: {properties: {pools: {type: object, additionalProperties: {properties: {size: {type: integer}}}}}}}`,
			"spec: {pools: {a.b: {size: 1}}}", []string{`.spec.pools["a.b"].size value=1`}},
		"a map, empty": {`properties: {spec: {properties: {pools: {type: object, additionalProperties: {properties: {size: {type: integer}}}}}}}`,
			"", []string{`.spec.pools["<NAME>"].size pattern`}},
		"the trap: a guess is a guess": {`properties: {spec: {properties: {partitions: {type: integer}, replicas: {type: integer, maximum: 32767}}}}`, "", []string{".spec.replicas max=32767"}},
		"negative: parallelism":        {`properties: {spec: {properties: {parallelism: {x-kubernetes-int-or-string: true}, completionPolicy: {properties: {activeDeadlineSeconds: {type: integer}}}}}}`, "spec: {parallelism: 3}", nil},
		"negative: a list of pods":     {`properties: {spec: {properties: {pods: {items: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}`, "spec: {pods: [{kind: Pod, spec: {containers: [], size: 1}}]}", nil},
		"parts with numbers of their own": {`
properties:
  spec:
    properties:
      podTemplate: {properties: {size: {type: integer}}}
      volumeClaimTemplates: {items: {properties: {size: {type: integer}}}}
      livenessProbe: {properties: {count: {type: integer}}}
      podSecurityContext: {properties: {count: {type: integer}}}
      podAntiAffinity: {properties: {count: {type: integer}}}
      updateStrategy: {properties: {rollingUpdate: {properties: {replicas: {type: integer}}}}}
      resources: {properties: {nodes: {type: integer}}}`, "", nil},
		"no types":        {`properties: {spec: {$ref: "#/x", allOf: [{$ref: "#/y"}]}}`, "spec: {replicas: 2, text: a}", []string{".spec.replicas value=2"}},
		"no schema":       {"", "{replicas: 1, metadata: {generation: 1, count: 3}, spec: {members: 2.0, size: 1.5}, status: {replicas: 1}}", []string{".spec.members value=2"}},
		"nothing":         {"", "", nil},
		"a strange one":   {`{properties: {spec: {properties: [1], items: 3, additionalProperties: "x", type: [integer]}}}`, "spec: {replicas: {a: 1}, b: [1, [2], null]}", nil},
		"another":         {`{properties: {spec: {properties: {replicas: 3, size: null, a: {items: [], type: array, x-kubernetes-list-map-keys: [1]}}}}}`, "spec: 3", nil},
		"a strange value": {`{properties: {spec: {properties: {a: {items: {properties: {size: {type: integer}}}}}}}}`, "spec: {a: [3, null, {size: x}]}", []string{".spec.a[0].size", ".spec.a[1].size", ".spec.a[2].size"}},
	} {
		var got []string
		for _, c := range Fields(fieldpathtest.Object(t, test.schema), fieldpathtest.Object(t, test.obj)) {
			got = append(got, c.text())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got\n\t%s\nwant\n\t%s", name, strings.Join(got, "\n\t"), strings.Join(test.want, "\n\t"))
		}
	}
}

// Fields stops at its limits, even if a schema refers to itself or a list is very long.
func TestCandidatesAreBounded(t *testing.T) {
	t.Parallel()
	self := map[string]any{}
	properties := map[string]any{"spec": self, "a": self, "b": self, "c": self, "d": self, "size": map[string]any{"type": "integer"}}
	self["properties"] = properties
	got := Fields(self, nil)
	if len(got) != maxFields || got[0].Path != ".spec.size" || got[1].Path != ".spec.a.size" {
		t.Errorf("got %d candidates, %v first", len(got), got[:2])
	}
	delete(properties, "size")
	if got := Fields(self, nil); got != nil {
		t.Errorf("got %v", got)
	}
	chain := map[string]any{"replicas": int64(1)}
	for range 50 {
		chain = map[string]any{"replicas": int64(1), "x": chain}
	}
	if got := Fields(nil, map[string]any{"spec": chain}); len(got) != MaxDepth {
		t.Errorf("got %d candidates, down to %s", len(got), got[len(got)-1].Path)
	}
	long := make([]any, 20_000)
	for i := range long {
		long[i] = map[string]any{"name": "same", "count": int64(1)}
	}
	if got := Fields(nil, map[string]any{"spec": map[string]any{"list": long}}); len(got) != maxFields {
		t.Errorf("got %d candidates of a long list", len(got))
	}
}

// The path of each candidate is valid, leads to the value of the candidate, and can be patched.
func TestCandidatesCanBeWritten(t *testing.T) {
	t.Parallel()
	count := rapid.SampledFrom([]string{"replicas", "size", "nodes", "name", "key", "a.b"})
	rapid.Check(t, func(t *rapid.T) {
		obj := map[string]any{"metadata": map[string]any{"resourceVersion": "1"}, "spec": rapid.MapOfN(rapid.OneOf(count, fieldpathtest.Names()), fieldpathtest.Values(3), 0, 5).Draw(t, "spec")}
		for _, c := range Fields(nil, obj) {
			p, err := fieldpath.ParsePath(c.Path)
			if err != nil || p.String() != c.Path {
				t.Fatalf("%s reads as %s, %v", c.Path, p, err)
			}
			n, found, err := p.Get(obj)
			if err != nil || !found || c.Value == nil || *c.Value != n || c.Pattern {
				t.Fatalf("%s is %d, %t, %v", c.text(), n, found, err)
			}
			if _, err := fieldpath.Patch(obj, fieldpath.Edit{Path: p, Value: int64(1)}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestLooksLikeCount(t *testing.T) {
	t.Parallel()
	for name := range strings.FieldsSeq(`replicas Replicas REPLICAS size instances count members nodes servers workers shards brokers
		numberOfInstances number_of_nodes replicaCount replicasCount shardCount shardsCount nodeCount clusterSize replicacount clustersize
		workerReplicas readReplicas dataNodes numWorkers workerNum nodePoolSize replicasPerShard desiredReplicas scale replica`) {
		if !looksLikeCount(name, "spec") {
			t.Errorf("%s does not look like a count", name)
		}
	}
	for name := range strings.FieldsSeq(`minReplicas maxReplicas minreplicas maxreplicas parallelism port ports portCount backupCount poolSize queueSize
		blockSize readIOThreadCount revisionHistoryLimit revisionHistoryLimitCount minReadySeconds tasksMax partitions percent priority weight
		maxUnavailableNodes imagePreDownloadMinUpdatedReadyPods replicationFactor nodeName nodePort sized discount accounts … _`) {
		if looksLikeCount(name, "spec") {
			t.Errorf("%s looks like a count", name)
		}
	}
	for _, within := range []string{"storage", "dataVolume", "gpu", "connectionPool"} {
		if looksLikeCount("size", within) || looksLikeCount("count", within) || !looksLikeCount("replicas", within) {
			t.Errorf("the size of %s looks like a count", within)
		}
	}
}
