package kinds

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// Declared returns exactly the requested kind for the CRD of a scaffold.
func TestScaffold(t *testing.T) {
	t.Parallel()
	path := func(text string) []string { return strings.Split(text, ".") }
	counted := StatusPaths{
		Selector: path("status.selector"), Current: path("status.replicas"), Updated: path("status.updatedReplicas"), Ready: path("status.readyReplicas"),
		ObservedGeneration: path("status.observedGeneration"), Conditions: path("status.conditions"),
	}
	perNode := StatusPaths{
		Desired: path("status.desiredNumberScheduled"), Current: path("status.currentNumberScheduled"), Updated: path("status.updatedNumberScheduled"), Ready: path("status.numberReady"),
		ObservedGeneration: path("status.observedGeneration"), Conditions: path("status.conditions"),
	}
	for _, test := range []struct {
		kind, plural string
		plan         Strategy
		path         string
		replicas     []string
		status       StatusPaths
	}{
		{"Foo", "foos", StrategyPods, "", path("spec.replicas"), counted},
		{"FooProxy", "fooproxies", StrategyPods, "{.spec.size}", path("spec.size"), counted},
		{"Glass", "glasses", StrategyDeployment, "", path("spec.replicas"), counted},
		{"No", "nos", StrategyPods, "", path("spec.replicas"), counted}, // a boolean in YAML
		{"Box", "boxes", StrategyPods, "", path("spec.replicas"), counted},
		{"Batch", "batches", StrategyPods, "", path("spec.replicas"), counted},
		{strings.Repeat("F", 59), strings.Repeat("f", 59) + "s", StrategyPods, "", path("spec.replicas"), counted}, // the maximum length of a kind
		{"V2Pool", "v2pools", StrategyDeployment, "spec.pools.hot_1.pool-size", path("spec.pools.hot_1.pool-size"), counted},
		{"Agent", "agents", StrategyNodes, "", nil, perNode},
	} {
		s := Scaffold{Kind: test.kind, Group: "apps.example.com", Plan: test.plan, Image: "busybox:1"}
		if test.path != "" {
			replicas, err := fieldpath.ParsePath(test.path)
			if err != nil {
				t.Fatal(err)
			}
			s.ReplicasPath = &replicas
		}
		crd, err := s.CRD()
		if err != nil {
			t.Errorf("%+v: %v", s, err)
			continue
		}
		got, err := Declared(crd)
		want := Kind{
			Resource: schema.GroupVersionResource{Group: "apps.example.com", Version: "v1alpha1", Resource: test.plural},
			Kind:     test.kind, Singular: strings.ToLower(test.kind), ReplicasPath: test.replicas,
			Mapping: Mapping{
				Strategy: test.plan, ImagePath: path("spec.image"), CommandPath: path("spec.command"), EnvPath: path("spec.env"),
				NameLabel: "app", Status: test.status,
			},
		}
		if err != nil || !equality.Semantic.DeepEqual(got, want) {
			t.Errorf("%s declares\n%+v (%v)\nwant\n%+v", crd.GetName(), got, err, want)
		}
		_ = crd.DeepCopy() // panics if a value has a type that JSON does not have
	}
}

// The objects around the count have an empty default, so that the default of the count applies.
func TestScaffoldDefaultsOnTheWay(t *testing.T) {
	t.Parallel()
	replicas, err := fieldpath.ParsePath(".spec.pool.size")
	if err != nil {
		t.Fatal(err)
	}
	crd, err := Scaffold{Kind: "Foo", Group: "example.com", Plan: StrategyPods, ReplicasPath: &replicas, Image: "busybox"}.CRD()
	if err != nil {
		t.Fatal(err)
	}
	at := fieldpath.Object(storedVersion(crd), "schema", "openAPIV3Schema")
	for _, name := range []string{"spec", "pool"} {
		at = fieldpath.Object(at, "properties", name)
		if empty, is := at["default"].(map[string]any); !is || len(empty) > 0 {
			t.Errorf("%s has the default %v", name, at["default"])
		}
	}
	if size := fieldpath.Object(at, "properties", "size"); size["default"] != int64(1) || size["minimum"] != int64(0) {
		t.Errorf("the count is %v", size)
	}
	if image, _, _ := unstructured.NestedString(fieldpath.Object(storedVersion(crd), "schema", "openAPIV3Schema", "properties", "spec", "properties"), "image", "default"); image != "busybox" {
		t.Errorf("the image is %q", image)
	}
}

