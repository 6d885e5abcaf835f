package operators

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// operator is a third-party program that is built from the module in a subdirectory.
type operator struct {
	// dir is the directory of its module files. module is its upstream module, and crds is a glob
	// pattern for the CRDs in module. program is the name of its binary.
	dir, module, program, crds string
	args, env                  []string
	// prepare, if set, installs what an installer would install in addition to the CRDs.
	prepare func(t *testing.T, source string)
	// awake, if set, reports whether the operator is ready.
	awake func(t *testing.T) bool
	// release, if set, removes webhooks that would reject changes while the operator is stopped.
	release func(t *testing.T)

	bin, source string
	log         *os.File
	// stop stops the operator if it is running.
	stop func()
}

// install installs the CRDs of an operator, and starts the operator. "make test-operators" builds it.
func (o *operator) install(t *testing.T) {
	t.Helper()
	o.bin = filepath.Join("../../bin/operators", o.dir, o.program)
	o.source = sourceOf(t, o.dir, o.module)
	files, err := filepath.Glob(filepath.Join(o.source, o.crds))
	if err != nil || len(files) == 0 {
		t.Fatalf("the module %s has no CRDs at %s: %v", o.module, o.crds, err)
	}
	args := []string{"create", "-o", "name"}
	for _, file := range files {
		args = append(args, "-f", file)
	}
	crds := strings.Fields(harness.Must(t, plane.Kubectl(t, "", args...)))
	plane.AwaitEstablished(t, crds...)
	if o.prepare != nil {
		o.prepare(t, o.source)
	}
	o.start(t)
	t.Cleanup(func() { o.stop() })
}

// sourceOf returns the source directory of a module that the module in dir requires.
func sourceOf(t *testing.T, dir, module string) string {
	t.Helper()
	// Download the module, because Go's cache might have been cleaned since the build.
	out, err := exec.Command("go", "mod", "download", "-C", dir, "-json", module).Output()
	var found struct{ Dir string }
	if err := errors.Join(err, json.Unmarshal(out, &found)); err != nil || found.Dir == "" {
		t.Fatalf("find the files of %s: %v\n%s", module, err, out)
	}
	return found.Dir
}

// start starts the operator. If the test fails, a cleanup prints the end of the operator's log.
func (o *operator) start(t *testing.T) {
	t.Helper()
	var err error
	if o.log == nil {
		if o.log, err = os.Create(filepath.Join(plane.Dir, o.program+".log")); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { o.showLog(t) })
	}
	ctx, cancel := context.WithCancel(context.Background())
	process := exec.CommandContext(ctx, o.bin, o.args...)
	process.Cancel = func() error { return process.Process.Signal(syscall.SIGTERM) }
	process.WaitDelay = 20 * time.Second
	process.Env = append(plane.Environment(), o.env...)
	process.Stdout, process.Stderr = o.log, o.log
	if err := process.Start(); err != nil {
		t.Fatalf("start %s: %v", o.program, err)
	}
	o.stop = sync.OnceFunc(func() {
		cancel()
		_ = process.Wait() // the result does not matter
	})
	if o.awake != nil {
		harness.Eventually(t, o.program+" is ready", func() bool { return o.awake(t) })
	}
}

func (o *operator) showLog(t *testing.T) {
	if !t.Failed() {
		return
	}
	text, err := os.ReadFile(o.log.Name())
	if err != nil {
		t.Log(err)
		return
	}
	if len(text) > 8000 {
		text = text[len(text)-8000:]
	}
	t.Logf("end of the log of %s:\n%s", o.program, text)
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
