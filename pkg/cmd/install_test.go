package cmd

import "testing"

// Of a release an image is published, and of nothing else.
func TestIsRelease(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"v1.2.3": true, "v0.1.0": true, "v1.0.0-rc.1": true,
		"v0.0.0-dev": false, "v1.2.3-4-gabcdef0": false, "v1.2.3-dirty": false, "70b721b": false, "70b721b-dirty": false, "": false, "v1.2": false,
	} {
		if got := isRelease(version); got != want {
			t.Errorf("%q: %t", version, got)
		}
	}
}