func TestScaffoldsThatCannotBe(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 63)
	for _, test := range []struct {
		kind, group string
		plan        Strategy
		path        string
		want        string
	}{
		{"foo", "example.com", StrategyPods, "", `invalid kind "foo": it must be in CamelCase`},
		{"Foo-Bar", "example.com", StrategyPods, "", `invalid kind "Foo-Bar"`},
		{"Füo", "example.com", StrategyPods, "", `invalid kind "Füo"`},
		{"", "example.com", StrategyPods, "", `invalid kind ""`},
		{"F" + long, "example.com", StrategyPods, "", "it must be no longer than 59 characters"},
		{"Foo", "example", StrategyPods, "", `invalid group "example": it must be a domain`},
		{"Foo", "Example.com", StrategyPods, "", `invalid group "Example.com"`},
		{"Foo", "example..com", StrategyPods, "", `invalid group "example..com"`},
		{"Foo", "apps.k8s.io", StrategyPods, "", "groups that end in k8s.io are reserved"},
		{"Foo", "kubernetes.io", StrategyPods, "", "groups that end in kubernetes.io are reserved"},
		{"Foo", strings.Join([]string{long, long, long, long[:60]}, "."), StrategyPods, "", "must be no longer than 253 characters"},
		{"Foo", "example.com", StrategyNodes, ".spec.size", "a pod on each node has no replica count"},
		{"Foo", "example.com", StrategyPods, ".spec.pools[0].size", ".spec.pools[0].size goes through a list"},
		{"Foo", "example.com", StrategyPods, ".spec.image", ".spec.image cannot be the replica count"},
		{"Foo", "example.com", StrategyPods, ".spec.env.size", ".spec.env.size cannot be the replica count: .spec.env configures"},
		{"Foo", "example.com", StrategyPods, `.spec["a.b"]`, `has the field "a.b"`},
	} {
		s := Scaffold{Kind: test.kind, Group: test.group, Plan: test.plan, Image: "nginx"}
		if test.path != "" {
			replicas, err := fieldpath.ParsePath(test.path)
			if err != nil {
				t.Fatal(err)
			}
			s.ReplicasPath = &replicas
		}
		if crd, err := s.CRD(); crd != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: the error is %v, want one with %q", test, err, test.want)
		}
	}
}

// A scaffold uses the path of the count in the printer columns and in /scale.
func TestScaffoldNamesTheCountEverywhere(t *testing.T) {
	t.Parallel()
	replicas, err := fieldpath.ParsePath(".spec.size")
	if err != nil {
		t.Fatal(err)
	}
	crd, err := Scaffold{Kind: "Foo", Group: "example.com", Plan: StrategyPods, ReplicasPath: &replicas, Image: "nginx"}.CRD()
	if err != nil {
		t.Fatal(err)
	}
	version := storedVersion(crd)
	columns, _ := version["additionalPrinterColumns"].([]any)
	shows := func(path string) bool {
		return slices.ContainsFunc(columns, func(c any) bool { column, _ := c.(map[string]any); return column["jsonPath"] == path })
	}
	if !shows(".spec.size") || !shows(".status.readyReplicas") || fieldpath.Object(version, "subresources", "scale")["specReplicasPath"] != ".spec.size" {
		t.Errorf("the version is %v", version)
	}
}
