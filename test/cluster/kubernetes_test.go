package main

import (
	"slices"
	"strings"
	"testing"
)

func TestFindKubernetes(t *testing.T) {
	ours, oldest := ourKubernetes(), kubernetesVersions()[0]
	minor := oldest[:strings.LastIndex(oldest, ".")]
	for wanted, want := range map[string]string{
		"": ours, oldest: oldest, minor: oldest, strings.TrimPrefix(minor, "v"): oldest, ours: ours,
	} {
		if got, err := findKubernetes(wanted); err != nil || got != want {
			t.Errorf("findKubernetes(%q) = %q, %v, want %q", wanted, got, err, want)
		}
	}
	for _, wanted := range []string{"1", "1.3", "1.2", "latest", oldest + ".1", "v"} {
		if got, err := findKubernetes(wanted); err == nil {
			t.Errorf("findKubernetes(%q) = %q, want an error", wanted, got)
		}
	}
}

func TestVersionsIn(t *testing.T) {
	const mod = "require k8s.io/klog v1.0.0\n\nrequire (\n\tk8s.io/kubernetes v1.36.3 // indirect\n)\n\nreplace k8s.io/kubernetes => k8s.io/other v1.0.0\n"
	const sum = "k8s.io/kubernetes v1.30.14 h1:a\nk8s.io/kubernetes v1.30.14/go.mod h1:b\nk8s.io/kubernetes v1.33.13 h1:c\n"
	if got, want := versionsIn(mod+sum), []string{"v1.36.3", "v1.30.14", "v1.33.13"}; !slices.Equal(got, want) {
		t.Errorf("versionsIn = %q, want %q", got, want)
	}
}

func TestRequireKubernetes(t *testing.T) {
	const upstream = "module k8s.io/kubernetes\n\ngo 1.22.0\n\nrequire k8s.io/api v0.0.0\n\nreplace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n)\n"
	const want = "module programs\n\nrequire k8s.io/kubernetes v1.30.14\n\ngo 1.22.0\n\nrequire k8s.io/api v0.0.0\n\nreplace (\n\tk8s.io/api => k8s.io/api v0.30.14\n)\n"
	if got := requireKubernetes(upstream, "v1.30.14"); got != want {
		t.Errorf("requireKubernetes returned the go.mod\n%s\nwant\n%s", got, want)
	}
}

func TestChecksumsOfAVersion(t *testing.T) {
	const ours = "k8s.io/api v0.30.14 h1:a\nk8s.io/api v0.30.14/go.mod h1:b\nk8s.io/kubernetes v1.30.14 h1:c\n"
	const others = "k8s.io/api v0.30.1 h1:d\nk8s.io/klog/v2 v2.130.1 h1:e\ngithub.com/a/b v0.30.14 h1:f\nk8s.io/kubernetes v1.33.13 h1:g\n"
	if got := checksums(others+ours, "v1.30.14"); got != ours {
		t.Errorf("checksums of v1.30.14 =\n%s\nwant\n%s", got, ours)
	}
}
