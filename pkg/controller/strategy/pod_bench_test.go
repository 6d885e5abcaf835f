package strategy

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/cache"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
)

// BenchmarkPodCache reports the heap that the cache uses for each pod (B/pod). The pods share no
// strings, as if decoded from responses.
func BenchmarkPodCache(b *testing.B) {
	const pods = 5000
	const each = 5 // pods per owner
	for b.Loop() {
		before := heap()
		store := cache.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, cache.Indexers{ByOwner: indexByOwner, ByLabel: indexByLabel})
		var owner types.UID
		for i := range pods {
			if i%each == 0 {
				owner = uuid.NewUUID()
			}
			record := trimPod(serverPod(fmt.Sprintf("some-owner-0a1b2c3d-%d", i), owner))
			if err := store.Add(record); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(heap()-before)/float64(pods), "B/pod")
		runtime.KeepAlive(store)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// serverPod returns a pod as decoded from a response. It shares no strings with other pods.
func serverPod(name string, owner types.UID) *corev1.Pod {
	own := strings.Clone
	now := metav1.NewTime(time.Unix(1_700_000_000, 0))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: own("default"), UID: uuid.NewUUID(), ResourceVersion: own("123456"), CreationTimestamp: now,
			Labels: map[string]string{own("app"): own("some-owner"), own(apis.LabelOwner): own(string(owner)), own(apis.LabelSlot): own("3"),
				own(apis.LabelTemplateHash): own("5d8f7c9b64")},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: own("batch.tutorial.kubebuilder.io/v1alpha1"), Kind: own("ImoocPod"),
				Name: own("some-owner"), UID: types.UID(own(string(owner))), Controller: new(true), BlockOwnerDeletion: new(true)}},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: own("kubectl-imoocpod"), FieldsV1: metav1.NewFieldsV1(strings.Repeat("f", 800))}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: own("sleep"), Image: own("busybox"), Command: []string{own("sleep"), own("3600")},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}}},
	}
}
