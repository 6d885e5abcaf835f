package e2e

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

const met = " condition met"

// setReplicas sets the count of an ImoocPod as another field manager.
func setReplicas(t *testing.T, ns, name, manager string, n int) {
	t.Helper()
	_, err := cluster.Dynamic.Resource(kinds.ImoocPod().Resource).Namespace(ns).Patch(t.Context(), name, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n), metav1.PatchOptions{FieldManager: manager})
	if err != nil {
		t.Fatal(err)
	}
}
