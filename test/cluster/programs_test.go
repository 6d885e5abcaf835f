package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestKeyDependsOnModules(t *testing.T) {
	keys := map[string]int{}
	sources := map[string][]byte{"main.go": []byte("package main")}
	for i, m := range []module{
		{goMod: "mod", goSum: "sum"},
		{goMod: "mod2", goSum: "sum"},
		{goMod: "mod", goSum: "sum2"},
		{goMod: "mods", goSum: "um"},
		{goMod: "mod", goSum: "sum", ldflags: "-a"},
		{goMod: "mod", goSum: "sum", tags: "-a"},
		{goMod: "mod", goSum: "sum", sources: sources},
	} {
		key := programSet{modules: []module{m}}.key()
		if !keyPattern.MatchString(key) {
			t.Errorf("key %q does not match keyPattern, so old programs with this key would never be removed", key)
		}
		if other, taken := keys[key]; taken {
			t.Errorf("modules %d and %d have the same key", other, i)
		}
		keys[key] = i
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

// TestProgramsAreTools checks that the module files declare all third-party programs as tools.
func TestProgramsAreTools(t *testing.T) {
	for _, set := range []programSet{controlPlanePrograms(ourKubernetes()), nodePrograms(ourKubernetes())} {
		for _, m := range set.modules {
			for _, p := range m.programs {
				// The kubelet is built from the module of the control plane, which does not declare it as a tool.
				tool := p.name == "kubelet" || strings.HasPrefix(p.importPath, "./") || strings.Contains(m.goMod, "\t"+p.importPath+"\n")
				if !tool {
					t.Errorf("%s is not a tool in the module file of %s", p.importPath, set.what)
				}
			}
		}
	}
}

// TestProgramSetsOfVersions checks that each set has a different key for each version of
// Kubernetes, and that the programs in --assets are omitted. The control plane of the version in go.mod
// is built from one module, and the control plane of any other version from two.
func TestProgramSetsOfVersions(t *testing.T) {
	keys := map[string]string{}
	for _, version := range kubernetesVersions() {
		few := controlPlanePrograms(version, assets()...)
		for _, set := range []programSet{controlPlanePrograms(version), few, nodePrograms(version)} {
			if other, taken := keys[set.key()]; taken {
				t.Errorf("program set %s has the same key as %s of %s", other, set.what, version)
			}
			keys[set.key()] = set.what
		}
		var built []string
		for _, m := range few.modules {
			for _, p := range m.programs {
				built = append(built, p.name)
			}
		}
		slices.Sort(built)
		if want := []string{"kube-controller-manager", "kube-scheduler", "kubectl", "kwok"}; !slices.Equal(built, want) {
			t.Errorf("programs to build for %s besides the assets = %v, want %v", version, built, want)
		}
	}
}

func TestOnlyUnusedProgramsAreRemoved(t *testing.T) {
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
			t.Errorf("directory %s exists: %v, want %v", name, err == nil, want)
		}
	}
}
