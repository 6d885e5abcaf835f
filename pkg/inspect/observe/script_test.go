package observe

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe/feeds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
	"github.com/imoocpod/kubectl-imoocpod/test/rows"
)

// script lists the writes of an operator and its users to one object, and the expected verdicts.
type script struct {
	Name string
	// Schema contains the types of the fields, such as {spec: {replicas: integer}}.
	Schema map[string]any
	// Count is the path of the replica field, or "" if it is unknown.
	Count string
	Steps []step
}

// step is a write, and the expected verdict after the write.
type step struct {
	// At is the time since the start of the script.
	At metav1.Duration
	// Write maps names to contents. A user writes "spec" and "count", and the operator writes "status". Any other
	// name is the kind and the name of a pod or a job, such as Pod/web-0. The content null removes this object. In any
	// other content, "of" names the controller, and "is" names the state of a pod.
	Write json.RawMessage
	// Want is the verdict, optionally followed by a colon and the code of the reason. Wait is the verdict in a wait
	// that has seen all steps, or "" if it equals Want.
	Want, Wait string
}

// TestOperators checks the operators for which verdict rules were added. Each script in testdata/operators.yaml
// represents a class of operators.
func TestOperators(t *testing.T) {
	t.Parallel()
	rows.Run(t, "testdata/operators.yaml", time.Time{}, func(t *testing.T, s script) { s.run(t) })
}

// world is a server with one object, a Lamp.
type world struct {
	*server

	t      *testing.T
	target Target
}

// run performs the steps of a script. After each step, it checks the verdict of a new read, and the
// verdict in a wait that has seen all steps so far.
func (s script) run(t *testing.T) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, s)
		from := feeds.New(t.Context(), w.clients(), nil, false)
		defer from.Stop()
		m := newModel(from, w.target, Extent{Depth: Below})
		begun := time.Now()
		for _, step := range s.Steps {
			pass(time.Until(begun.Add(step.At.Duration)))
			writes := parse(t, string(step.Write)).Object
			w.write(writes)
			synctest.Wait()
			snapshot, now, err := Read(t.Context(), w.clients(), w.target, Extent{Depth: Below})
			if err != nil {
				t.Fatal(err)
			}
			once := status.NewReport(snapshot)
			m.history.counted = writes["count"] != nil || m.history.counted
			_, wait, err := m.look(t.Context(), now.Object)
			if err != nil {
				t.Fatal(err)
			}
			is := func(r status.Report, want string) bool {
				verdict, code, named := strings.Cut(want, ": ")
				return string(r.Verdict) == verdict && (!named || string(r.ReasonCode) == code)
			}
			if !is(once, step.Want) {
				t.Errorf("after %s: verdict of a read = %s (%s): %s, want %s", step.At.Duration, once.Verdict, once.ReasonCode, once.Reason, step.Want)
			}
			if want := cmp.Or(step.Wait, step.Want); !is(wait, want) {
				t.Errorf("after %s: verdict of a wait = %s (%s): %s, want %s", step.At.Duration, wait.Verdict, wait.ReasonCode, wait.Reason, want)
			}
		}
	})
}

func newWorld(t *testing.T, s script) *world {
	t.Helper()
	w := &world{server: newServer(t), t: t, target: Target{Kind: kindOf("example.com/v1", "Lamp"), Namespace: "ns", Name: "it"}}
	crd := crdOf(t, "Lamp", "", "{status: {}}")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	fieldpath.Objects(any(versions))[0]["schema"] = map[string]any{"openAPIV3Schema": schemaOf(s.Schema)}
	w.Create(set(t, crd, any(versions), "spec", "versions"))
	if s.Count != "" {
		path, err := fieldpath.ParsePath(s.Count)
		if err != nil {
			t.Fatal(err)
		}
		w.target.Path = &path
	}
	return w
}

// schemaOf returns the OpenAPI schema for a map from field names to types. The schema allows other fields, too.
func schemaOf(value any) map[string]any {
	switch value := value.(type) {
	case map[string]any:
		properties := map[string]any{}
		for name, v := range value {
			properties[name] = schemaOf(v)
		}
		return map[string]any{"type": "object", "properties": properties, "x-kubernetes-preserve-unknown-fields": true}
	case []any:
		return map[string]any{"type": "array", "items": schemaOf(value[0])}
	}
	return map[string]any{"type": value}
}

