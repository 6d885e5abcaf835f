package kinds

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

const widgetCRD = `
metadata:
  name: widgets.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1alpha1
    served: true
    storage: false
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              image: {type: string}
              command: {type: array, items: {type: string}}
              env: {type: array, items: {type: object}}
              deployment: {type: string}
              template:
                type: object
                properties:
                  metadata: {type: object}
                  spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              pools: {type: array, items: {type: object}}
          status:
            type: object
            properties:
              observedGeneration: {type: integer}
              readyReplicas: {type: integer}
              numberReady: {type: integer}
              names: {type: array, items: {type: string}}
              live: {type: integer}
              conditions:
                type: array
                items:
                  type: object
                  required: [type, status]
                  properties: {type: {type: string}, status: {type: string}}
`

// crdWith returns the CRD of Widgets with annotations and an optional change.
func crdWith(t *testing.T, annotations map[string]string, change func(crd map[string]any)) *unstructured.Unstructured {
	t.Helper()
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(widgetCRD), &crd.Object); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"example.com/plan": "not ours"}
	for key, value := range annotations {
		all["imoocpod.dev/"+key] = value
	}
	crd.SetAnnotations(all)
	if change != nil {
		change(crd.Object)
	}
	return crd
}

// stored returns the storage version of the CRD.
func stored(crd map[string]any) map[string]any {
	version, _ := crd["spec"].(map[string]any)["versions"].([]any)[1].(map[string]any)
	return version
}

