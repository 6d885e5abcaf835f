package cmd

import (
	"strings"
	"testing"
)

func TestKindsToReconcile(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"":                                 "ImoocPod AppService HelloWorld MyDaemonSet",
		"imoocpod":                         "ImoocPod",
		"ImoocPods,imoocpod":               "ImoocPod",
		"appservices.appcontroller.k8s.io": "AppService",
		"helloworld.v1alpha1.test.jiaozi.com,MyDaemonSet": "HelloWorld MyDaemonSet",
		"deployments":           "error",
		"imoocpods.example.com": "error",
		"imoocpods,":            "error",
	} {
		var list []string
		if words != "" {
			list = strings.Split(words, ",")
		}
		kinds, err := kindsToReconcile(list)
		var got []string
		for _, kind := range kinds {
			got = append(got, kind.Kind)
		}
		if err != nil {
			got = []string{"error"}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("--kinds %s means %v (%v), want %s", words, got, err, want)
		}
	}
}
