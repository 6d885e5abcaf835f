package facts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
	"github.com/imoocpod/kubectl-imoocpod/test/rows"
)

// reportOf returns the report on a new object of a kind whose schema names no fields. If the object has a status, a
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
	return status.NewReport(status.Snapshot{Object: o, Pods: []*problem.Pod{}, Now: made.Add(15 * time.Second)})
}

// A built-in object whose status never shows whether it is ready, such as a ConfigMap, is ready. Any other object is
// ready only if its status shows that it is ready.
func TestExistence(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ resource, object, want string }{
		{"configmaps", "{apiVersion: v1, kind: ConfigMap, data: {a: b}}", "ready: it exists"},
		{"networkpolicies.networking.k8s.io", "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {}}", "ready: it exists"},
		{"ingresses.networking.k8s.io", "{apiVersion: networking.k8s.io/v1, kind: Ingress, status: {loadBalancer: {}}}", "ready: it exists"},
		{"services", "{apiVersion: v1, kind: Service, spec: {type: ClusterIP}, status: {loadBalancer: {}}}", "ready: it exists"},
		{"services", "{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}, status: {loadBalancer: {}}}", "progressing: its load balancer has no address"},
		{"services", "{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}", "ready: it exists"},
		{"namespaces", "{apiVersion: v1, kind: Namespace, status: {phase: Active}}", "ready: it exists"},
		{"flowschemas.flowcontrol.apiserver.k8s.io", "{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: FlowSchema, status: {conditions: [{type: Dangling, status: 'False'}]}}", "ready: it exists"},
		{"validatingadmissionpolicies.admissionregistration.k8s.io", "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, status: {observedGeneration: 1, typeChecking: {}}}", "ready: it exists"},
		{"resourcequotas", "{apiVersion: v1, kind: ResourceQuota, status: {hard: {pods: 1}, used: {pods: 1}}}", "ready: it exists"},
		{"poddisruptionbudgets.policy", "{apiVersion: policy/v1, kind: PodDisruptionBudget, status: {conditions: [{type: DisruptionAllowed, status: 'False'}]}}", "ready: it exists"},
		{"cronjobs.batch", "{apiVersion: batch/v1, kind: CronJob, spec: {suspend: false}, status: {}}", "ready: it exists"},
		{"cronjobs.batch", "{apiVersion: batch/v1, kind: CronJob, spec: {suspend: true}, status: {active: []}}", "ready: it exists, and is suspended"},
		{"jobs.batch", "{apiVersion: batch/v1, kind: Job, spec: {suspend: true}, status: {conditions: [{type: Suspended, status: \"True\"}]}}", "paused: 0 of 0 pods ready; it is paused: {.spec.suspend}=true"},
		{"jobs.batch", "{apiVersion: batch/v1, kind: Job, spec: {suspend: true}, status: {conditions: [{type: Complete, status: \"True\"}]}}", "ready: its condition Complete is True"},
		{"jobs.batch", "{apiVersion: batch/v1, kind: Job, spec: {}, status: {}}", "not reconciled: no controller has written its status; no replica field is known for this type, and it has no pods"},
		{"pods", "{apiVersion: v1, kind: Pod, status: {phase: Pending}}", "progressing: its controller reports: Pending"},
		{"rules.example.com", "{apiVersion: example.com/v1, kind: Rule, spec: {}}", "not reconciled: no controller has written its status; no replica field is known for this type, and it has no pods"},
	} {
		var content map[string]any
		if err := yaml.Unmarshal([]byte(test.object), &content); err != nil {
			t.Fatal(err)
		}
		if r := reportOf(t, test.resource, content); string(r.Verdict)+": "+r.Reason != test.want {
			t.Errorf("%s\nverdict = %s: %s\nwant %s", test.object, r.Verdict, r.Reason, test.want)
		}
	}
}

// healthRow is an object with the expected verdict. Reason is a part of the expected reason.
type healthRow struct {
	Name, Kind, Reason string
	Resource           string // by default lamps.example.com
	Verdict            status.Verdict
	Object             json.RawMessage
}

// If an object has no count and no pods, the verdict follows from the reported state.
func TestReportedHealth(t *testing.T) {
	t.Parallel()
	rows.Run(t, "testdata/health.yaml", time.Time{}, func(t *testing.T, row healthRow) {
		var content map[string]any
		if err := utiljson.Unmarshal(row.Object, &content); err != nil {
			t.Fatal(err)
		}
		content["apiVersion"], content["kind"] = "example.com/v1", row.Kind
		if r := reportOf(t, cmp.Or(row.Resource, "lamps.example.com"), content); r.Verdict != row.Verdict || !strings.Contains(r.Reason, row.Reason) {
			t.Errorf("verdict = %s: %s\nwant %s, and a reason that contains %q", r.Verdict, r.Reason, row.Verdict, row.Reason)
		}
	})
}

var health = flag.String("health", "", "a directory with objects.jsonl, which lists objects with their health in Argo CD")

// disputed lists the objects for which Argo CD expects a different health. docs/any-resource.md explains why.
func disputed() []string {
	return []string{
		"daemonsets.apps.kruise.io no-update-strategy-partition.yaml", "daemonsets.apps.kruise.io suspended.yaml",
		"operatorpolicies.policy.open-cluster-management.io progressing_no_compliance.yaml", "beats.beat.k8s.elastic.co invalid.yaml",
	}
}

// TestHealthInArgoCD compares verdicts with the health that Argo CD's checks expect. Except for
// disputed objects, a ready object must be healthy in Argo CD, and a failed object must be degraded.
func TestHealthInArgoCD(t *testing.T) {
	if *health == "" {
		return
	}
	data, err := os.ReadFile(filepath.Join(*health, "objects.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var other struct {
			Resource string         `json:"resource"`
			Health   string         `json:"health"`
			Source   string         `json:"source"`
			Object   map[string]any `json:"object"`
		}
		if err := utiljson.Unmarshal(line, &other); err != nil {
			t.Fatal(err)
		}
		r := reportOf(t, other.Resource, other.Object)
		report, name := t.Logf, other.Resource+" "+filepath.Base(other.Source)
		if slices.Contains(disputed(), name) {
			name = "disputed: " + name
		} else if r.Verdict == status.Ready && other.Health != "Healthy" || r.Verdict == status.Failed && other.Health != "Degraded" {
			report = t.Errorf
		}
		report("health in Argo CD %s, verdict %s: %s: %s", other.Health, r.Verdict, name, r.Reason)
	}
}
