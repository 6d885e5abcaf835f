package operators

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// operator is a third-party program that is built from the module in a subdirectory.
type operator struct {
	// dir is the directory of its module files. module is its upstream module, and crds is a glob
	// pattern for the CRDs in module. program is the name of its binary.
	dir, module, program, crds string
	args                       func() []string
	env                        func() []string
	// prepare, if set, installs what an installer would install in addition to the CRDs.
	prepare func(t *testing.T, source string)
	// crd, if set, edits a CRD before it is created, as an installer would.
	crd func(crd *unstructured.Unstructured)
	// awake, if set, returns an error until the operator is ready.
	awake func(context.Context) error
	// release, if set, removes webhooks that would reject changes while the operator is stopped.
	release func(t *testing.T)

	bin     string
	source  string
	process *exec.Cmd
	log     *os.File
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
	var crds []string
	for _, file := range files {
		for _, obj := range manifests(t, file) {
			if obj.GetKind() != "CustomResourceDefinition" {
				continue
			}
			if o.crd != nil {
				o.crd(obj)
			}
			create(t, "", obj)
			crds = append(crds, "crd/"+obj.GetName())
		}
	}
	plane.AwaitEstablished(t, crds...)
	if o.prepare != nil {
		o.prepare(t, o.source)
	}
	o.start(t)
	t.Cleanup(func() { o.stop(t) })
}

// sourceOf returns the source directory of a module that the module in dir requires.
func sourceOf(t *testing.T, dir, module string) string {
	t.Helper()
	version, err := exec.Command("go", "list", "-C", dir, "-m", "-f", "{{.Version}}", module).Output()
	if err != nil {
		t.Fatalf("find the version of %s: %v", module, err)
	}
	// Download the module, because Go's cache may have been cleaned since the build.
	out, err := exec.Command("go", "mod", "download", "-C", dir, "-json", module+"@"+strings.TrimSpace(string(version))).Output()
	var found struct{ Dir string }
	if err := errors.Join(err, json.Unmarshal(out, &found)); err != nil || found.Dir == "" {
		t.Fatalf("find the files of %s: %v\n%s", module, err, out)
	}
	return found.Dir
}

func manifests(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, data)
}

func decode(t *testing.T, data []byte) []*unstructured.Unstructured {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	var all []*unstructured.Unstructured
	for {
		obj := &unstructured.Unstructured{}
		err := decoder.Decode(&obj.Object)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(obj.Object) > 0 {
			all = append(all, obj)
		}
	}
}

// create creates an object, whose kind must have a regular plural. The namespace of a cluster-scoped
// object is "".
func create(t *testing.T, namespace string, obj *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	gvk := obj.GroupVersionKind()
	gvr := gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s")
	made, err := plane.Dynamic.Resource(gvr).Namespace(namespace).Create(t.Context(), obj, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// start starts the operator. If the test fails, the end of the operator's log is printed.
func (o *operator) start(t *testing.T) {
	t.Helper()
	var err error
	if o.log == nil {
		if o.log, err = os.Create(filepath.Join(plane.Dir, o.program+".log")); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { o.showLog(t) })
	}
	o.process = exec.Command(o.bin, o.args()...)
	o.process.Env = plane.Environment()
	if o.env != nil {
		o.process.Env = append(o.process.Env, o.env()...)
	}
	o.process.Stdout, o.process.Stderr = o.log, o.log
	if err := o.process.Start(); err != nil {
		t.Fatalf("start %s: %v", o.program, err)
	}
	if o.awake != nil {
		until(t, o.program+" works", func() error { return o.awake(t.Context()) })
	}
}

func (o *operator) stop(t *testing.T) {
	t.Helper()
	if o.process == nil {
		return
	}
	if err := o.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("stop %s: %v", o.program, err)
	}
	kill := time.AfterFunc(20*time.Second, func() { _ = o.process.Process.Kill() })
	_ = o.process.Wait() // the result does not matter
	kill.Stop()
	o.process = nil
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
	if keep := os.Getenv("OPERATORS_LOGS"); keep != "" {
		_ = os.WriteFile(filepath.Join(keep, filepath.Base(o.log.Name())), text, 0o600)
	}
	if len(text) > 8000 {
		text = text[len(text)-8000:]
	}
	t.Logf("the end of the log of %s:\n%s", o.program, text)
}

// until waits until holds() returns nil. On a timeout, it fails the test.
func until(t *testing.T, what string, holds func() error) {
	t.Helper()
	late := time.After(harness.Timeout)
	for {
		err := holds()
		if err == nil {
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-late:
			t.Fatalf("%s: not within %s: %v", what, harness.Timeout, err)
		case <-t.Context().Done():
			t.Fatalf("%s: the test is over", what)
		}
	}
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
