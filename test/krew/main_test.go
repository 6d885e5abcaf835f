// Package krew tests the manifest and the archives that "make release-snapshot" writes to dist, with the real krew, its
// validator, and a real kubectl. "make krew-test" starts a control plane. The tests serve the archives on loopback.
package krew

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// tools is a temporary directory with krew and its validator.
var tools string

func TestMain(m *testing.M) {
	code, err := runWithTools(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "krew:", err)
		code = 1
	}
	os.Exit(code)
}

func runWithTools(m *testing.M) (code int, err error) {
	if tools, err = os.MkdirTemp("", "imoocpod-krew-"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tools)) }()
	for name, pkg := range map[string]string{
		"kubectl-krew": "sigs.k8s.io/krew/cmd/krew", "validate-krew-manifest": "sigs.k8s.io/krew/cmd/validate-krew-manifest",
	} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(tools, name), pkg).CombinedOutput(); err != nil {
			return 1, fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
	}
	return m.Run(), nil
}
