package strategy

import (
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
		"no change":         {func(*corev1.Pod) {}, true},
		"resource version":  {func(p *corev1.Pod) { p.ResourceVersion = "123457" }, true},
		"unrelated label":   {func(p *corev1.Pod) { p.Labels["app"] = "other" }, true},
		"UID":               {func(p *corev1.Pod) { p.UID = "other" }, false},
		"failed":            {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, false},
		"terminating":       {func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(time.Unix(1_700_000_000, 0))) }, false},
		"not ready":         {func(p *corev1.Pod) { p.Status.Conditions = nil }, false},
		"no controller":     {func(p *corev1.Pod) { p.OwnerReferences = nil }, false},
		"no identity label": {func(p *corev1.Pod) { delete(p.Labels, apis.LabelOwner) }, false},
		"template hash":     {func(p *corev1.Pod) { p.Labels[apis.LabelTemplateHash] = "other" }, false},
		"replacement label that the name contradicts": {func(p *corev1.Pod) { p.Labels[apis.LabelReplaces] = "other" }, true},
	} {
		if got := podsEqual(before, recorded(t, test.change)); got != test.want {
			t.Errorf("%s: podsEqual = %v, want %v", name, got, test.want)
		}
	}
}

// The cache keeps only a stub of a pod that has no owner label and no custom resource as controller.
func TestStubsOfForeignPods(t *testing.T) {
	for name, test := range map[string]struct {
		change         func(*corev1.Pod)
		stub           bool
		owner, labeled string // the values of the indexes
	}{
		"as created":                                             {func(*corev1.Pod) {}, false, "b0a9c1d2", ""},
		"owned, without labels":                                  {func(p *corev1.Pod) { p.Labels = nil }, false, "b0a9c1d2", ""},
		"labeled, without an owner":                              {func(p *corev1.Pod) { p.OwnerReferences = nil }, false, "", ""},
		"labeled, owned by a ReplicaSet":                         {ofReplicaSet, false, "web", ""},
		"labeled, owned by a ReplicaSet of a Deployment":         {func(p *corev1.Pod) { ofReplicaSet(p); p.Labels["pod-template-hash"] = "1" }, false, "web", "b0a9c1d2"},
		"without labels and owners":                              {func(p *corev1.Pod) { p.Labels, p.OwnerReferences = nil, nil }, true, "", ""},
		"without labels, with an owner that is not a controller": {func(p *corev1.Pod) { p.Labels, p.OwnerReferences[0].Controller = nil, nil }, true, "", ""},
		"without labels, owned by a ReplicaSet":                  {func(p *corev1.Pod) { p.Labels = nil; ofReplicaSet(p) }, true, "", ""},
		"without labels, owned by an object of the core group":   {func(p *corev1.Pod) { p.Labels = nil; p.OwnerReferences[0].APIVersion = "v1" }, true, "", ""},
	} {
		pod := serverPod("some-owner-3", "b0a9c1d2")
		test.change(pod)
		trimmed := trimPod(pod)
		stub, is := trimmed.(*metav1.ObjectMeta)
		if is != test.stub {
			t.Errorf("%s: trimPod returned a %T, want a stub: %t", name, trimmed, test.stub)
		}
		if want := (metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, ResourceVersion: pod.ResourceVersion}); is && !reflect.DeepEqual(*stub, want) {
			t.Errorf("%s: stub = %v, want %v", name, *stub, want)
		}
		owners, err := indexByOwner(trimmed)
		labels, labelErr := indexByLabel(trimmed)
		if err != nil || labelErr != nil || strings.Join(owners, " ") != test.owner || strings.Join(labels, " ") != test.labeled {
			t.Errorf("%s: index values = %q and %q, errors %v, %v; want %q and %q", name, owners, labels, err, labelErr, test.owner, test.labeled)
		}
	}
}

func ofReplicaSet(p *corev1.Pod) {
	p.OwnerReferences[0].APIVersion, p.OwnerReferences[0].Kind = "apps/v1", "ReplicaSet"
	p.OwnerReferences[0].Name, p.OwnerReferences[0].UID = "web-1", "web"
}

func TestSlotOfRecord(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   slots.Slot
	}{
		"as created":         {func(*corev1.Pod) {}, 3},
		"no controller":      {func(p *corev1.Pod) { p.OwnerReferences = nil }, slots.None},
		"another controller": {func(p *corev1.Pod) { p.OwnerReferences[0].UID = "other" }, slots.None},
		"another name":       {func(p *corev1.Pod) { p.Name = "some-owner-3" }, slots.None},
		"replacement label that the name contradicts": {func(p *corev1.Pod) { p.Labels[apis.LabelReplaces] = "other" }, 3},
	} {
		if got := recorded(t, test.change).Child.Slot; got != test.want {
			t.Errorf("%s: slot %v, want %v", name, got, test.want)
		}
	}
}

func TestSlotLabel(t *testing.T) {
	owner := metav1.OwnerReference{Name: "foo", UID: "u"}
	for slot, want := range map[slots.Slot]string{slots.None: "", 0: "0", 3: "3"} {
		got, labeled := (&Work{Kind: kinds.ImoocPod(), Owner: owner}).identity(plan.Operation{Slot: slot})[apis.LabelSlot]
		if got != want || labeled != (want != "") {
			t.Errorf("slot %d: slot label = %q (present: %v), want %q", slot, got, labeled, want)
		}
	}
}
