package facts

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// If the status has neither an observed generation nor an updated count, the template hash in the labels of
// the pods shows whether the pods are outdated.
func TestOutdatedPods(t *testing.T) {
	t.Parallel()
	kind := kinds.Kind{Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}, Kind: "Gadget", Singular: "gadget", ReplicasPath: []string{"spec", "size"}}
	kind.Mapping = kinds.Mapping{Strategy: kinds.StrategyPods, TemplatePath: []string{"spec", "pod"}}
	kind.Mapping.Status.Current, kind.Mapping.Status.Ready = []string{"status", "live"}, []string{"status", "ready"}
	of := func(image string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "foo", "uid": "it", "generation": int64(2)},
			"spec":     map[string]any{"size": int64(2), "pod": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "main", "image": image}}}}},
			"status":   map[string]any{"live": int64(2), "ready": int64(2)},
		}}
	}
	a, b := kinds.TemplateHash(kind, of("web:a")), kinds.TemplateHash(kind, of("web:b"))
	for _, test := range []struct {
		what    string
		hashes  []string
		verdict status.Verdict
		code    problem.Code
	}{
		{"none is replaced yet", []string{a, a}, status.Progressing, problem.CodePodsOutdated},
		{"one is replaced", []string{a, b}, status.Progressing, problem.CodePodsOutdated},
		{"all are", []string{b, b}, status.Ready, problem.CodeReady},
		{"those of an old version of the loop do not tell", []string{"", b}, status.Ready, problem.CodeReady},
		{"the pods were not read", nil, status.Ready, problem.CodeReady},
	} {
		o, err := Read(kind, of("web:b"), Facts{})
		if err != nil {
			t.Fatal(err)
		}
		e := status.Snapshot{Object: o, Now: time.Unix(1e9, 0)}
		for i, hash := range test.hashes {
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i)), Labels: map[string]string{apis.LabelTemplateHash: hash}}}
			pod.OwnerReferences = []metav1.OwnerReference{{UID: "it", Controller: new(true)}}
			pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
			e.Pods = append(e.Pods, problem.NewPod(&pod))
		}
		if r := status.NewReport(e); r.Verdict != test.verdict || r.ReasonCode != test.code {
			t.Errorf("%s: %s (%s): %s, want %s (%s)", test.what, r.Verdict, r.ReasonCode, r.Reason, test.verdict, test.code)
		}
	}
}