func TestDeclared(t *testing.T) {
	t.Parallel()
	path := func(text string) []string { return strings.Split(text, ".") }
	usual := StatusPaths{
		Ready: path("status.readyReplicas"), ObservedGeneration: path("status.observedGeneration"), Conditions: path("status.conditions"),
	}
	for name, test := range map[string]struct {
		annotations map[string]string
		change      func(crd map[string]any)
		replicas    []string
		want        Mapping
	}{
		"nothing": {},
		"no plan": {annotations: map[string]string{"replicas-path": ".spec.size"}},
		"pods by a template": {
			annotations: map[string]string{"plan": "pods", "replicas-path": ".spec.size", "template-path": ".spec.template"},
			replicas:    path("spec.size"),
			want:        Mapping{Strategy: StrategyPods, TemplatePath: path("spec.template"), Status: usual},
		},
		"in an open object": {
			annotations: map[string]string{"plan": "pods", "replicas-path": "spec.free.size", "template-path": "{.spec.free.pod}"},
			replicas:    path("spec.free.size"),
			want:        Mapping{Strategy: StrategyPods, TemplatePath: path("spec.free.pod"), Status: usual},
		},
		"pods by an image": {
			annotations: map[string]string{"plan": "pods", "replicas-path": ".spec.size", "image-path": ".spec.image", "image": "nginx",
				"command-path": ".spec.command", "env-path": ".spec.env", "name-label": "app", "revision-history-limit": "0", "current-path": ".status.live", "pod-names-path": ".status.names"},
			replicas: path("spec.size"),
			want: Mapping{Strategy: StrategyPods, ImagePath: path("spec.image"), Image: "nginx", CommandPath: path("spec.command"), EnvPath: path("spec.env"), NameLabel: "app", HistoryLimit: new(int32(0)),
				Status: StatusPaths{Current: path("status.live"), PodNames: path("status.names"), Ready: usual.Ready, ObservedGeneration: usual.ObservedGeneration, Conditions: usual.Conditions}},
		},
		"the count behind /scale": {
			annotations: map[string]string{"plan": "deployment", "image": "nginx", "deployment-name-path": ".spec.deployment"},
			change: func(crd map[string]any) {
				stored(crd)["subresources"] = map[string]any{"status": map[string]any{}, "scale": map[string]any{"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.live"}}
			},
			replicas: path("spec.size"),
			want: Mapping{Strategy: StrategyDeployment, Image: "nginx", DeploymentNamePath: path("spec.deployment"),
				Status: StatusPaths{Current: path("status.live"), Ready: usual.Ready, ObservedGeneration: usual.ObservedGeneration, Conditions: usual.Conditions}},
		},
		"a pod per node": {
			annotations: map[string]string{"plan": "nodes", "image-path": ".spec.image"},
			want: Mapping{Strategy: StrategyNodes, ImagePath: path("spec.image"),
				Status: StatusPaths{Ready: path("status.numberReady"), ObservedGeneration: usual.ObservedGeneration, Conditions: usual.Conditions}},
		},
		"a status that demands more": {
			annotations: map[string]string{"plan": "nodes", "image": "nginx", "ready-path": ".status.live"},
			change: func(crd map[string]any) {
				status := fieldpath.Object(stored(crd), "schema", "openAPIV3Schema", "properties", "status")
				status["required"] = []any{"live", "names", "readyReplicas", "conditions", "seconds"}
				fieldpath.Object(status, "properties")["seconds"] = map[string]any{"type": "integer", "format": "int64", "minimum": int64(0)}
			},
			want: Mapping{Strategy: StrategyNodes, Image: "nginx", Status: StatusPaths{Ready: path("status.live"), ObservedGeneration: usual.ObservedGeneration, Conditions: usual.Conditions,
				Empty: map[string]any{"names": []any{}, "readyReplicas": int64(0), "seconds": int64(0)}}},
		},
		"one field for two counts: what is declared goes before what is usual": {
			annotations: map[string]string{"plan": "pods", "image": "nginx", "replicas-path": ".spec.size", "current-path": ".status.readyReplicas"},
			replicas:    path("spec.size"),
			want: Mapping{Strategy: StrategyPods, Image: "nginx",
				Status: StatusPaths{Current: path("status.readyReplicas"), ObservedGeneration: usual.ObservedGeneration, Conditions: usual.Conditions}},
		},
		"one field for two counts: /scale goes before what is usual": {
			annotations: map[string]string{"plan": "pods", "image": "nginx"},
			change: func(crd map[string]any) {
				stored(crd)["subresources"] = map[string]any{"status": map[string]any{}, "scale": map[string]any{"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.readyReplicas"}}
			},
			replicas: path("spec.size"),
			want: Mapping{Strategy: StrategyPods, Image: "nginx",
				Status: StatusPaths{Current: path("status.readyReplicas"), ObservedGeneration: usual.ObservedGeneration, Conditions: usual.Conditions}},
		},
		"a status without what others have": {
			annotations: map[string]string{"plan": "nodes", "image": "nginx"},
			change: func(crd map[string]any) {
				properties := fieldpath.Object(stored(crd), "schema", "openAPIV3Schema", "properties")
				properties["status"] = map[string]any{"type": "object"}
			},
			want: Mapping{Strategy: StrategyNodes, Image: "nginx"},
		},
	} {
		kind, err := Declared(crdWith(t, test.annotations, test.change))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if kind.CRD() != "widgets.example.com" || kind.Resource.Version != "v1" || kind.Kind != "Widget" || kind.Singular != "widget" {
			t.Errorf("%s: it is %+v", name, kind)
		}
		if !slices.Equal(kind.ReplicasPath, test.replicas) || !equality.Semantic.DeepEqual(kind.Mapping, test.want) {
			t.Errorf("%s: it has the count at %v and the mapping\n%+v\nwant\n%+v", name, kind.ReplicasPath, kind.Mapping, test.want)
		}
	}
}

