package facts

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
)

// reportOf returns the report on a new object of a kind without a schema. If the object has a status, a
// controller wrote the status when the object was created.
func reportOf(t *testing.T, resource string, content map[string]any) status.Report {
	t.Helper()
	obj := &unstructured.Unstructured{Object: content}
	obj.SetUID("it")
	obj.SetGeneration(1)
	made := metav1.NewTime(time.Unix(1e9, 0))
	obj.SetCreationTimestamp(made)
	for _, field := range []string{"spec", "status"} {
		if field == "spec" || content[field] != nil {
			obj.SetManagedFields(append(obj.GetManagedFields(), metav1.ManagedFieldsEntry{
				Manager: field, Operation: metav1.ManagedFieldsOperationUpdate, Time: &made, FieldsType: "FieldsV1",
				FieldsV1: metav1.NewFieldsV1(`{"f:` + field + `":{}}`),
			}))
		}
	}
	gvk, group := obj.GroupVersionKind(), schema.ParseGroupResource(resource)
	kind := kinds.Kind{Kind: gvk.Kind, Singular: strings.ToLower(gvk.Kind), Resource: group.WithVersion(gvk.Version)}
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	known, err := New(kind, kinds.Source{Schema: open, StatusServed: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o, err := Read(kind, obj, known)
	if err != nil {
		t.Fatal(err)
	}
	if len(known.Desired) == 0 {
		o.NoCount, o.Total = true, candidates.Total(candidates.Fields(open, content))
	}
	known.Settle(&o, obj, nil)
	return status.NewReport(status.Snapshot{Object: o, Pods: problem.Pods{}, Now: made.Add(15 * time.Second)})
}

// If an object has no count and no pods, the verdict follows from the reported state.
func TestReportedHealth(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/health.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range bytes.SplitSeq(data, []byte("\n---\n")) {
		var test struct {
			Verdict status.Verdict `json:"verdict"`
			Reason  string         `json:"reason"`
			Kind    string         `json:"kind"`
			Object  map[string]any `json:"object"`
		}
		asJSON, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(asJSON, &test); err != nil {
			t.Fatal(err)
		}
		test.Object["apiVersion"], test.Object["kind"] = "example.com/v1", test.Kind
		if r := reportOf(t, "lamps.example.com", test.Object); r.Verdict != test.Verdict || !strings.Contains(r.Reason, test.Reason) {
			t.Errorf("it is %s: %s\nwant %s: %s\nof %s", r.Verdict, r.Reason, test.Verdict, test.Reason, document)
		}
	}
}

var health = flag.String("health", "", "a directory with objects.jsonl, whose health others have judged")

// disputed lists the objects for which Argo CD expects a different health. docs/any-resource.md explains why.
func disputed() []string {
	return []string{
		"daemonsets.apps.kruise.io no-update-strategy-partition.yaml", "daemonsets.apps.kruise.io suspended.yaml",
		"operatorpolicies.policy.open-cluster-management.io progressing_no_compliance.yaml", "beats.beat.k8s.elastic.co invalid.yaml",
	}
}

// TestHealthOfOthers compares verdicts with the health that Argo CD's checks expect. Except for
// disputed objects, a ready object must be healthy in Argo CD, and a failed object must be degraded.
func TestHealthOfOthers(t *testing.T) {
	if *health == "" {
		return
	}
	data, err := os.ReadFile(filepath.Join(*health, "objects.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	verdicts := []status.Verdict{status.Ready, status.Progressing, status.Failed, status.Paused, status.NotReconciled, status.Unknown}
	count := map[string]map[status.Verdict]int{}
	for line := range bytes.Lines(data) {
		var other struct {
			Resource string         `json:"resource"`
			Health   string         `json:"health"`
			Source   string         `json:"source"`
			Object   map[string]any `json:"object"`
		}
		if err := json.Unmarshal(line, &other); err != nil {
			t.Fatal(err)
		}
		r := reportOf(t, other.Resource, other.Object)
		if count[other.Health] == nil {
			count[other.Health] = map[status.Verdict]int{}
		}
		count[other.Health][r.Verdict]++
		say, name := t.Logf, other.Resource+" "+filepath.Base(other.Source)
		if slices.Contains(disputed(), name) {
			name = "disputed: " + name
		} else if r.Verdict == status.Ready && other.Health != "Healthy" || r.Verdict == status.Failed && other.Health != "Degraded" {
			say = t.Errorf
		}
		say("%s: %s: %s: %s", other.Health, r.Verdict, name, r.Reason)
	}
	table := "EXPECTED       "
	for _, v := range verdicts {
		table += fmt.Sprintf("%-17s", strings.ToUpper(string(v)))
	}
	for _, expected := range slices.Sorted(maps.Keys(count)) {
		table += fmt.Sprintf("\n%-15s", expected)
		for _, v := range verdicts {
			table += fmt.Sprintf("%-17d", count[expected][v])
		}
	}
	t.Log("\n" + table)
}
