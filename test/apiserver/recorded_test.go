package apiserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// moment is the state of one object at one time: a line of a recording from a real node.
type moment struct {
	At     time.Time      `json:"at"`
	Gone   bool           `json:"gone"`
	Fields map[string]any `json:"object"`
}

// readRecording returns the moments of a recording, with all times shifted so that the recording starts now.
func readRecording(t *testing.T, file string) []moment {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	shift := time.Duration(0)
	text = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[\d:.]+Z"`).ReplaceAllFunc(text, func(quoted []byte) []byte {
		at, err := time.Parse(`"`+time.RFC3339+`"`, string(quoted))
		if err != nil {
			t.Fatal(err)
		}
		if shift == 0 {
			shift = time.Since(at)
		}
		format := time.RFC3339
		if bytes.Contains(quoted, []byte(".")) {
			format = metav1.RFC3339Micro
		}
		return []byte(at.Add(shift).Format(`"` + format + `"`))
	})
	var all []moment
	for line := range bytes.Lines(text) {
		var m moment
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// object returns the object of a moment, with the fields that recordings omit.
func (m moment) object() *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: m.Fields}
	obj.SetAPIVersion("v1")
	if obj.GetKind() == "ImoocPod" {
		obj.SetAPIVersion(kinds.ImoocPod().GroupVersionKind().GroupVersion().String())
	}
	if obj.GetKind() != "Node" {
		obj.SetNamespace(metav1.NamespaceDefault)
	}
	for _, owner := range obj.GetOwnerReferences() {
		obj.SetLabels(map[string]string{apis.LabelOwner: string(owner.UID)})
	}
	return obj
}

// store creates or updates an object, or removes it if gone is true.
func store(s *apiserver.Server, obj *unstructured.Unstructured, gone bool) {
	resource := strings.ToLower(obj.GetKind()) + "s"
	switch namespace, name := obj.GetNamespace(), obj.GetName(); {
	case gone:
		s.Remove(resource, namespace, name)
	case s.Get(resource, namespace, name) == nil:
		s.Create(obj)
	default:
		s.Update(resource, namespace, name, func(before *unstructured.Unstructured) { before.Object = obj.Object })
	}
}

// TestSurfacesAgree replays recordings of real nodes. Whenever a second has passed without changes,
// status of one object, status of all objects, status -w, and wait must report the same verdict.
func TestSurfacesAgree(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../pkg/inspect/status/testdata/real/*.jsonl")
	if err != nil || len(files) < 20 {
		t.Fatalf("found %d recordings, want at least 20; error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) { checkSurfaces(t, readRecording(t, file)) })
		})
	}
}

func checkSurfaces(t *testing.T, moments []moment) {
	t.Helper()
	s := apiserver.New(t)
	s.CreateCRDs()
	if !slices.ContainsFunc(moments, func(m moment) bool { return m.Fields["kind"] == "Node" }) {
		s.CreateYAML("{apiVersion: v1, kind: Node, metadata: {name: real-0}, status: {conditions: [{type: Ready, status: 'True'}]}}")
	}
	watched := watchAll(t, s)
	name := ""
	for i, m := range moments {
		<-time.After(time.Until(m.At))
		obj := m.object()
		if store(s, obj, m.Gone); obj.GetKind() == "ImoocPod" {
			name = obj.GetName()
		}
		if name == "" || i+1 < len(moments) && moments[i+1].At.Sub(m.At) < time.Second {
			continue
		}
		<-time.After(time.Second - time.Millisecond) // status -w prints at most four reports a second
		synctest.Wait()
		compare(t, s, name, watched())
	}
}

// watchAll runs status -w until the test ends. The returned function returns the last report.
func watchAll(t *testing.T, s *apiserver.Server) func() status.Report {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	out, in := io.Pipe()
	var last atomic.Pointer[status.Report]
	go func() {
		for decoder := json.NewDecoder(out); ; {
			var r status.Report
			if decoder.Decode(&r) != nil {
				return
			}
			last.Store(&r)
		}
	}()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command(ctx, s.Connect, "status imoocpods -w -o json", in, io.Discard) // ends when ctx is canceled
		_ = in.Close()
	}()
	t.Cleanup(func() { stop(); <-ended })
	return func() status.Report { return *last.Load() }
}

// compare checks that status and wait report the same verdict for an object as status -w.
func compare(t *testing.T, s *apiserver.Server, name string, want status.Report) {
	t.Helper()
	at := time.Now().Format(time.StampMilli)
	for i, line := range []string{"status imoocpod/" + name + " -o json", "status -o json"} {
		stdout, stderr, err := run(t, s, line)
		var got struct {
			status.Report
			Items []status.Report `json:"items"`
		}
		if err == nil {
			err = json.Unmarshal([]byte(stdout), &got)
		}
		if err != nil || stderr != "" {
			t.Fatalf("%s: got error %v, stderr %q, want none", line, err, stderr)
		}
		if len(got.Items) == 1 {
			got.Report = got.Items[0]
		}
		if got.Verdict != want.Verdict || i > 0 && got.Reason != want.Reason { // status -w does not report a change of only the reason text
			t.Errorf("%s: %q reports %s: %s, want %s: %s", at, line, got.Verdict, got.Reason, want.Verdict, want.Reason)
		}
		want = got.Report
	}
	stdout, _, err := run(t, s, "wait imoocpod/"+name+" --timeout=0 -o json")
	var got status.Report
	if invalid := json.Unmarshal([]byte(stdout), &got); invalid != nil || got.Verdict != want.Verdict {
		t.Errorf("%s: wait reports %s: %s (JSON error %v), want %s: %s", at, got.Verdict, got.Reason, invalid, want.Verdict, want.Reason)
	}
	if (err == nil) != (want.Verdict == status.Ready) || errors.Is(err, outcome.ErrFailed) != (want.Verdict == status.Failed) {
		t.Errorf("%s: wait ended with error %v, which does not match the verdict %s: %s", at, err, want.Verdict, want.Reason)
	}
}
