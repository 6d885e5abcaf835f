package observe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	smd "sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
)

// script lists what an operator and its users write to one object of a kind, and the verdicts.
type script struct {
	// schema has the types of the fields, such as {spec: {replicas: integer}}.
	schema string
	// count is the path of the replica field; "" if it is unknown.
	count string
	steps []step
}

// step is a write at a second of the script, and the verdict after the write.
type step struct {
	second int
	// writes are YAML. A user writes "spec" and "count", and the operator writes "status". Other
	// keys are objects, such as Set/web and Pod/web-0; null removes an object. In an object, "of"
	// is its controller, and "is" is the state of a pod.
	writes string
	// want is the verdict, optionally followed by a colon and the code of the reason.
	want string
	// wait is the verdict in a wait that has seen all steps; "" if it is the same as want.
	wait string
}

// world has the objects of a script.
type world struct {
	t      *testing.T
	now    time.Time
	target *unstructured.Unstructured
	below  map[string]*unstructured.Unstructured
	count  *fieldpath.Path
	source kinds.Source
	kind   kinds.Kind
}

// run performs the steps of a script. After each step, it checks the verdict of a command that has
// just started, and of a command that waits for the count.
func (s script) run(t *testing.T) {
	w := newWorld(t, s)
	h := history{}
	for _, step := range s.steps {
		w.now = time.Date(2026, 1, 2, 3, 4, step.second, 0, time.UTC)
		w.write(step.writes)
		once := status.NewReport(w.snapshot(nil))
		e := w.snapshot(h.pods)
		h.counted = strings.Contains(step.writes, "count:") || h.counted
		h.add(&e)
		wait := status.NewReport(e)
		is := func(r status.Report, want string) bool {
			verdict, code, named := strings.Cut(want, ": ")
			return string(r.Verdict) == verdict && (!named || string(r.ReasonCode) == code)
		}
		if !is(once, step.want) {
			t.Errorf("after %d s, it is %s (%s): %s, want %s", step.second, once.Verdict, once.ReasonCode, once.Reason, step.want)
		}
		if want := cmp.Or(step.wait, step.want); !is(wait, want) {
			t.Errorf("after %d s, a wait finds %s (%s): %s, want %s", step.second, wait.Verdict, wait.ReasonCode, wait.Reason, want)
		}
	}
}

func newWorld(t *testing.T, s script) *world {
	t.Helper()
	w := &world{t: t, below: map[string]*unstructured.Unstructured{}}
	w.kind = kinds.Kind{Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "lamps"}, Kind: "Lamp", Singular: "lamp"}
	w.target = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Lamp", "metadata": map[string]any{"name": "it", "namespace": "default", "uid": "it"}}}
	w.source = kinds.Source{StatusServed: true}
	if s.schema != "" {
		w.source.Schema = schemaOf(w.parse(s.schema))
	}
	if s.count != "" {
		path, err := fieldpath.ParsePath(s.count)
		if err != nil {
			t.Fatal(err)
		}
		w.count = &path
	}
	return w
}

func (w *world) parse(text string) map[string]any {
	w.t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	var obj unstructured.Unstructured
	if err == nil {
		err = json.Unmarshal([]byte(`{"apiVersion":"v1","kind":"Any","in":`+string(data)+`}`), &obj)
	}
	content, _ := obj.Object["in"].(map[string]any)
	if err != nil || content == nil {
		w.t.Fatalf("%v: %s", err, text)
	}
	return content
}

// schemaOf returns the OpenAPI schema of fields that are given with their types.
func schemaOf(value any) map[string]any {
	switch value := value.(type) {
	case map[string]any:
		properties := map[string]any{}
		for name, v := range value {
			properties[name] = schemaOf(v)
		}
		return map[string]any{"type": "object", "properties": properties}
	case []any:
		return map[string]any{"type": "array", "items": schemaOf(value[0])}
	}
	return map[string]any{"type": value}
}

// write writes objects and, like the server, records who wrote them.
func (w *world) write(text string) {
	w.t.Helper()
	all := w.parse(text)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		value := all[key]
		switch content, _ := value.(map[string]any); {
		case key == "spec":
			w.target.Object["spec"] = content
			w.changed("kubectl", content)
		case key == "count":
			n, _ := fieldpath.Integer(value)
			w.setCount(n)
		case key == "status":
			w.target.Object["status"] = content
			w.target.SetManagedFields(wrote(w.target.GetManagedFields(), "operator", "status", w.now, map[string]any{"status": content}))
		case value == nil:
			delete(w.below, key)
		default:
			w.child(key, content)
		}
	}
}

// changed records a change of the spec by a user.
func (w *world) changed(manager string, spec map[string]any) {
	w.target.SetGeneration(w.target.GetGeneration() + 1)
	if w.target.GetGeneration() == 1 {
		w.target.SetCreationTimestamp(metav1.NewTime(w.now))
	}
	w.target.SetManagedFields(wrote(w.target.GetManagedFields(), manager, "", w.now, map[string]any{"spec": spec}))
}

// setCount changes the count and nothing else.
func (w *world) setCount(n int64) {
	w.t.Helper()
	if err := (fieldpath.Edit{Path: *w.count, Value: n}).Apply(w.target.Object); err != nil {
		w.t.Fatal(err)
	}
	var at any = int64(0)
	for _, s := range slices.Backward(w.count.Steps) {
		if s.Kind == fieldpath.Field {
			at = map[string]any{s.Name: at}
		} else {
			at = int64(0) // the whole list is one field
		}
	}
	fields, _ := at.(map[string]any)
	w.changed("kubectl-imoocpod", fieldpath.Object(fields, "spec"))
}

