package rollout

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/observe"
)

// Of kinds that are known, no schema is asked where the template is.
func TestKnownPlaces(t *testing.T) {
	t.Parallel()
	builtIn := func(group, resource string) kinds.Kind {
		return kinds.Kind{Resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, Kind: resource, Singular: resource}
	}
	text := func(p *fieldpath.Path) string {
		if p == nil {
			return ""
		}
		return p.String()
	}
	for name, row := range map[string]struct {
		kind                 kinds.Kind
		template, image, env string
		known, refused       bool
	}{
		"ImoocPod":    {kinds.ImoocPod(), ".spec.template", "", "", true, false},
		"AppService":  {kinds.AppService(), "", ".spec.image", "", true, false},
		"HelloWorld":  {kinds.HelloWorld(), "", "", "", true, true},
		"Deployment":  {builtIn("apps", "deployments"), ".spec.template", "", "", true, false},
		"DaemonSet":   {builtIn("apps", "daemonsets"), ".spec.template", "", "", true, false},
		"Job":         {builtIn("batch", "jobs"), ".spec.template", "", "", true, false},
		"CronJob":     {builtIn("batch", "cronjobs"), ".spec.jobTemplate.spec.template", "", "", true, false},
		"Pod":         {builtIn("", "pods"), "", "", "", true, true},
		"CloneSet":    {builtIn("apps.kruise.io", "clonesets"), "", "", "", false, false},
		"volcano Job": {builtIn("batch.volcano.sh", "jobs"), "", "", "", false, false},
	} {
		places, known, err := knownPlaces(observe.Target{Kind: row.kind, Name: "foo"}, true)
		if known != row.known || (err != nil) != row.refused {
			t.Errorf("%s: known %t, %v", name, known, err)
			continue
		}
		if err == nil && (text(places.Template) != row.template || text(places.Image) != row.image || text(places.Env) != row.env) {
			t.Errorf("%s: %+v", name, places)
		}
	}
}