func TestDeclarationsThatCannotBe(t *testing.T) {
	t.Parallel()
	good := map[string]string{"plan": "pods", "replicas-path": ".spec.size", "image-path": ".spec.image"}
	for name, test := range map[string]struct {
		annotations map[string]string // in addition to good; "-" removes an annotation
		change      func(crd map[string]any)
		want        string
	}{
		"an unknown plan":            {map[string]string{"plan": "jobs"}, nil, `imoocpod.dev/plan must be pods, deployment or nodes, not "jobs"`},
		"a misspelled annotation":    {map[string]string{"ready": ".status.readyReplicas"}, nil, "imoocpod.dev/ready is not an annotation of the plan pods"},
		"one of another plan":        {map[string]string{"deployment-name-path": ".spec.deployment"}, nil, "imoocpod.dev/deployment-name-path is not an annotation of the plan pods"},
		"a count per node":           {map[string]string{"plan": "nodes"}, nil, "imoocpod.dev/replicas-path is not an annotation of the plan nodes"},
		"no such field":              {map[string]string{"image-path": ".spec.container.image"}, nil, "imoocpod.dev/image-path: .spec.container is not in the schema of version v1"},
		"another type":               {map[string]string{"image-path": ".spec.size"}, nil, "imoocpod.dev/image-path: .spec.size is of type integer, not string"},
		"the wrong half":             {map[string]string{"ready-path": ".spec.size"}, nil, "imoocpod.dev/ready-path: .spec.size is not a field of .status"},
		"the other wrong half":       {map[string]string{"replicas-path": ".status.live"}, nil, "imoocpod.dev/replicas-path: .status.live is not a field of .spec"},
		"through a list":             {map[string]string{"replicas-path": ".spec.pools[0].size"}, nil, "imoocpod.dev/replicas-path: .spec.pools[0].size goes through a list: only fields can be declared"},
		"no path at all":             {map[string]string{"replicas-path": ".spec..size"}, nil, `imoocpod.dev/replicas-path: path ".spec..size": `},
		"no path into the status":    {map[string]string{"ready-path": ".status..live"}, nil, `imoocpod.dev/ready-path: path ".status..live": `},
		"the status itself":          {map[string]string{"ready-path": ".status"}, nil, "imoocpod.dev/ready-path: .status is of type object, not integer"},
		"an open object is no count": {map[string]string{"replicas-path": ".spec.free"}, nil, "imoocpod.dev/replicas-path: .spec.free is of type object, not integer"},
		"a number or a text is no count": {nil, func(crd map[string]any) {
			size := fieldpath.Object(stored(crd), "schema", "openAPIV3Schema", "properties", "spec", "properties", "size")
			delete(size, "type")
			size["x-kubernetes-int-or-string"] = true
		}, "imoocpod.dev/replicas-path: .spec.size is of type integer or string, not integer"},
		"a field of any type": {nil, func(crd map[string]any) {
			delete(fieldpath.Object(stored(crd), "schema", "openAPIV3Schema", "properties", "spec", "properties", "image"), "type")
		}, "imoocpod.dev/image-path: .spec.image is of type any, not string"},
		"no template": {map[string]string{"image-path": "-", "template-path": ".spec.free"}, func(crd map[string]any) {
			delete(fieldpath.Object(stored(crd), "schema", "openAPIV3Schema", "properties", "spec", "properties", "free"), "x-kubernetes-preserve-unknown-fields")
		}, "imoocpod.dev/template-path does not name a pod template: .spec.free.spec is not in the schema of version v1"},
		"a template and an image": {map[string]string{"template-path": ".spec.template"}, nil, "imoocpod.dev/image-path is not an annotation of the plan pods"},
		"nothing to make pods of": {map[string]string{"image-path": "-"}, nil, "the pod template is missing"},
		"no count":                {map[string]string{"replicas-path": "-"}, nil, "imoocpod.dev/replicas-path is missing"},
		"no status subresource":   {nil, func(crd map[string]any) { delete(stored(crd), "subresources") }, "version v1 has no subresources.status"},
		"not served":              {nil, func(crd map[string]any) { stored(crd)["served"] = false }, `the storage version "v1" is not served`},
		"in no namespace":         {nil, func(crd map[string]any) { fieldpath.Object(crd, "spec")["scope"] = "Cluster" }, ".spec.scope is Cluster"},
		"a status that demands what nobody knows": {nil, func(crd map[string]any) {
			status := fieldpath.Object(stored(crd), "schema", "openAPIV3Schema", "properties", "status")
			status["required"] = []any{"phase"}
			fieldpath.Object(status, "properties")["phase"] = map[string]any{"type": "string", "enum": []any{"Up", "Down"}}
		}, ".status.phase is required, but no annotation names it"},
		"a status that demands several": {nil, func(crd map[string]any) {
			status := fieldpath.Object(stored(crd), "schema", "openAPIV3Schema", "properties", "status")
			status["required"] = []any{"since", "least"}
			fieldpath.Object(status, "properties")["since"] = map[string]any{"type": "string", "format": "date-time"}
			fieldpath.Object(status, "properties")["least"] = map[string]any{"type": "integer", "minimum": int64(1)}
		}, ".status.least is required, but no annotation names it; .status.since is required, but no annotation names it"},
		"one field of the status for two counts": {map[string]string{"ready-path": ".status.live", "current-path": ".status.live"}, nil, "two annotations name the field .status.live or a part of it"},
		"a field within another": {map[string]string{"ready-path": ".status.pods", "current-path": ".status.pods.all"}, func(crd map[string]any) {
			properties := fieldpath.Object(stored(crd), "schema", "openAPIV3Schema", "properties", "status", "properties")
			properties["pods"] = map[string]any{"type": "integer", "x-kubernetes-preserve-unknown-fields": true}
		}, "two annotations name the field .status.pods or a part of it"},
		"a label that is none":            {map[string]string{"name-label": "not a label"}, nil, `imoocpod.dev/name-label: "not a label" is not a valid label name`},
		"a label of the controller's own": {map[string]string{"name-label": "imoocpod.dev/bypasses"}, nil, "labels that start with imoocpod.dev/ are reserved for the controller"},
		"a label of Deployments' own":     {map[string]string{"name-label": "pod-template-hash"}, nil, "the label pod-template-hash is reserved for the Deployment controller"},
		"conditions of its own": {nil, func(crd map[string]any) {
			fieldpath.Object(stored(crd), "schema", "openAPIV3Schema", "properties", "status", "properties", "conditions", "items")["required"] = []any{"severity"}
		}, ".status.conditions[*].severity is required"},
		"conditions whose status is no word": {nil, func(crd map[string]any) {
			fieldpath.Object(stored(crd), "schema", "openAPIV3Schema", "properties", "status", "properties", "conditions", "items", "properties")["status"] = map[string]any{"type": "boolean"}
		}, ".status.conditions[*].status is not a string in version v1"},
		"conditions without a type": {nil, func(crd map[string]any) {
			delete(fieldpath.Object(stored(crd), "schema", "openAPIV3Schema", "properties", "status", "properties", "conditions", "items", "properties"), "type")
		}, ".status.conditions[*].type is not a string in version v1"},
	} {
		annotations := maps.Clone(good)
		maps.Copy(annotations, test.annotations)
		maps.DeleteFunc(annotations, func(_, value string) bool { return value == "-" })
		kind, err := Declared(crdWith(t, annotations, test.change))
		var declaration *DeclarationError
		if !errors.As(err, &declaration) || declaration.CRD != "widgets.example.com" || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the error is %v, want one with %q", name, err, test.want)
		}
		if kind.Reconciled() {
			t.Errorf("%s: it would be reconciled nevertheless", name)
		}
	}
}

