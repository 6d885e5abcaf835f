package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCacheKeyChangesWithWhateverTheProgramsDependOn(t *testing.T) {
	base := cacheKey("mod", "sum", "-a", "go1")
	if !keyPattern.MatchString(base) {
		t.Errorf("key %q does not look like one, so it would never be removed", base)
	}
	for name, other := range map[string]string{
		"go.mod":    cacheKey("mod2", "sum", "-a", "go1"),
		"go.sum":    cacheKey("mod", "sum2", "-a", "go1"),
		"arguments": cacheKey("mod", "sum", "-b", "go1"),
		"toolchain": cacheKey("mod", "sum", "-a", "go2"),
		"borders":   cacheKey("mods", "um", "-a", "go1"),
	} {
		if other == base {
			t.Errorf("the key does not depend on the %s", name)
		}
	}
}

func TestRequiredVersion(t *testing.T) {
	const mod = `module example.com/m

require example.com/single v1.0.0

require (
	example.com/direct v1.2.3
	example.com/indirect v0.1.0 // indirect
)

replace example.com/replaced => example.com/other v1.0.0
`
	for module, want := range map[string]string{
		"example.com/single":   "v1.0.0",
		"example.com/direct":   "v1.2.3",
		"example.com/indirect": "v0.1.0",
	} {
		got, err := requiredVersion(mod, module)
		if err != nil || got != want {
			t.Errorf("requiredVersion(%s) = %q, %v, want %q", module, got, err, want)
		}
	}
	if got, err := requiredVersion(mod, "example.com/replaced"); err == nil {
		t.Errorf("requiredVersion of a module that is not required = %q", got)
	}
}

func TestLinkerFlags(t *testing.T) {
	flags := linkerFlags("v1.36.3")
	for _, want := range []string{
		"-X k8s.io/component-base/version.gitVersion=v1.36.3",
		"-X k8s.io/component-base/version.gitMajor=1",
		"-X k8s.io/component-base/version.gitMinor=36",
	} {
		if !strings.Contains(flags, want) {
			t.Errorf("linker flags %q lack %q", flags, want)
		}
	}
}

func TestToolsOfAModule(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod": "module example.com/m\n\ntool (\n\texample.com/a/cmd/one\n\texample.com/m\n)\n", "go.sum": "", "main.go": "package main\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := readModule(dir)
	if err != nil {
		t.Fatal(err)
	}
	programs := set.modules[0].programs
	if len(programs) != 2 || programs[0].Name != "one" || programs[1].ImportPath != "example.com/m" {
		t.Errorf("the programs are %v", programs)
	}
	before := set.key()
	set.modules[0].sources["main.go"] = []byte("// changed\n")
	if set.key() == before {
		t.Error("the key does not depend on the sources")
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/m\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readModule(dir); err == nil {
		t.Error("readModule accepted a module without tools")
	}
}

// TestProgramsAreTools checks that the module files declare all programs as tools.
func TestProgramsAreTools(t *testing.T) {
	ours, err := findKubernetes("")
	if err != nil {
		t.Fatal(err)
	}
	all := func(version string) (programSet, error) { return controlPlanePrograms(version) }
	for _, programs := range []func(string) (programSet, error){all, nodePrograms} {
		set, err := programs(ours)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range set.modules {
			for _, p := range m.programs {
				// The kubelet is built from the module of the control plane, which does not
				// declare it as a tool.
				tool := p.Name == "kubelet" || strings.HasPrefix(p.ImportPath, "./") || strings.Contains(m.goMod, "\t"+p.ImportPath+"\n")
				if !tool {
					t.Errorf("%s is not a tool in the module file of %s", p.ImportPath, set.what)
				}
			}
		}
	}
}

// TestKeysOfProgramSetsDiffer checks that each set has a different key for each version of
// Kubernetes, and that the key of the nodes depends on their sources.
func TestKeysOfProgramSetsDiffer(t *testing.T) {
	versions, err := kubernetesVersions()
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	for _, version := range versions {
		for what, programs := range map[string]func(string) (programSet, error){
			"all":        func(version string) (programSet, error) { return controlPlanePrograms(version) },
			"few":        func(version string) (programSet, error) { return controlPlanePrograms(version, assets()...) },
			"node":       nodePrograms,
			"other node": otherNodePrograms,
		} {
			set, err := programs(version)
			if err != nil {
				t.Fatal(err)
			}
			what += " of " + version
			if other, taken := keys[set.key()]; taken {
				t.Errorf("%s and %s have the same key", other, what)
			}
			keys[set.key()] = what
		}
	}
}

// otherNodePrograms returns the set of nodePrograms with empty sources.
func otherNodePrograms(version string) (programSet, error) {
	set, err := nodePrograms(version)
	if err == nil {
		for path := range set.modules[1].sources {
			set.modules[1].sources[path] = nil
		}
	}
	return set, err
}

// TestProgramsOfAssetsAreNotBuilt checks that the programs in --assets are omitted, both for the
// version that is built from one module and for the versions that are built from two.
func TestProgramsOfAssetsAreNotBuilt(t *testing.T) {
	versions, err := kubernetesVersions()
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range versions {
		set, err := controlPlanePrograms(version, assets()...)
		if err != nil {
			t.Fatal(err)
		}
		var built []string
		for _, m := range set.modules {
			for _, p := range m.programs {
				built = append(built, p.Name)
			}
		}
		slices.Sort(built)
		if want := []string{"kube-controller-manager", "kube-scheduler", "kubectl", "kwok"}; !slices.Equal(built, want) {
			t.Errorf("of %s, it builds %v, want %v", version, built, want)
		}
	}
}

func TestOnlyProgramsThatNobodyUsesAreRemoved(t *testing.T) {
	cache := t.TempDir()
	const current, inUse, unused, foreign = "0123456789abcdef", "1111111111111111", "2222222222222222", "up"
	longAgo := time.Now().Add(-2 * unusedTimeout)
	for _, name := range []string{current, inUse, unused, foreign} {
		dir := filepath.Join(cache, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, longAgo, longAgo); err != nil {
			t.Fatal(err)
		}
	}
	markUsed(filepath.Join(cache, inUse))

	if err := removeUnused(cache, current); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{current: true, inUse: true, unused: false, foreign: true} {
		if _, err := os.Stat(filepath.Join(cache, name)); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", name, err == nil, want)
		}
	}
}
