package template

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi/openapitest"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
)

func text(p *fieldpath.Path) string {
	if p == nil {
		return ""
	}
	return p.String()
}

func TestKnownPlaces(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		kind                 kinds.Kind
		template, image, env string
		known                bool
		refused              string
	}{
		"ImoocPod":    {kinds.ImoocPod(), ".spec.template", "", "", true, ""},
		"AppService":  {kinds.AppService(), "", ".spec.image", "", true, ""},
		"HelloWorld":  {kinds.HelloWorld(), "", "", "", true, "helloworld/foo has no field for an image: its pods run "},
		"Deployment":  {kindOf("apps", "deployments"), ".spec.template", "", "", true, ""},
		"DaemonSet":   {kindOf("apps", "daemonsets"), ".spec.template", "", "", true, ""},
		"Job":         {kindOf("batch", "jobs"), ".spec.template", "", "", true, ""},
		"CronJob":     {kindOf("batch", "cronjobs"), ".spec.jobTemplate.spec.template", "", "", true, ""},
		"Pod":         {kindOf("", "pods"), "", "", "", true, "pods/foo has no pod template"},
		"CloneSet":    {kindOf("apps.kruise.io", "clonesets"), "", "", "", false, ""},
		"StatefulSet": {kindOf("apps", "statefulsets"), ".spec.template", "", "", true, ""},
		"ReplicaSet":  {kindOf("apps", "replicasets"), ".spec.template", "", "", true, ""},
		"Controller":  {kindOf("", "replicationcontrollers"), ".spec.template", "", "", true, ""},
		"volcano Job": {kindOf("batch.volcano.sh", "jobs"), "", "", "", false, ""},
	} {
		places, known, err := knownPlaces(observe.Target{Kind: row.kind, Name: "foo"}, true)
		if known != row.known || (err != nil) != (row.refused != "") || err != nil && !strings.HasPrefix(err.Error(), row.refused) {
			t.Errorf("%s: known %t, %v", name, known, err)
		}
		if err == nil && (text(places.Template) != row.template || text(places.Image) != row.image || text(places.Env) != row.env) {
			t.Errorf("%s: %+v", name, places)
		}
	}
	// A kind without an image field is an error only if an image is requested.
	if places, known, err := knownPlaces(observe.Target{Kind: kinds.HelloWorld(), Name: "foo"}, false); !known || err != nil || places != (Places{}) {
		t.Errorf("%+v, %t, %v", places, known, err)
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

// For an unknown kind, the field comes from the schema. It is never guessed.
func TestFindPlaces(t *testing.T) {
	t.Parallel()
	const (
		template = `{"type":"object","properties":{"spec":{"type":"object","properties":{"containers":{"type":"array","items":{"type":"object","properties":{"image":{"type":"string"}}}}}}}}`
		word     = `{"type":"string"}`
	)
	for _, test := range []struct {
		what       string
		properties string
		images     bool
		template   string
		image      string
		says       string
		candidates int
	}{
		{"a template", `"pods":` + template, false, ".spec.pods", "", "", 0},
		{"a template, for its image", `"pods":` + template, true, ".spec.pods", "", "", 0},
		{"an image", `"image":` + word, true, "", ".spec.image", "", 0},
		{"an image, and no template", `"image":` + word, false, "", "", "sets/web has no pod template: neither its schema nor the object has such a field", 0},
		{"two templates", `"a":` + template + `,"b":` + template, false, "", "", "cannot tell which field of sets/web is its pod template", 2},
		{"a template and an image", `"a":` + template + `,"image":` + word, false, "", "", "cannot tell which field of sets/web is its pod template", 1},
		{"a template and an image, for its image", `"a":` + template + `,"image":` + word, true, "", "", "cannot tell which field of sets/web is its image", 2},
		{"nothing", `"size":{"type":"integer"}`, true, "", "", "sets/web has no image: neither its schema nor the object has such a field", 0},
	} {
		document := `{"components":{"schemas":{"set":{"type":"object","x-kubernetes-group-version-kind":[{"group":"example.com","version":"v1","kind":"sets"}],"properties":{"spec":{"type":"object","properties":{` + test.properties + `}}}}}}}`
		f := &discover.Finder{Discovery: schemas{document: document}}
		places, err := FindPlaces(f, targetOf(t, kindOf("example.com", "sets"), "spec: {}"), test.images)
		if found := places.Template != nil || places.Image != nil; err == nil && (test.says != "" || !found) || text(places.Template) != test.template || text(places.Image) != test.image {
			t.Errorf("%s: %+v, %v", test.what, places, err)
		}
		var unknown *UnknownPlaceError
		if test.says != "" && (!errors.As(err, &unknown) || err.Error() != test.says || len(unknown.Candidates) != test.candidates) {
			t.Errorf("%s: %v, want %s", test.what, err, test.says)
		}
	}
}

// Only an unknown kind needs a schema.
func TestFindPlacesWithoutASchema(t *testing.T) {
	t.Parallel()
	f := &discover.Finder{Discovery: schemas{err: errors.New("the server is away")}}
	if places, err := FindPlaces(f, targetOf(t, kindOf("apps", "deployments"), "spec: {}"), true); err != nil || text(places.Template) != ".spec.template" {
		t.Errorf("%+v, %v", places, err)
	}
	if _, err := FindPlaces(f, targetOf(t, kindOf("", "pods"), "spec: {}"), true); err == nil || err.Error() != "pods/web has no pod template" {
		t.Error(err)
	}
	if _, err := FindPlaces(f, targetOf(t, kindOf("example.com", "sets"), "spec: {}"), true); err == nil || !strings.Contains(err.Error(), "the server is away") {
		t.Error(err)
	}
}
