package controller

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// New rejects a kind whose strategy is unknown.
func TestUnknownStrategy(t *testing.T) {
	core, err := corev1client.NewForConfig(&rest.Config{Host: "http://server"})
	if err != nil {
		t.Fatal(err)
	}
	kind := kinds.ImoocPod()
	kind.Mapping.Strategy = "jobs"
	_, err = New(Options{Dynamic: fake.NewSimpleDynamicClient(runtime.NewScheme()), Core: core, Kinds: []kinds.Kind{kind}})
	if err == nil || !strings.Contains(err.Error(), `unknown strategy "jobs"`) {
		t.Errorf("error %v", err)
	}
}
