package template

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi/openapitest"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
)

// Only an unknown kind needs a schema.
func TestKnownPlaces(t *testing.T) {
	t.Parallel()
	const unknown = "the server is away"
	f := &discover.Finder{Discovery: schemas{err: errors.New(unknown)}}
	for name, row := range map[string]struct {
		kind kinds.Kind
		// template is the path of the pod template. A kind without a template has a path or an error for each part.
		template, image, env, resources string
	}{
		"ImoocPod":   {kinds.ImoocPod(), ".spec.template", "", "", ""},
		"AppService": {kinds.AppService(), "", ".spec.image", "foo has no field for environment variables", "foo has no field for resources"},
		"HelloWorld": {
			kinds.HelloWorld(), "", "foo has no field for an image: its pods run ", "foo has no field for environment variables",
			"foo has no field for resources",
		},
		"Deployment":            {kindOf("apps", "deployments"), ".spec.template", "", "", ""},
		"DaemonSet":             {kindOf("apps", "daemonsets"), ".spec.template", "", "", ""},
		"Job":                   {kindOf("batch", "jobs"), ".spec.template", "", "", ""},
		"CronJob":               {kindOf("batch", "cronjobs"), ".spec.jobTemplate.spec.template", "", "", ""},
		"Pod":                   {kindOf("", "pods"), "", "pods/foo has no pod template", "pods/foo has no pod template", "pods/foo has no pod template"},
		"CloneSet":              {kindOf("apps.kruise.io", "clonesets"), "", unknown, unknown, unknown},
		"StatefulSet":           {kindOf("apps", "statefulsets"), ".spec.template", "", "", ""},
		"ReplicaSet":            {kindOf("apps", "replicasets"), ".spec.template", "", "", ""},
		"ReplicationController": {kindOf("", "replicationcontrollers"), ".spec.template", "", "", ""},
		"Volcano Job":           {kindOf("batch.volcano.sh", "jobs"), "", unknown, unknown, unknown},
	} {
		for part, want := range map[Part]string{Image: row.image, Env: row.env, Resources: row.resources} {
			place, err := FindPlace(f, observe.Target{Kind: row.kind, Name: "foo"}, part)
			switch got := place.Path.String(); {
			case row.template != "" && (err != nil || !place.InTemplate || got != row.template):
				t.Errorf("%s: place of %s = %+v, %v, want the template %s", name, part, place, err, row.template)
			case row.template == "" && strings.HasPrefix(want, ".") && (err != nil || place.InTemplate || got != want):
				t.Errorf("%s: place of %s = %+v, %v, want the field %s", name, part, place, err, want)
			case row.template == "" && !strings.HasPrefix(want, ".") && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%s: place of %s = %+v, %v, want the error %s", name, part, place, err, want)
			}
		}
	}
}

// schemas serves the schemas of the kinds in the group example.com, or returns err.
type schemas struct {
	discovery.CachedDiscoveryInterface

	document string
	err      error
}

func (s schemas) OpenAPIV3() openapi.Client {
	return &openapitest.FakeClient{
		PathsMap: map[string]openapi.GroupVersion{"apis/example.com/v1": openapitest.FakeGroupVersion{GVSpec: []byte(s.document)}}, ForcedErr: s.err,
	}
}

// For an unknown kind, FindPlace takes the field from the schema. It never guesses.
func TestFindPlace(t *testing.T) {
	t.Parallel()
	const (
		template = `{"type":"object","properties":{"spec":{"type":"object","properties":{"containers":{"type":"array","items":{"type":"object","properties":{"image":{"type":"string"}}}}}}}}`
		word     = `{"type":"string"}`
	)
	for _, test := range []struct {
		what       string
		properties string
		part       Part
		want       string
		inTemplate bool
		wantErr    string
		candidates int
	}{
		{"env of a template", `"pods":` + template, Env, ".spec.pods", true, "", 0},
		{"image of a template", `"pods":` + template, Image, ".spec.pods", true, "", 0},
		{"image field", `"image":` + word, Image, ".spec.image", false, "", 0},
		{"env, only an image field", `"image":` + word, Env, "", false, "sets/web has no pod template: neither its schema nor the object has such a field", 0},
		{"resources of two templates", `"a":` + template + `,"b":` + template, Resources, "", false, "cannot tell which field of sets/web is its pod template", 2},
		{"env, a template and an image field", `"a":` + template + `,"image":` + word, Env, "", false, "cannot tell which field of sets/web is its pod template", 1},
		{"image, a template and an image field", `"a":` + template + `,"image":` + word, Image, "", false, "cannot tell which field of sets/web is its image", 2},
		{"image, no such field", `"size":{"type":"integer"}`, Image, "", false, "sets/web has no image: neither its schema nor the object has such a field", 0},
	} {
		document := `{"components":{"schemas":{"set":{"type":"object","x-kubernetes-group-version-kind":[{"group":"example.com","version":"v1","kind":"sets"}],"properties":{"spec":{"type":"object","properties":{` + test.properties + `}}}}}}}`
		f := &discover.Finder{Discovery: schemas{document: document}}
		place, err := FindPlace(f, targetOf(t, kindOf("example.com", "sets"), "spec: {}"), test.part)
		if (err == nil) != (test.wantErr == "") || place.Path.String() != test.want || place.InTemplate != test.inTemplate {
			t.Errorf("%s: place %+v, error %v; want path %q, in a template %t", test.what, place, err, test.want, test.inTemplate)
		}
		var unknown *UnknownPlaceError
		if test.wantErr != "" && (!errors.As(err, &unknown) || err.Error() != test.wantErr || len(unknown.Candidates) != test.candidates) {
			t.Errorf("%s: error %v, want %q with %d candidates", test.what, err, test.wantErr, test.candidates)
		}
	}
}
