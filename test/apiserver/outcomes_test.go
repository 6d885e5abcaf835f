package apiserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver/play"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// workload is an object that verbs change.
type workload struct {
	resource, target, manifest string
	// pause is true if the object can be paused.
	pause bool
}

func workloads() []workload {
	const template = "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: 'example.com/old:1'}]}}"
	const apps = "apiVersion: apps/v1, metadata: {name: web}, spec: {replicas: 3, selector: {matchLabels: {app: web}}, "
	return []workload{
		{"deployments", "deployment/web", "{kind: Deployment, " + apps + template + "}}", true},
		{"statefulsets", "statefulset/web", "{kind: StatefulSet, " + apps + "serviceName: web, " + template + "}}", false},
		{"imoocpods", "imoocpod/web", "{kind: ImoocPod, apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, metadata: {name: web}, spec: {replicas: 3, " + template + "}}", true},
		{"widgets", "widget/web", "{kind: Widget, apiVersion: example.com/v1, metadata: {name: web}, spec: {replicas: 3, " + template + "}}", true},
	}
}

// widgets is the CRD of a kind that the program has no code for.
const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}}
    schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, properties: {replicas: {type: integer}, paused: {type: boolean}, template: {type: object, x-kubernetes-preserve-unknown-fields: true}}},
      status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
