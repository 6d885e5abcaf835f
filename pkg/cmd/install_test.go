package cmd

import (
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// The help shows no default image that the command would refuse.
func TestDefaultImage(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"v1.2.3": "ghcr.io/imoocpod/kubectl-imoocpod:v1.2.3", "v0.0.0-dev": ""} {
		install, _, err := NewRootCommand(version, genericiooptions.NewTestIOStreamsDiscard()).Find([]string{"install"})
		if err != nil {
			t.Fatal(err)
		}
		if got := install.Flag("image").DefValue; got != want || install.Flag("timeout").DefValue != "2m0s" {
			t.Errorf("version %s: default image %q, want %q (or the default timeout is not 2m)", version, got, want)
		}
	}
}

func TestIsRelease(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"v1.2.3": true, "v0.1.0": true, "v1.0.0-rc.1": true,
		"v0.0.0-dev": false, "v1.2.3-4-gabcdef0": false, "v1.2.3-dirty": false, "70b721b": false, "70b721b-dirty": false, "": false, "v1.2": false,
	} {
		if got := isRelease(version); got != want {
			t.Errorf("isRelease(%q) = %t, want %t", version, got, want)
		}
	}
}
