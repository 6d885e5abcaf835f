package candidates

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/test/objects"
	"github.com/imoocpod/kubectl-imoocpod/test/rows"
)

func (f Field) text() string {
	var b strings.Builder
	b.WriteString(f.Path.String())
	if f.Pattern {
		b.WriteString(" pattern")
	}
	for _, n := range []struct {
		name  string
		value *int64
	}{{"value", f.Value}, {"min", f.Minimum}, {"max", f.Maximum}} {
		if n.value != nil {
			fmt.Fprintf(&b, " %s=%d", n.name, *n.value)
		}
	}
	if f.Description != "" {
		b.WriteString(" # " + f.Description)
	}
	return b.String()
}

func TestCandidates(t *testing.T) {
	t.Parallel()
	type row struct {
		Name           string
		Schema, Object objects.Content
		Want           []string
	}
	rows.Run(t, "testdata/fields.yaml", time.Time{}, func(t *testing.T, row row) {
		var got []string
		for _, f := range Fields(row.Schema, row.Object) {
			got = append(got, f.text())
		}
		if !slices.Equal(got, row.Want) {
			t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(row.Want, "\n\t"))
		}
	})
}

// Fields stops at its limits, even if a schema refers to itself or a list is very long.
func TestCandidatesAreBounded(t *testing.T) {
	t.Parallel()
	self := map[string]any{}
	properties := map[string]any{"spec": self, "a": self, "b": self, "c": self, "d": self, "size": map[string]any{"type": "integer"}}
	self["properties"] = properties
	got := Fields(self, nil)
	if len(got) != maxFields || got[0].Path.String() != ".spec.size" || got[1].Path.String() != ".spec.a.size" {
		t.Errorf("got %d candidates, %v first; want %d, .spec.size and .spec.a.size first", len(got), got[:2], maxFields)
	}
	delete(properties, "size")
	if got := Fields(self, nil); got != nil {
		t.Errorf("candidates without an integer field = %v, want none", got)
	}
	chain := map[string]any{"replicas": int64(1)}
	for range 50 {
		chain = map[string]any{"replicas": int64(1), "x": chain}
	}
	if got := Fields(nil, map[string]any{"spec": chain}); len(got) != MaxDepth {
		t.Errorf("got %d candidates of nested objects, down to %s, want %d", len(got), got[len(got)-1].Path, MaxDepth)
	}
	long := make([]any, 20_000)
	for i := range long {
		long[i] = map[string]any{"name": "same", "count": int64(1)}
	}
	if got := Fields(nil, map[string]any{"spec": map[string]any{"list": long}}); len(got) != maxFields {
		t.Errorf("got %d candidates of a long list, want %d", len(got), maxFields)
	}
}

// The path of each candidate is valid, leads to the value of the candidate, and can be patched.
func TestCandidatesCanBeWritten(t *testing.T) {
	t.Parallel()
	count := rapid.SampledFrom([]string{"replicas", "size", "nodes", "name", "key", "a.b"})
	rapid.Check(t, func(t *rapid.T) {
		obj := map[string]any{"metadata": map[string]any{"resourceVersion": "1"}, "spec": rapid.MapOfN(rapid.OneOf(count, objects.Names()), objects.Values(3), 0, 5).Draw(t, "spec")}
		for _, f := range Fields(nil, obj) {
			p, err := fieldpath.ParsePath(f.Path.String())
			if err != nil || !reflect.DeepEqual(p, f.Path) {
				t.Fatalf("ParsePath(%s) = %s, %v", f.Path, p, err)
			}
			n, found, err := p.Get(obj)
			if err != nil || !found || f.Value == nil || *f.Value != n || f.Pattern {
				t.Fatalf("Get of %s = %d, %t, %v, want the value of the candidate", f.text(), n, found, err)
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
			t.Errorf("looksLikeCount(%s) = false", name)
		}
	}
	for name := range strings.FieldsSeq(`minReplicas maxReplicas minreplicas maxreplicas parallelism port ports portCount backupCount poolSize queueSize
		blockSize readIOThreadCount revisionHistoryLimit revisionHistoryLimitCount minReadySeconds tasksMax partitions percent priority weight
		maxUnavailableNodes imagePreDownloadMinUpdatedReadyPods replicationFactor nodeName nodePort sized discount accounts … _`) {
		if looksLikeCount(name, "spec") {
			t.Errorf("looksLikeCount(%s) = true", name)
		}
	}
	for _, within := range []string{"storage", "dataVolume", "gpu", "connectionPool"} {
		if looksLikeCount("size", within) || looksLikeCount("count", within) || !looksLikeCount("replicas", within) {
			t.Errorf("within %s, size or count looks like a count, or replicas does not", within)
		}
	}
}
