package podtemplate

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/objects"
)

// A kind's own restart field takes precedence over the template. An annotation does not restart pods that are
// updated in place.
func TestRestartField(t *testing.T) {
	t.Parallel()
	const (
		pod        = "spec: {template: {spec: {containers: [{name: main, image: web}]}}}"
		open       = "{properties: {spec: {properties: {template: {x-kubernetes-preserve-unknown-fields: true}}}}}"
		ofObject   = "metadata.annotations.kubectl.kubernetes.io/restartedAt"
		inTemplate = "spec.template." + ofObject
	)
	other := func(resource string) kinds.Kind {
		return kinds.Kind{Resource: schema.ParseGroupResource(resource).WithVersion("v1")}
	}
	app := other("apps.example.com")
	for name, test := range map[string]struct {
		kind             kinds.Kind
		obj, schema, own string
		want             string
		wantErr          error
	}{
		"ImoocPod":                     {kinds.ImoocPod(), "{}", "{}", "", inTemplate, nil},
		"AppService":                   {kinds.AppService(), "{}", "{}", "", ofObject, nil},
		"HelloWorld":                   {kinds.HelloWorld(), "{}", "{}", "", ofObject, nil},
		"MyDaemonSet":                  {kinds.MyDaemonSet(), "{}", "{}", "", ofObject, nil},
		"Deployment":                   {other(kinds.Deployments), pod, "{}", "", inTemplate, nil},
		"paused Deployment":            {other(kinds.Deployments), "spec: {paused: true}", "{}", "", "", ErrPaused},
		"Deployment, invalid paused":   {other(kinds.Deployments), "spec: {paused: maybe}", "{}", "", inTemplate, nil},
		"Deployment in extensions":     {other("deployments.extensions"), pod, "{}", "", "", ErrNoRollOut},
		"StatefulSet":                  {other(kinds.StatefulSets), pod, "{}", "", inTemplate, nil},
		"DaemonSet":                    {other(kinds.DaemonSets), pod, "{}", "", inTemplate, nil},
		"ReplicaSet":                   {other(kinds.ReplicaSets), pod, "{}", "", "", ErrNoRollOut},
		"ReplicationController":        {other(kinds.ReplicationControllers), pod, "{}", "", "", ErrNoRollOut},
		"ConfigMap":                    {other("configmaps"), "data: {}", "{}", "", "", errNoTemplate},
		"Job, template is a string":    {other(kinds.Jobs), "spec: {template: small}", "{}", "", "", ErrNoRollOut},
		"Job":                          {other(kinds.Jobs), pod, "{}", "", "", ErrNoRollOut},
		"custom, any template":         {app, pod, open, "", inTemplate, nil},
		"custom, annotations":          {app, pod, "{properties: {spec: {properties: {template: {properties: {metadata: {properties: {annotations: {}}}}}}}}}", "", inTemplate, nil},
		"custom, no annotations":       {app, pod, "{properties: {spec: {properties: {template: {properties: {metadata: {type: object}}}}}}}", "", "", errAnnotations},
		"custom, closed in open":       {app, pod, "{properties: {spec: {x-kubernetes-preserve-unknown-fields: true, properties: {template: {properties: {metadata: {type: object}}}}}}}", "", "", errAnnotations},
		"custom, no metadata":          {app, pod, "{properties: {spec: {properties: {template: {properties: {spec: {}}}}}}}", "", "", errAnnotations},
		"custom, no template":          {app, "spec: {replicas: 1}", open, "", "", errNoTemplate},
		"custom, not a pod template":   {app, "spec: {template: {spec: {size: 1}}}", open, "", "", errNoTemplate},
		"custom, template is a string": {app, "spec: {template: small}", open, "", "", errNoTemplate},
		"custom, no containers":        {app, "spec: {template: {spec: {containers: []}}}", open, "", "", errNoTemplate},
		"restart field":                {other("rollouts.argoproj.io"), pod, open, ".spec.restartAt", "spec.restartAt", nil},
		"restart field, no template":   {other("rollouts.argoproj.io"), "spec: {replicas: 1}", open, ".spec.restartAt", "spec.restartAt", nil},
		"in-place updates":             {app, "spec: {updateStrategy: {type: InPlaceIfPossible}}", open, "", "", errInPlace},
		"in-place podUpdatePolicy":     {app, "spec: {updateStrategy: {rollingUpdate: {podUpdatePolicy: InPlaceOnly}}}", open, "", "", errInPlace},
		"recreated pods":               {app, "spec: {updateStrategy: {type: ReCreate}, template: {spec: {containers: [{}]}}}", open, "", inTemplate, nil},
	} {
		path, err := RestartField(test.kind, &unstructured.Unstructured{Object: objects.Parse(t, test.obj)}, objects.Parse(t, test.schema), test.own)
		if got := strings.Join(path, "."); got != test.want || err != test.wantErr { //nolint:errorlint // the error must be this value
			t.Errorf("%s: RestartField = %q, %v, want %q, %v", name, got, err, test.want, test.wantErr)
		}
	}
}

func TestRestartTime(t *testing.T) {
	t.Parallel()
	path := []string{"spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt"}
	at := time.Date(2024, 5, 6, 7, 8, 9, 10, time.FixedZone("", 7200))
	obj := &unstructured.Unstructured{Object: objects.Parse(t, "{spec: {template: {metadata: {annotations: {note: mine}}}}}")}
	now, err := RestartTime(obj, path, at)
	if err != nil || now != "2024-05-06T07:08:09+02:00" {
		t.Errorf("first restart: time %q, error %v", now, err)
	}
	if err := unstructured.SetNestedField(obj.Object, now, path...); err != nil {
		t.Fatal(err)
	}
	if _, err := RestartTime(obj, path, at.Add(time.Millisecond)); err != errRestarted { //nolint:errorlint // the error must be this value
		t.Errorf("second restart within a second: error %v, want errRestarted", err)
	}
	if _, err := RestartTime(obj, path, at.Add(time.Second)); err != nil {
		t.Errorf("restart a second later: error %v", err)
	}
	if now, err := RestartTime(obj, []string{"spec", "restartAt"}, at); err != nil || now != "2024-05-06T07:08:10+02:00" {
		t.Errorf("field that restarts older pods: time %q, error %v; want the next second", now, err)
	}
	odd := &unstructured.Unstructured{Object: objects.Parse(t, "{spec: {template: small}}")}
	if _, err := RestartTime(odd, path, at); err == nil {
		t.Error("RestartTime accepted a template that is a string")
	}
}

func TestKeptBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		resource, spec string
		kept           bool
	}{
		"below the partition":            {kinds.StatefulSets, "{updateStrategy: {rollingUpdate: {partition: 3}}}", true},
		"at the partition":               {kinds.StatefulSets, "{updateStrategy: {rollingUpdate: {partition: 2}}}", false},
		"counted from the first ordinal": {kinds.StatefulSets, "{ordinals: {start: 2}, updateStrategy: {rollingUpdate: {partition: 1}}}", true},
		"no partition":                   {kinds.StatefulSets, "{ordinals: {start: 5}}", false},
		"another kind":                   {"statefulsets.apps.kruise.io", "{updateStrategy: {rollingUpdate: {partition: 3}}}", false},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": objects.Parse(t, test.spec)}}
		kind := kinds.Kind{Resource: schema.ParseGroupResource(test.resource).WithVersion("v1")}
		if got := KeptBack(kind, obj, "db-2"); got != test.kept {
			t.Errorf("%s: KeptBack = %t, want %t", name, got, test.kept)
		}
	}
}