// wrote returns managed fields with the record of one more write.
func wrote(all []metav1.ManagedFieldsEntry, manager, subresource string, at time.Time, content map[string]any) []metav1.ManagedFieldsEntry {
	var set smd.Set
	var add func(smd.Path, any)
	add = func(path smd.Path, value any) {
		content, is := value.(map[string]any)
		if !is || len(content) == 0 {
			set.Insert(path)
			return
		}
		for name, v := range content {
			add(append(path.Copy(), smd.FieldNameElement(name)), v)
		}
	}
	add(nil, content)
	raw, _ := set.ToJSON()
	all = slices.DeleteFunc(all, func(m metav1.ManagedFieldsEntry) bool { return m.Manager == manager && m.Subresource == subresource })
	return append(all, metav1.ManagedFieldsEntry{
		Manager: manager, Operation: "Update", Subresource: subresource, FieldsType: "FieldsV1",
		Time: new(metav1.NewTime(at)), FieldsV1: metav1.NewFieldsV1(string(raw)),
	})
}

// child writes an object below the target.
func (w *world) child(key string, content map[string]any) {
	w.t.Helper()
	kind, name, _ := strings.Cut(key, "/")
	version := map[string]string{"Pod": "v1", "Job": "batch/v1", "Set": "example.com/v1"}[kind]
	obj := w.below[key]
	if obj == nil {
		obj = &unstructured.Unstructured{Object: map[string]any{"apiVersion": cmp.Or(version, "apps/v1"), "kind": kind, "metadata": map[string]any{"name": name, "namespace": "default", "uid": key}}}
		obj.SetCreationTimestamp(metav1.NewTime(w.now))
		w.below[key] = obj
	}
	if of, named := content["of"].(string); named {
		owner := metav1.OwnerReference{UID: types.UID(of), Controller: new(true), Kind: "Lamp", APIVersion: "example.com/v1", Name: of}
		owners := []metav1.OwnerReference{owner}
		if of == "" {
			owners = nil
		}
		obj.SetOwnerReferences(owners)
	}
	if labels, is := content["labels"].(map[string]any); is {
		_ = unstructured.SetNestedMap(obj.Object, labels, "metadata", "labels")
	}
	for _, part := range []string{"spec", "status"} {
		fields, is := content[part].(map[string]any)
		if !is {
			continue
		}
		obj.Object[part] = fields
		subresource := ""
		if part == "status" {
			subresource = "status"
		} else {
			obj.SetGeneration(obj.GetGeneration() + 1)
		}
		obj.SetManagedFields(wrote(obj.GetManagedFields(), "operator", subresource, w.now, map[string]any{part: fields}))
	}
	if is, named := content["is"].(string); named {
		w.pod(obj, is)
	}
}

// pod sets the spec and the status of a pod so that the pod is in a state, such as "ready".
func (w *world) pod(obj *unstructured.Unstructured, is string) {
	w.t.Helper()
	obj.Object["spec"] = map[string]any{"containers": []any{map[string]any{"name": "main", "image": "example.com/app:1"}}}
	container := map[string]any{"name": "main", "ready": false, "image": "example.com/app:1", "state": map[string]any{"waiting": map[string]any{"reason": "ContainerCreating"}}}
	phase, ready := "Pending", "False"
	switch is {
	case "ready":
		phase, ready = "Running", "True"
		container["ready"], container["state"] = true, map[string]any{"running": map[string]any{"startedAt": w.now.Format(time.RFC3339)}}
	case "starting":
	case "crashing":
		phase = "Running"
		container["restartCount"], container["state"] = int64(3), map[string]any{"waiting": map[string]any{"reason": "CrashLoopBackOff"}}
	case "failed", "succeeded":
		phase = strings.ToUpper(is[:1]) + is[1:]
		container["state"] = map[string]any{"terminated": map[string]any{"exitCode": int64(1), "reason": "Error"}}
	case "ending":
		phase, ready = "Running", "True"
		obj.SetDeletionTimestamp(new(metav1.NewTime(w.now)))
	default:
		w.t.Fatalf("a pod cannot be %s", is)
	}
	obj.Object["status"] = map[string]any{"phase": phase, "containerStatuses": []any{container}, "conditions": []any{map[string]any{"type": "Ready", "status": ready}}}
}

// snapshot returns the snapshot that a look at the objects would return. owned holds the pods that
// the target owned at earlier looks.
func (w *world) snapshot(owned map[types.UID]bool) status.Snapshot {
	w.t.Helper()
	known, err := facts.New(w.kind, w.source, w.count)
	if err != nil {
		w.t.Fatal(err)
	}
	o, err := facts.Read(w.kind, w.target, known)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(known.Desired) == 0 && w.count != nil {
		n, found, err := w.count.Get(w.target.Object)
		if err != nil {
			w.t.Fatal(err)
		}
		o.Desired, o.NoCount = facts.Pods(n), !found
	} else if len(known.Desired) == 0 {
		o.NoCount, o.Total = true, candidates.Total(candidates.Fields(w.source.Schema, w.target.Object))
	}
	known.Settle(&o, w.target, w.count)
	e := status.Snapshot{Object: o, Pods: problem.Pods{}, Now: w.now}
	for _, key := range slices.Sorted(maps.Keys(w.below)) {
		obj := w.below[key].DeepCopy()
		if !strings.HasPrefix(key, "Pod/") {
			e.Children = append(e.Children, facts.Child(obj))
			continue
		}
		var pod corev1.Pod
		data, err := json.Marshal(obj.Object)
		if err == nil {
			err = json.Unmarshal(data, &pod)
		}
		if err != nil {
			w.t.Fatal(fmt.Errorf("%s: %w", key, err))
		}
		if len(pod.OwnerReferences) > 0 || owned[pod.UID] {
			e.Pods = append(e.Pods, problem.NewPod(&pod))
		}
	}
	return e
}
