package facts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/rows"
)

func kindNamed(resource, kind string) kinds.Kind {
	name, group, _ := strings.Cut(resource, ".")
	return kinds.Kind{Resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: name}, Kind: kind, Singular: strings.ToLower(kind)}
}

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	fields := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func readObject(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(data); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return obj
}

// settled returns the model of an object that another program reconciles. path is the path of the object's
// count, or "" if there is none.
func settled(t *testing.T, kind kinds.Kind, source kinds.Source, path string, obj *unstructured.Unstructured) status.Object {
	t.Helper()
	var count *fieldpath.Path
	if path != "" {
		count = pathOf(t, path)
	}
	facts, err := New(kind, source, count)
	if err != nil {
		t.Fatal(err)
	}
	o, err := Read(kind, obj, facts)
	if err != nil {
		t.Fatal(err)
	}
	if count != nil && len(facts.Desired) == 0 {
		n, found, err := count.Get(obj.Object)
		if err != nil {
			t.Fatal(err)
		}
		o.Desired, o.NoCount = int32(n), !found
	}
	facts.Settle(&o, obj, count)
	return o
}

// Each file in testdata/statuses lists objects with the reports that they get.
func TestStatuses(t *testing.T) {
	t.Parallel()
	rows.Run(t, "testdata/statuses/*.yaml", time.Time{}, func(t *testing.T, row statusRow) { row.check(t) })
}

type statusRow struct {
	Name, Resource, Kind string
	Source               kinds.Source
	Generation           int64 // by default 2
	Annotations          map[string]string
	ManagedFields        []metav1.ManagedFieldsEntry
	// Count is the path of the count, by default .spec.replicas, or "" if the spec has no count.
	Count        *string
	Spec, Status json.RawMessage
	// Report is the verdict, its code, and its reason.
	Report, Hint string
	// Kubectl is the result of "kubectl rollout status" (see built-in.yaml), or "" if the kind is not built in.
	Kubectl string
}

func (row statusRow) check(t *testing.T) {
	t.Helper()
	obj := readObject(t, fmt.Sprintf("{apiVersion: x/v1, kind: %s, metadata: {name: it, namespace: ns, generation: %d}, spec: %s, status: %s}",
		row.Kind, cmp.Or(row.Generation, 2), row.Spec, row.Status))
	obj.SetAnnotations(row.Annotations)
	obj.SetManagedFields(row.ManagedFields)
	if row.Kubectl != "" {
		containers := []any{map[string]any{"name": "main"}}
		if err := unstructured.SetNestedSlice(obj.Object, containers, "spec", "template", "spec", "containers"); err != nil {
			t.Fatal(err)
		}
	}
	o := settled(t, kindNamed(row.Resource, row.Kind), row.Source, ptr.Deref(row.Count, ".spec.replicas"), obj)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := status.NewReport(status.Snapshot{Object: o, Now: now, Commands: commandline.Context{"--context=staging"}})
	report := fmt.Sprintf("%s (%s): %s", r.Verdict, r.ReasonCode, r.Reason)
	if report != row.Report || r.Hint != row.Hint {
		t.Errorf("%s\nhint: %s\nwant %s\nhint: %s", report, r.Hint, row.Report, row.Hint)
	}
	if ready := r.Verdict == status.Ready; row.Kubectl == "done" && !ready || row.Kubectl == "going" && ready {
		t.Errorf("verdict = %s, but \"kubectl rollout status\" reports %q", r.Verdict, row.Kubectl)
	}
}

func TestKeeps(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		partition any
		of, want  int32
		is        bool
	}{
		{int64(2), 5, 2, true}, {int64(7), 5, 5, true}, {int64(-1), 5, 0, true}, {"60%", 5, 3, true}, {"50%", 5, 3, true}, {"1%", 5, 1, true},
		{"99%", 5, 4, true}, {"100%", 5, 5, true}, {"99%", 1, 0, true}, {"0%", 5, 0, true}, {"50%", 0, 0, true}, {"3", 5, 3, true}, {"many", 5, 0, false}, {nil, 5, 0, false},
	} {
		if got, is := keeps(test.partition, test.of); got != test.want || is != test.is {
			t.Errorf("keeps(%v, %d) = %d, %t; want %d, %t", test.partition, test.of, got, is, test.want, test.is)
		}
	}
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("profiles/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d profiles, want at least 10 (error %v)", len(files), err)
	}
	for _, file := range files {
		crd := strings.TrimSuffix(filepath.Base(file), ".yaml")
		annotations := readProfile(crd)
		if len(annotations) == 0 {
			t.Errorf("%s: annotations = %v, want at least one", file, annotations)
		}
		for key := range annotations {
			if !slices.Contains(statusAnnotations(), key) {
				t.Errorf("%s contains %s, which is not an annotation for the status", file, key)
			}
		}
		if _, err := New(kindNamed(crd, "It"), kinds.Source{}, nil); err != nil {
			t.Errorf("%s: New() failed: %v", file, err)
		}
	}
	bad := kinds.Source{Annotations: map[string]string{annotationReadyWhen: "{.status"}}
	if _, err := New(kindNamed("lamps.example.com", "Lamp"), bad, nil); err == nil {
		t.Error("New() returned no error for an invalid expression")
	}
}

