package kinds

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

func replicasAt(t *testing.T, text string) *fieldpath.Path {
	t.Helper()
	if text == "" {
		return nil
	}
	path, err := fieldpath.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return &path
}

// Declared returns the requested kind for the CRD of a scaffold.
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
		{"No", "nos", StrategyPods, "", path("spec.replicas"), counted}, // "No" is a boolean in YAML
		{"Gateway", "gateways", StrategyPods, "", path("spec.replicas"), counted},
		{"Box", "boxes", StrategyPods, "", path("spec.replicas"), counted},
		{"Batch", "batches", StrategyPods, "", path("spec.replicas"), counted},
		{strings.Repeat("F", 59), strings.Repeat("f", 59) + "s", StrategyPods, "", path("spec.replicas"), counted}, // the maximum length of a kind
		{"V2Pool", "v2pools", StrategyDeployment, "spec.pools.hot_1.pool-size", path("spec.pools.hot_1.pool-size"), counted},
		{"Agent", "agents", StrategyNodes, "", nil, perNode},
	} {
		s := Scaffold{Kind: test.kind, Group: "apps.example.com", Plan: test.plan, Image: "busybox:1", ReplicasPath: replicasAt(t, test.path)}
		crd, err := s.CRD()
		if err != nil {
			t.Errorf("CRD of %+v: error %v", s, err)
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
			t.Errorf("Declared of %s =\n%+v (%v)\nwant\n%+v", crd.GetName(), got, err, want)
		}
		_ = crd.DeepCopy() // panics if a value has a non-JSON type
	}
}

func TestInvalidScaffolds(t *testing.T) {
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
		s := Scaffold{Kind: test.kind, Group: test.group, Plan: test.plan, Image: "nginx", ReplicasPath: replicasAt(t, test.path)}
		if crd, err := s.CRD(); crd != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want one with %q", test, err, test.want)
		}
	}
}

var update = flag.Bool("update", false, "rewrite the golden files")

func TestScaffoldGolden(t *testing.T) {
	t.Parallel()
	for name, scaffold := range map[string]Scaffold{
		"pods":       {Kind: "MyApp", Group: "example.com", Plan: StrategyPods, Image: "nginx"},
		"nested":     {Kind: "MyApp", Group: "example.com", Plan: StrategyPods, Image: "nginx", ReplicasPath: replicasAt(t, ".spec.pools.hot.size")},
		"deployment": {Kind: "Box", Group: "apps.example.com", Plan: StrategyDeployment, Image: "registry.example.com:5000/a/b@sha256:0123"},
		"nodes":      {Kind: "Agent", Group: "example.com", Plan: StrategyNodes, Image: "busybox:1"},
	} {
		crd, err := scaffold.CRD()
		if err != nil {
			t.Fatal(err)
		}
		got, err := yaml.Marshal(crd.Object)
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", "scaffold-"+name+".yaml")
		if *update {
			if err := os.WriteFile(golden, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("the scaffold %s is\n%s\nwant\n%s", name, got, want)
		}
	}
}
