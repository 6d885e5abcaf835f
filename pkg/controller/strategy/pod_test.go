package strategy

import (
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// recorded returns the cache record of a pod in slot 3.
func recorded(t *testing.T, change func(*corev1.Pod)) *Record[plan.Pod] {
	t.Helper()
	const owner = types.UID("b0a9c1d2")
	pod := serverPod(slots.PodName("some-owner", owner, "", 3), owner)
	pod.UID = "one"
	change(pod)
	trimmed := trimPod(pod)
	r, ok := trimmed.(*Record[plan.Pod])
	if !ok {
		t.Fatalf("unexpected %T", trimmed)
	}
	return r
}

func TestPodsEqual(t *testing.T) {
	before := recorded(t, func(*corev1.Pod) {})
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"nothing":                            {func(*corev1.Pod) {}, true},
		"a version":                          {func(p *corev1.Pod) { p.ResourceVersion = "123457" }, true},
		"another label":                      {func(p *corev1.Pod) { p.Labels["app"] = "other" }, true},
		"another pod":                        {func(p *corev1.Pod) { p.UID = "other" }, false},
		"it ended":                           {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, false},
		"it is ending":                       {func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(time.Unix(1_700_000_000, 0))) }, false},
		"not ready":                          {func(p *corev1.Pod) { p.Status.Conditions = nil }, false},
		"no owner":                           {func(p *corev1.Pod) { p.OwnerReferences = nil }, false},
		"without the identity label":         {func(p *corev1.Pod) { delete(p.Labels, apis.LabelOwner) }, false},
		"its template":                       {func(p *corev1.Pod) { p.Labels[apis.LabelTemplateHash] = "other" }, false},
		"what it passes, as anybody may say": {func(p *corev1.Pod) { p.Labels[apis.LabelReplaces] = "other" }, true},
	} {
		if got := podsEqual(before, recorded(t, test.change)); got != test.want {
			t.Errorf("%s: equal: %v, want %v", name, got, test.want)
		}
	}
}

// The cache keeps only a stub of a pod that has no identity label and no custom resource as controller.
func TestStubsOfForeignPods(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		stub   bool
	}{
		"as it was made":               {func(*corev1.Pod) {}, false},
		"without labels":               {func(p *corev1.Pod) { p.Labels = nil }, false},
		"labeled, and of nobody":       {func(p *corev1.Pod) { p.OwnerReferences = nil }, false},
		"labeled, of a ReplicaSet":     {ofReplicaSet, false},
		"of nobody":                    {func(p *corev1.Pod) { p.Labels, p.OwnerReferences = nil, nil }, true},
		"of one that is no controller": {func(p *corev1.Pod) { p.Labels, p.OwnerReferences[0].Controller = nil, nil }, true},
		"of a ReplicaSet":              {func(p *corev1.Pod) { p.Labels = nil; ofReplicaSet(p) }, true},
		"of a node":                    {func(p *corev1.Pod) { p.Labels = nil; p.OwnerReferences[0].APIVersion = "v1" }, true},
	} {
		pod := serverPod("some-owner-3", "b0a9c1d2")
		test.change(pod)
		trimmed := trimPod(pod)
		stub, is := trimmed.(*metav1.ObjectMeta)
		if is != test.stub {
			t.Errorf("%s: kept as %T", name, trimmed)
		}
		if want := (metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, ResourceVersion: pod.ResourceVersion}); is && !reflect.DeepEqual(*stub, want) {
			t.Errorf("%s: kept is %v, want %v", name, *stub, want)
		}
		for _, index := range []cache.IndexFunc{indexByOwner, indexByLabel} {
			if values, err := index(trimmed); err != nil || is && len(values) > 0 {
				t.Errorf("%s: indexed under %q: %v", name, values, err)
			}
		}
	}
}

func ofReplicaSet(p *corev1.Pod) {
	p.OwnerReferences[0].APIVersion, p.OwnerReferences[0].Kind = "apps/v1", "ReplicaSet"
}

func TestSlotOfRecord(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   slots.Slot
	}{
		"as it was made":     {func(*corev1.Pod) {}, 3},
		"without an owner":   {func(p *corev1.Pod) { p.OwnerReferences = nil }, slots.None},
		"of another owner":   {func(p *corev1.Pod) { p.OwnerReferences[0].UID = "other" }, slots.None},
		"another name":       {func(p *corev1.Pod) { p.Name = "some-owner-3" }, slots.None},
		"said to bypass one": {func(p *corev1.Pod) { p.Labels[apis.LabelReplaces] = "other" }, 3},
	} {
		if got := recorded(t, test.change).Child.Slot; got != test.want {
			t.Errorf("%s: slot %v, want %v", name, got, test.want)
		}
	}
}

func TestIdentityOfAPodWithoutASlot(t *testing.T) {
	owner := metav1.OwnerReference{Name: "foo", UID: "u"}
	for slot, want := range map[slots.Slot]string{slots.None: "", 0: "0", 3: "3"} {
		got, labeled := (&Work{Kind: kinds.ImoocPod(), Owner: owner}).identity(plan.Operation{Slot: slot})[apis.LabelSlot]
		if got != want || labeled != (want != "") {
			t.Errorf("slot %d: the label is %q (%v), want %q", slot, got, labeled, want)
		}
	}
}