// writesRow lists the writes after the creation of an object.
type writesRow struct {
	Name        string
	Count       *string // by default .spec.replicas
	Entries     []metav1.ManagedFieldsEntry
	OnlyCounted bool
}

func TestOnlyCounted(t *testing.T) {
	t.Parallel()
	created := metav1.NewTime(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC))
	fields := metav1.NewFieldsV1(`{"f:spec": {"f:replicas": {}, "f:color": {}}}`)
	spec := metav1.ManagedFieldsEntry{Manager: "a", Operation: "Update", Time: &created, FieldsV1: fields}
	obj := parsed(t, "spec: {replicas: 3, color: red}")
	rows.Run(t, "testdata/only-counted.yaml", created.Time, func(t *testing.T, row writesRow) {
		all := append([]metav1.ManagedFieldsEntry{spec}, row.Entries...)
		if got := onlyCounted(all, ptr.Deref(row.Count, ".spec.replicas"), obj); got != row.OnlyCounted {
			t.Errorf("onlyCounted() = %t, want %t", got, row.OnlyCounted)
		}
	})
}

// totalRow is an object, and the total of its groups.
type totalRow struct {
	Name, Path, Unit string
	Schema           map[string]any
	Spec             json.RawMessage
	Several          bool
	Total            *int32
}

func TestTotal(t *testing.T) {
	t.Parallel()
	rows.Run(t, "testdata/totals.yaml", time.Time{}, func(t *testing.T, row totalRow) {
		source := kinds.Source{Schema: row.Schema, StatusServed: true}
		obj := readObject(t, fmt.Sprintf("{apiVersion: x/v1, kind: It, metadata: {name: it}, spec: %s}", row.Spec))
		o := settled(t, kindNamed("lamps.example.com", "Lamp"), source, row.Path, obj)
		if !ptr.Equal(o.Total, row.Total) || o.Several != row.Several || o.Unit != row.Unit {
			t.Errorf("%d of %q, several %t; want %d, %q, %t", ptr.Deref(o.Total, -1), o.Unit, o.Several, ptr.Deref(row.Total, -1), row.Unit, row.Several)
		}
	})
}

// No object from a server leads to a negative count or a panic.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"spec":{"replicas":3},"status":{"readyReplicas":3,"observedGeneration":1,"conditions":[{"type":"Ready","status":"True"}]}}`,
		`{"spec":{"replicas":"3","paused":"yes"},"status":[]}`, `{"status":{"readyReplicas":-1,"replicas":1e30,"conditions":[null,{"type":1}]}}`,
		`{"spec":{"updateStrategy":{"rollingUpdate":{"partition":"50%"}},"strategy":{"canary":{"steps":[{"pause":{}}]}}},"status":{"phase":"Failed"}}`,
	} {
		f.Add(text)
	}
	count := fieldpath.Fields("spec", "replicas")
	f.Fuzz(func(t *testing.T, text string) {
		var content map[string]any
		if json.Unmarshal([]byte(text), &content) != nil {
			return
		}
		for _, kind := range []kinds.Kind{kinds.ImoocPod(), kindNamed("widgets.example.com", "Widget"), kindNamed("statefulsets.apps", "StatefulSet")} {
			facts, err := New(kind, kinds.Source{}, &count)
			if err != nil {
				t.Fatal(err)
			}
			obj := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
			o, err := Read(kind, obj, facts)
			if err != nil {
				continue
			}
			facts.Settle(&o, obj, &count)
			if o.Ready < 0 || o.Current < 0 || o.Desired < 0 {
				t.Errorf("%s: %d ready, %d current, %d desired pods; want no negative count", text, o.Ready, o.Current, o.Desired)
			}
			status.NewReport(status.Snapshot{Object: o}) // must not panic
		}
	})
}