`

// verb is a command that changes an object.
type verb struct {
	line string
	// first is a command that prepares the object.
	first string
	// creates means that the command creates the object. starts means that the change starts pods.
	// pauses means that the object must support pausing.
	creates, starts, pauses bool
	// alike means that the command changes the template like "set image", so TestOutcomes runs it only for a Deployment.
	alike bool
	// rival simulates another client, which overwrites the field that the command writes.
	rival func(*unstructured.Unstructured)
}

func verbs() []verb {
	count := func(obj *unstructured.Unstructured) { set(obj, int64(7), "spec", "replicas") }
	pause := func(on bool) func(*unstructured.Unstructured) {
		return func(obj *unstructured.Unstructured) {
			if obj.GetKind() == "ImoocPod" {
				set(obj, "2001-01-01T00:00:00Z", "metadata", "annotations", apis.AnnotationPausedUntil)
			} else {
				set(obj, on, "spec", "paused")
			}
		}
	}
	return []verb{
		{line: "create -f FILE", creates: true, starts: true, rival: inContainer("image", "example.com/rival:1")},
		{line: "scale TARGET --replicas 4", starts: true, rival: count},
		{line: "set image TARGET app=example.com/new:1", starts: true, rival: inContainer("image", "example.com/rival:1")},
		{line: "set env TARGET A=b", starts: true, alike: true, rival: inContainer("env", []any{map[string]any{"name": "A", "value": "c"}})},
		{line: "set resources TARGET --limits cpu=1", starts: true, alike: true, rival: inContainer("resources", map[string]any{"limits": map[string]any{"cpu": "2"}})},
		{line: "undo TARGET", first: "set image TARGET app=example.com/new:1", starts: true, rival: inContainer("image", "example.com/rival:1")},
		{line: "restart TARGET", starts: true, rival: func(obj *unstructured.Unstructured) {
			set(obj, "2030-01-01T00:00:00Z", "spec", "template", "metadata", "annotations", apis.AnnotationRestartedAt)
		}},
		{line: "park TARGET", rival: count},
		{line: "unpark TARGET", first: "park TARGET", starts: true, rival: count},
		{line: "pause TARGET --for forever", pauses: true, rival: pause(false)},
		{line: "resume TARGET", first: "pause TARGET --for forever", pauses: true, rival: pause(true)},
	}
}

func set(obj *unstructured.Unstructured, value any, path ...string) {
	if err := unstructured.SetNestedField(obj.Object, value, path...); err != nil {
		panic(err)
	}
}

func inContainer(name string, value any) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		containers, _, _ := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
		container, _ := containers[0].(map[string]any)
		container[name] = value
		set(obj, containers, "spec", "template", "spec", "containers")
	}
}

// scene is a server with an object, and the command that changes the object.
type scene struct {
	*apiserver.Server
	workload
	verb
	interrupt context.CancelFunc
	// before is the object before the command runs, or nil. again is the object that the method replace created.
	before, again *unstructured.Unstructured
}

func (s *scene) object() *unstructured.Unstructured { return s.Get(s.resource, "default", "web") }

func (s *scene) overwrite() { s.As("rival").Update(s.resource, "default", "web", s.rival) }

// beside changes a field that no command writes.
func beside(obj *unstructured.Unstructured) {
	set(obj, "1", "spec", "template", "metadata", "annotations", "example.com/beside")
}

func (s *scene) change() { s.As("rival").Update(s.resource, "default", "web", beside) }

func (s *scene) remove() { s.Remove(s.resource, "default", "web") }

func (s *scene) replace() {
	s.remove()
	s.CreateYAML(s.manifest)
	s.again = s.object()
}

// reset simulates an owner that reverts every change to its object.
func (s *scene) reset() {
	s.OnWrite(func(c apiserver.Change) {
		if c.Resource.Resource != s.resource || c.After == nil || s.before == nil || state(c.After) == state(s.before) {
			return
		}
		s.As("rival").Update(s.resource, "default", "web", func(obj *unstructured.Unstructured) {
			obj.Object["spec"] = s.before.DeepCopy().Object["spec"]
			obj.SetAnnotations(s.before.GetAnnotations())
		})
	})
}

func (s *scene) writes(r apiserver.Request) bool {
	return r.Resource == s.resource && apiserver.Writes(r)
}

// atRevert calls f immediately before the revert, the second write of the command.
func (s *scene) atRevert(f func()) {
	writes := 0
	s.Fail(s.writes, apiserver.Fault{Before: func() {
		if writes++; writes == 2 {
			f()
		}
	}})
}

func later(d time.Duration, f func(*scene)) func(*scene) {
	return func(s *scene) { s.After(d, func() { f(s) }) }
}

// left is the expected final state of an object.
type left int

const (
	itsChange left = iota
	itsChangeAndMore
	asBefore
	asBeforeAndMore
	theRivals
	nothing
	aNewObject
)

// ending is an event that happens while a command runs, and the expected result.
type ending struct {
	what, flags string
	// fate is passed to play.SetFate before the command starts.
	fate    string
	happens func(*scene)
	want    error
	// says is part of the last line of the error.
	says string
	left left
	// of selects the verbs and workloads for this ending; nil selects all.
	of func(verb, workload) bool
}

func endings() []ending {
	const soon = 500 * time.Millisecond
	const slow = "slow:20s" // the pods become ready after the event
	const revert = "--on-failure=revert"
	starts := func(v verb, _ workload) bool { return v.starts }
	exists := func(v verb, _ workload) bool { return !v.creates }
	return []ending{
		{what: "ready", left: itsChange},
		{what: "failed", flags: "--fail-after 5s", fate: "pull", want: outcome.ErrFailed, says: "cannot pull its image", left: itsChange, of: starts},
		{what: "timed out", fate: "never", want: outcome.ErrTimeout, says: "last seen: ", left: itsChange, of: starts},
		{what: "not reconciled", fate: play.Away, want: outcome.ErrTimeout, says: "last seen: ", left: itsChange},
		{what: "replaced before the rollout", fate: slow, happens: func(s *scene) {
			s.OnWrite(func(c apiserver.Change) {
				if c.Resource.Resource == s.resource && state(c.After) != state(s.before) {
					s.overwrite()
				}
			})
		}, want: outcome.ErrOverwritten, says: `the field manager "rival"`, left: theRivals},
		{what: "replaced during the rollout", fate: slow, happens: later(soon, (*scene).overwrite), want: outcome.ErrOverwritten, says: `the field manager "rival"`, left: theRivals},
		{what: "replaced after the rollout", happens: later(15*time.Second, (*scene).overwrite), want: outcome.ErrOverwritten, says: `the field manager "rival"`, left: theRivals},
		{what: "reset by its owner", happens: (*scene).reset, want: outcome.ErrOverwritten, left: asBefore, of: exists},
		{what: "reset by its owner with a revert", flags: revert, fate: "never", happens: (*scene).reset, want: outcome.ErrOverwritten, left: asBefore, of: exists},
		{what: "another field changed", happens: later(soon, (*scene).change), left: itsChangeAndMore},
		{what: "deleted", fate: slow, happens: later(soon, (*scene).remove), want: outcome.ErrGone, says: "was deleted", left: nothing},
		{what: "deleted and created again", fate: slow, happens: later(soon, (*scene).replace), want: outcome.ErrGone, says: "was deleted", left: aNewObject},
		{what: "Ctrl-C", flags: revert, fate: slow, happens: later(soon, func(s *scene) { s.interrupt() }), want: outcome.ErrInterrupted, says: "stays", left: itsChange},
		{what: "Ctrl-C during the write", happens: func(s *scene) {
			s.OnWrite(func(c apiserver.Change) {
				if c.Resource.Resource == s.resource && state(c.After) != state(s.before) {
					s.interrupt()
				}
			})
		}, want: outcome.ErrInterrupted, says: "stays", left: itsChange},
		{what: "Ctrl-C during a conflict", happens: func(s *scene) {
			s.Fail(s.writes, apiserver.Fault{Times: 1, Before: func() {
				s.change()
				s.interrupt()
			}})
		}, want: context.Canceled, left: asBeforeAndMore, of: func(v verb, _ workload) bool { return !v.creates && !strings.HasPrefix(v.line, "scale") }},
		{what: "no response to the write", happens: func(s *scene) { s.Fail(s.writes, apiserver.Fault{DropAfter: true, Times: 1}) }, want: outcome.ErrUnknown, says: "which the server may have carried out", left: itsChange},
		{what: "no connection for a while", happens: later(soon, func(s *scene) {
			s.EndWatches("", nil)
			s.After(10*time.Second, s.Fail(apiserver.Path("/"), apiserver.Fault{Drop: true}))
		}), left: itsChange},
		{what: "failed and reverted", flags: "--fail-after 5s " + revert, fate: "pull", want: outcome.ErrUndone, says: "undone: ", left: asBefore, of: starts},
		{what: "timed out and reverted", flags: revert, fate: "never", want: outcome.ErrUndone, says: "undone: ", left: asBefore, of: starts},
		{what: "not reconciled and reverted", flags: revert, fate: play.Away, want: outcome.ErrUndone, says: "undone: ", left: asBefore},
		{what: "replaced before the revert", flags: revert, fate: play.Away, happens: func(s *scene) { s.atRevert(s.overwrite) }, want: outcome.ErrOverwritten, says: `the field manager "rival"`, left: theRivals},
		{what: "another field changed before the revert", flags: revert, fate: play.Away, happens: func(s *scene) { s.atRevert(s.change) }, want: outcome.ErrUndone, says: "undone: ", left: asBeforeAndMore},
		{what: "created again before the revert", flags: revert, fate: play.Away, happens: func(s *scene) { s.atRevert(s.replace) }, want: outcome.ErrTimeout, says: "was not undone: ", left: aNewObject},
	}
}

// TestOutcomes runs each command with each ending that applies, and checks the error and the final object. After a
// command succeeds, the pods must run the requested containers.
func TestOutcomes(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // cobra retains the commands, which makes garbage collection slow
	for _, w := range workloads() {
		for _, v := range verbs() {
			if v.pauses && !w.pause || v.alike && w.resource != "deployments" {
				continue
			}
			// changed is the object with the command's change, as the first ending leaves it.
			var changed *unstructured.Unstructured
			for _, e := range endings() {
				if e.of != nil && !e.of(v, w) {
					continue
				}
				t.Run(strings.Join([]string{w.resource, v.line, e.what}, "/"), func(t *testing.T) {
					bubble.Test(t, func(t *testing.T) {
						s, err := perform(t, w, v, e)
						if changed == nil {
							changed = s.object()
						}
						if !errors.Is(err, e.want) || err != nil && e.want == nil {
							t.Errorf("got error %v, want %v", err, e.want)
						}
						if err != nil && !strings.Contains(lastLine(err), e.says) {
							t.Errorf("last line of the error = %q, want %q", lastLine(err), e.says)
						}
						if got, want := state(s.object()), state(s.left(e.left, changed)); got != want {
							t.Errorf("object after the command = %s, want %s", got, want)
						}
						if err == nil {
							s.mustRun(t)
						}
					})
				})
			}
		}
	}
}

func (s *scene) left(what left, changed *unstructured.Unstructured) *unstructured.Unstructured {
	obj := changed.DeepCopy()
	switch what {
	case itsChangeAndMore:
		beside(obj)
	case theRivals:
		s.rival(obj)
	case asBefore:
		return s.before
	case asBeforeAndMore:
		if obj = s.before.DeepCopy(); obj != nil {
			beside(obj)
		}
	case nothing:
		return nil
	case aNewObject:
		return s.again
	}
	return obj
}

// perform runs the command of v. The event of e happens during the run.
func perform(t *testing.T, w workload, v verb, e ending) (*scene, error) {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	s := &scene{Server: apiserver.New(t), workload: w, verb: v, interrupt: interrupt}
	play.Cluster(s.Server)
	switch w.resource {
	case "imoocpods":
		s.CreateCRDs()
		play.Operator(s.Server, "imoocpods", "ImoocPod")
	case "widgets":
		s.CreateYAML(widgets)
		play.Operator(s.Server, "widgets", "Widget")
	}
	line := v.prepare(t, s.Server, w)
	s.before = s.object()
	play.SetFate(s.Server, e.fate)
	if e.happens != nil {
		e.happens(s)
	}
	return s, command(ctx, s.Connect, line+" --timeout 2m --settle 20s "+e.flags, io.Discard, io.Discard)
}

// prepare creates the object that the command of v changes, runs v.first, and returns the command.
func (v verb) prepare(t *testing.T, s *apiserver.Server, w workload) (line string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "object.yaml")
	if err := os.WriteFile(file, []byte(w.manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	words := strings.NewReplacer("TARGET", w.target, "FILE", file)
	if !v.creates {
		s.CreateYAML(w.manifest)
		<-time.After(time.Minute)
	}
	if v.first != "" {
		if _, stderr, err := run(t, s, words.Replace(v.first)); err != nil {
			t.Fatal(err, stderr)
		}
		<-time.After(time.Minute)
	}
	return words.Replace(v.line)
}

// state returns the fields that verbs change, as text.
func state(obj *unstructured.Unstructured) string {
	if obj == nil {
		return "nothing"
	}
	fields := []any{obj.Object["spec"]}
	for _, name := range []string{apis.AnnotationPausedUntil, apis.AnnotationParked} {
		fields = append(fields, obj.GetAnnotations()[name])
	}
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func lastLine(err error) string {
	return err.Error()[strings.LastIndex(err.Error(), "\n")+1:]
}

// mustRun fails the test unless the requested number of pods run the requested containers. For
// pause and resume, it does nothing, because the pods may have an older template.
func (s *scene) mustRun(t *testing.T) {
	t.Helper()
	if s.pauses {
		return
	}
	spec, _, _ := unstructured.NestedMap(s.object().Object, "spec")
	want, _, _ := unstructured.NestedSlice(spec, "template", "spec", "containers")
	var n int64
	for _, pod := range s.List("pods", "default") {
		if pod.GetDeletionTimestamp() != nil {
			continue
		}
		n++
		if containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers"); !reflect.DeepEqual(containers, want) {
			t.Errorf("%s runs %v, want %v", pod.GetName(), containers, want)
		}
	}
	if n != spec["replicas"] {
		t.Errorf("got %d pods, want %v", n, spec["replicas"])
	}
}
