package cmd

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
)

// If no ImoocPod has the NAME, the error explains how to name an object of another type.
func TestExplainNotFound(t *testing.T) {
	t.Parallel()
	factory := kube.New("v0", genericiooptions.NewTestIOStreamsDiscard())
	*factory.Flags.KubeConfig, *factory.Flags.APIServer = os.DevNull, "http://127.0.0.1:1"
	unreachable, err := (&commonOptions{factory: factory}).connect()
	if err != nil {
		t.Fatal(err)
	}
	notFound := func(resource schema.GroupResource) error {
		return fmt.Errorf("read it: %w", apierrors.NewNotFound(resource, "web"))
	}
	imoocPods := kinds.ImoocPod().Resource.GroupResource()
	for name, test := range map[string]struct {
		args []string
		err  error
		hint bool
	}{
		"no ImoocPod has the name":       {[]string{"web"}, notFound(imoocPods), true},
		"the CRD is not installed":       {[]string{"web"}, &outcome.NotServedError{CRD: kinds.ImoocPod().CRD(), Shipped: true}, true},
		"the argument has a type":        {[]string{"imoocpod/web"}, notFound(imoocPods), false},
		"type and name as two arguments": {[]string{"imoocpod", "web"}, notFound(imoocPods), false},
		"something else is missing":      {[]string{"web"}, notFound(schema.GroupResource{Resource: "namespaces"}), false},
		"another CRD is missing":         {[]string{"web"}, &outcome.NotServedError{CRD: "widgets.example.com"}, false},
		"another error":                  {[]string{"web"}, errors.New("failed"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := (&targetFlags{args: test.args}).explain(t.Context(), unreachable, test.err)
			hinted := strings.Contains(outcome.HintLines(got, nil), "TYPE/NAME, such as deployment/web")
			if hinted != test.hint || !errors.Is(got, test.err) {
				t.Errorf("error %q: hint %t, want %t", got, hinted, test.hint)
			}
		})
	}
}