// write performs the writes of a step. It writes the Lamp with the field manager of the user or the operator.
func (w *world) write(all map[string]any) {
	w.t.Helper()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		switch value := all[key]; {
		case key == "spec" && w.Get("lamps", "ns", "it") == nil:
			lamp := parse(w.t, "{apiVersion: example.com/v1, kind: Lamp, metadata: {name: it, namespace: ns, uid: it}}")
			lamp.Object["spec"] = value
			w.As("kubectl").Create(lamp)
		case key == "spec", key == "status":
			who := map[string]string{"spec": "kubectl", "status": "operator"}[key]
			w.As(who).Update("lamps", "ns", "it", func(lamp *unstructured.Unstructured) { lamp.Object[key] = value })
		case key == "count":
			n, _ := fieldpath.Integer(value)
			w.As("kubectl-imoocpod").Update("lamps", "ns", "it", func(lamp *unstructured.Unstructured) {
				if err := (fieldpath.Edit{Path: *w.target.Path, Value: n}).Apply(lamp.Object); err != nil {
					w.t.Error(err)
				}
			})
		default:
			kind, name, _ := strings.Cut(key, "/")
			content, _ := value.(map[string]any)
			w.child(kind, name, content)
		}
	}
}

// child writes a pod or a job, or removes it if content is nil.
func (w *world) child(kind, name string, content map[string]any) {
	w.t.Helper()
	resource, version := strings.ToLower(kind), map[string]string{"Pod": "v1", "Job": "batch/v1"}[kind]
	if content == nil {
		w.Remove(resource, "ns", name)
		return
	}
	obj := w.Get(resource, "ns", name)
	if obj == nil {
		obj = parse(w.t, "{apiVersion: "+version+", kind: "+kind+", metadata: {name: "+name+", namespace: ns, uid: "+name+"}}")
		obj.SetCreationTimestamp(metav1.NewTime(time.Now()))
	}
	if of, named := content["of"].(string); named {
		owner := metav1.OwnerReference{UID: types.UID(of), Controller: new(true), Kind: "Lamp", APIVersion: "example.com/v1", Name: of}
		if job, is := strings.CutPrefix(of, "Job/"); is {
			owner.UID, owner.Kind, owner.APIVersion, owner.Name = types.UID(job), "Job", "batch/v1", job
		}
		obj.SetOwnerReferences([]metav1.OwnerReference{owner})
		if of == "" {
			obj.SetOwnerReferences(nil)
		}
	}
	if labels, is := content["labels"]; is {
		set(w.t, obj, labels, "metadata", "labels")
	}
	for _, part := range []string{"spec", "status"} {
		if fields, is := content[part]; is {
			obj.Object[part] = fields
		}
	}
	if is, named := content["is"].(string); named {
		w.pod(obj, is)
	}
	w.put(obj)
}

// pod sets the spec and the status of a pod to a state, such as "ready".
func (w *world) pod(obj *unstructured.Unstructured, is string) {
	w.t.Helper()
	obj.Object["spec"] = map[string]any{"containers": []any{map[string]any{"name": "main", "image": "example.com/app:1"}}}
	container := map[string]any{"name": "main", "ready": false, "image": "example.com/app:1", "state": map[string]any{"waiting": map[string]any{"reason": "ContainerCreating"}}}
	phase, ready := "Pending", "False"
	switch is {
	case "ready":
		phase, ready = "Running", "True"
		container["ready"], container["state"] = true, map[string]any{"running": map[string]any{"startedAt": time.Now().Format(time.RFC3339)}}
	case "starting":
	case "crashing":
		phase = "Running"
		container["restartCount"], container["state"] = int64(3), map[string]any{"waiting": map[string]any{"reason": "CrashLoopBackOff"}}
	case "failed", "succeeded":
		phase = strings.ToUpper(is[:1]) + is[1:]
		container["state"] = map[string]any{"terminated": map[string]any{"exitCode": int64(1), "reason": "Error"}}
	default:
		w.t.Fatalf("unknown pod state %q", is)
	}
	obj.Object["status"] = map[string]any{"phase": phase, "containerStatuses": []any{container}, "conditions": []any{map[string]any{"type": "Ready", "status": ready}}}
}
