package kinds

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestScaffoldGolden compares scaffolds with their golden files.
func TestScaffoldGolden(t *testing.T) {
	t.Parallel()
	nested, err := fieldpath.ParsePath(".spec.pools.hot.size")
	if err != nil {
		t.Fatal(err)
	}
	for name, scaffold := range map[string]Scaffold{
		"pods":       {Kind: "MyApp", Group: "example.com", Plan: StrategyPods, Image: "nginx"},
		"nested":     {Kind: "MyApp", Group: "example.com", Plan: StrategyPods, Image: "nginx", ReplicasPath: &nested},
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