// For any annotations of a CRD, Declared returns a kind or a list of problems.
func FuzzDeclared(f *testing.F) {
	f.Add("pods", ".spec.replicas", ".spec.template", ".status.readyReplicas")
	f.Add("deployment", ".spec.pools[0].size", "", ".status.conditions")
	f.Add("none", "..", "{", "$")
	f.Fuzz(func(t *testing.T, plan, replicas, template, ready string) {
		crd := crdWith(t, map[string]string{"plan": plan, "replicas-path": replicas, "template-path": template, "ready-path": ready}, nil)
		kind, err := Declared(crd)
		if problems := (*DeclarationError)(nil); err != nil && (!errors.As(err, &problems) || len(problems.Problems) == 0) {
			t.Errorf("%q is refused without a problem: %v", plan, err)
		}
		if err == nil && kind.Kind == "" {
			t.Errorf("%q declares no kind", plan)
		}
	})
}

func TestEstablished(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]bool{"Established True": true, "Established False": false, "NamesAccepted True": false} {
		kind, status, _ := strings.Cut(words, " ")
		crd := crdWith(t, nil, func(crd map[string]any) {
			crd["status"] = map[string]any{"conditions": []any{map[string]any{"type": kind, "status": status}}}
		})
		if got := Established(crd); got != want {
			t.Errorf("with the condition %s: %t, want %t", words, got, want)
		}
	}
}
