package main

import (
	"slices"
	"strings"
	"testing"
)

// web is a Deployment of two replicas.
const web = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default, uid: web, resourceVersion: "1", generation: 1},
	spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}}`

// workloads are the types that a change of a Deployment has to do with.
func workloads() []resourceType {
	return []resourceType{
		{"apps/v1", "deployments", "Deployment", true, true}, {"apps/v1", "replicasets", "ReplicaSet", true, true},
		{"v1", "pods", "Pod", true, false},
		{"policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", true, false},
		{"autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", true, false},
	}
}

// A change of a count that is not waited for lists pods only if there is a budget that may
// guard them.
func TestRequestsOfScale(t *testing.T) {
	t.Parallel()
	const in, budget = "/namespaces/default/", `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: default}, spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}, status: {desiredHealthy: 2}}`
	const replicaSet = `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1, namespace: default, uid: web-1, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: web, controller: true}]}, spec: {replicas: 2}}`
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: web-1-a, namespace: default, uid: web-1-a, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: web-1, controller: true}]}, spec: {containers: [{name: main}]}}`
	common := []string{
		"GET /apis/apps/v1" + in + "deployments/web",
		"GET /apis/autoscaling/v2" + in + "horizontalpodautoscalers",
		"GET /apis/policy/v1" + in + "poddisruptionbudgets",
		"PATCH /apis/apps/v1" + in + "deployments/web/scale",
	}
	for name, test := range map[string]struct {
		objects []string
		more    []string
		says    string
	}{
		"without a budget": {[]string{web}, nil, ""},
		"with a budget": {[]string{web, budget, replicaSet, pod}, []string{"GET /api/v1" + in + "pods", "GET /apis/apps/v1" + in + "replicasets"},
			"Warning: deployment/web: PodDisruptionBudget/web requires at least 2 available pods, and only 1 would be left\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveObjects(t, workloads(), test.objects...)
			o := runCommand(t.Context(), t, s.URL, "scale deployment/web --replicas 1")
			want := append(test.more, common...)
			sent := s.requests()
			slices.Sort(want)
			if got := slices.Sorted(slices.Values(sent)); o.code != exitDone || !slices.Equal(got, want) || sent[len(sent)-1] != common[3] {
				t.Errorf("exit code %d, it sent\n%s\nand said %q", o.code, strings.Join(sent, "\n"), o.stderr)
			}
			if !strings.HasPrefix(o.stderr, test.says) {
				t.Errorf("it said %q", o.stderr)
			}
		})
	}
}

// An object of a file is read once before its count is set, and what was read says that it is
// paused, also where there is no /scale.
func TestScaleOfAFileReadsTheObjectOnce(t *testing.T) {
	t.Parallel()
	const gear = `{apiVersion: example.com/v1, kind: Widget, metadata: {name: gear, namespace: default, uid: gear, resourceVersion: "1", annotations: {imoocpod.dev/paused-until: forever}}, spec: {replicas: 1}}`
	const path = "/apis/example.com/v1/namespaces/default/widgets/gear"
	for name, test := range map[string]struct{ crd, warning string }{
		"declared":         {declared("widgets", "Widget"), "Warning: widget/gear is paused"},
		"of other authors": {strings.Replace(declared("widgets", "Widget"), "imoocpod.dev/plan: pods, imoocpod.dev/image: nginx", "imoocpod.dev/replicas-path: .spec.replicas", 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			types := append(workloads(), resourceType{"example.com/v1", "widgets", "Widget", true, false},
				resourceType{"apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", false, false},
				resourceType{"coordination.k8s.io/v1", "leases", "Lease", true, false})
			s := serveObjects(t, types, test.crd, gear)
			o := runCommand(t.Context(), t, s.URL, "scale -f testdata/gear.yaml --replicas 3")
			var sent []string
			for _, request := range s.requests() {
				if strings.HasSuffix(request, path) {
					sent = append(sent, request)
				}
			}
			if o.code != exitDone || !slices.Equal(sent, []string{"GET " + path, "PATCH " + path}) || !strings.HasPrefix(o.stderr, test.warning) {
				t.Errorf("exit code %d, it sent %q, and said %q", o.code, sent, o.stderr)
			}
		})
	}
}
