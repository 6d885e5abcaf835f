package run

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

func TestKindsToReconcile(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"":                                 "ImoocPod AppService HelloWorld MyDaemonSet",
		"imoocpod":                         "ImoocPod",
		"ImoocPods,imoocpod":               "ImoocPod",
		"appservices.appcontroller.k8s.io": "AppService",
		"helloworld.v1alpha1.test.jiaozi.com,MyDaemonSet": "HelloWorld MyDaemonSet",
		"deployments":                    "error",
		"imoocpods.example.com,imoocpod": "ImoocPod imoocpods.example.com",
		"a.example.com,A.example.com":    "a.example.com",
		"imoocpods,":                     "error",
		"widgets.":                       "error",
	} {
		var k Kinds
		if words != "" {
			k.Words = strings.Split(words, ",")
		}
		err := k.choose(kinds.Shipped())
		var got []string
		for _, kind := range k.known {
			got = append(got, kind.Kind)
		}
		got = append(got, k.named...)
		if err != nil {
			got = []string{"error"}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("--kinds=%s: got %v, error %v; want %s", words, got, err, want)
		}
	}
}
