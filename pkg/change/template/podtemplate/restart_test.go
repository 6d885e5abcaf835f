package podtemplate

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	fields := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func TestRestartPath(t *testing.T) {
	t.Parallel()
	const (
		inTemplate = "spec.template.metadata.annotations"
		pod        = "{spec: {template: {spec: {containers: [{name: main, image: web}]}}}}"
		open       = "{properties: {spec: {properties: {template: {x-kubernetes-preserve-unknown-fields: true}}}}}"
	)
	other := func(group, resource string) kinds.Kind {
		return kinds.Kind{Resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}}
	}
	app := other("example.com", "apps")
	for name, test := range map[string]struct {
		kind             kinds.Kind
		obj, schema, yes string
		no               error
	}{
		"ImoocPod":                      {kinds.ImoocPod(), "{}", "{}", inTemplate, nil},
		"AppService":                    {kinds.AppService(), "{}", "{}", "metadata.annotations", nil},
		"HelloWorld":                    {kinds.HelloWorld(), "{}", "{}", "metadata.annotations", nil},
		"MyDaemonSet":                   {kinds.MyDaemonSet(), "{}", "{}", "metadata.annotations", nil},
		"Deployment":                    {other("apps", "deployments"), pod, "{}", inTemplate, nil},
		"paused Deployment":             {other("apps", "deployments"), "{spec: {paused: true}}", "{}", "", ErrPaused},
		"not known to be paused":        {other("apps", "deployments"), "{spec: {paused: maybe}}", "{}", inTemplate, nil},
		"Deployment of long ago":        {other("extensions", "deployments"), pod, "{}", "", errNoRollOut},
		"StatefulSet":                   {other("apps", "statefulsets"), pod, "{}", inTemplate, nil},
		"DaemonSet":                     {other("apps", "daemonsets"), pod, "{}", inTemplate, nil},
		"ReplicaSet":                    {other("apps", "replicasets"), pod, "{}", "", errNoRollOut},
		"ReplicationController":         {other("", "replicationcontrollers"), pod, "{}", "", errNoRollOut},
		"ConfigMap":                     {other("", "configmaps"), "{data: {}}", "{}", "", errNoTemplate},
		"unknown, template is a word":   {other("batch", "jobs"), "{spec: {template: small}}", "{}", "", errNoRollOut},
		"Job":                           {other("batch", "jobs"), pod, "{}", "", errNoRollOut},
		"custom, any template":          {app, pod, open, inTemplate, nil},
		"custom, annotations":           {app, pod, "{properties: {spec: {properties: {template: {properties: {metadata: {properties: {annotations: {}}}}}}}}}", inTemplate, nil},
		"custom, no annotations":        {app, pod, "{properties: {spec: {properties: {template: {properties: {metadata: {type: object}}}}}}}", "", errAnnotations},
		"custom, no metadata":           {app, pod, "{properties: {spec: {properties: {template: {properties: {spec: {}}}}}}}", "", errAnnotations},
		"custom, no template":           {app, "{spec: {replicas: 1}}", open, "", errNoTemplate},
		"custom, template of no pod":    {app, "{spec: {template: {spec: {size: 1}}}}", open, "", errNoTemplate},
		"custom, template is a word":    {app, "{spec: {template: small}}", open, "", errNoTemplate},
		"custom, template without pods": {app, "{spec: {template: {spec: {containers: []}}}}", open, "", errNoTemplate},
	} {
		obj := &unstructured.Unstructured{Object: parsed(t, test.obj)}
		path, err := restartPath(test.kind, obj, parsed(t, test.schema))
		if got := strings.Join(path, "."); got != test.yes || err != test.no { //nolint:errorlint // it is this very one
			t.Errorf("%s: %q, %v, want %q, %v", name, got, err, test.yes, test.no)
		}
	}
}

func TestRestartTime(t *testing.T) {
	t.Parallel()
	path := []string{"spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt"}
	at := time.Date(2024, 5, 6, 7, 8, 9, 10, time.FixedZone("", 7200))
	obj := &unstructured.Unstructured{Object: parsed(t, "{spec: {template: {metadata: {annotations: {note: mine}}}}}")}
	now, err := RestartTime(obj, path, at)
	if err != nil || now != "2024-05-06T07:08:09+02:00" {
		t.Errorf("%q, %v", now, err)
	}
	if err := unstructured.SetNestedField(obj.Object, now, path...); err != nil {
		t.Fatal(err)
	}
	if _, err := RestartTime(obj, path, at.Add(time.Millisecond)); err != errRestarted { //nolint:errorlint // it is this very one
		t.Errorf("the second restart in a second: %v", err)
	}
	if _, err := RestartTime(obj, path, at.Add(time.Second)); err != nil {
		t.Errorf("a second later: %v", err)
	}
	odd := &unstructured.Unstructured{Object: parsed(t, "{spec: {template: small}}")}
	if _, err := RestartTime(odd, path, at); err == nil {
		t.Error("a template that is a word can be restarted")
	}
}

// A kind's own field takes precedence over the template. An annotation does not restart pods that are
// updated in place.
func TestRestartField(t *testing.T) {
	t.Parallel()
	const (
		pod    = "template: {spec: {containers: [{name: main, image: web}]}}"
		open   = "{properties: {spec: {properties: {template: {x-kubernetes-preserve-unknown-fields: true}}}}}"
		inside = "spec.template.metadata.annotations.kubectl.kubernetes.io/restartedAt"
	)
	for what, test := range map[string]struct {
		crd, obj string
		own      string
		want     string
		no       error
	}{
		"its own field":                   {"rollouts.argoproj.io", "{spec: {" + pod + "}}", ".spec.restartAt", "spec.restartAt", nil},
		"without a template, too":         {"rollouts.argoproj.io", "{spec: {replicas: 1}}", ".spec.restartAt", "spec.restartAt", nil},
		"a template":                      {"lamps.example.com", "{spec: {" + pod + "}}", "", inside, nil},
		"in place":                        {"clonesets.apps.kruise.io", "{spec: {updateStrategy: {type: InPlaceIfPossible}, " + pod + "}}", "", "", errInPlace},
		"in place, an advanced one":       {"statefulsets.apps.kruise.io", "{spec: {updateStrategy: {rollingUpdate: {podUpdatePolicy: InPlaceOnly}}, " + pod + "}}", "", "", errInPlace},
		"a clone set that makes anew":     {"clonesets.apps.kruise.io", "{spec: {updateStrategy: {type: ReCreate}, " + pod + "}}", "", inside, nil},
		"nothing that could be restarted": {"lamps.example.com", "{spec: {replicas: 1}}", "", "", errNoTemplate},
	} {
		name, group, _ := strings.Cut(test.crd, ".")
		kind := kinds.Kind{Resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: name}}
		path, err := RestartField(kind, &unstructured.Unstructured{Object: parsed(t, test.obj)}, parsed(t, open), test.own)
		if got := strings.Join(path, "."); got != test.want || err != test.no { //nolint:errorlint // it is this very one
			t.Errorf("%s: %q (%v), want %q (%v)", what, got, err, test.want, test.no)
		}
	}
}
