package revision

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/test/objects"
	"github.com/imoocpod/kubectl-imoocpod/test/rows"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: objects.Parse(t, text)}
}

func TestRead(t *testing.T) {
	t.Parallel()
	type row struct {
		Name         string
		Object, Want objects.Content
		Paths        []string
		Error        string
	}
	rows.Run(t, "testdata/read.yaml", time.Time{}, func(t *testing.T, row row) {
		var declared []Field
		for _, word := range row.Paths {
			path, err := fieldpath.ParseSteps(word)
			if err != nil {
				t.Fatal(err)
			}
			declared = append(declared, Field{Path: path})
		}
		r, err := Read(&unstructured.Unstructured{Object: row.Object}, declared)
		if row.Error != "" {
			if err == nil || !strings.Contains(err.Error(), row.Error) {
				t.Errorf("error %v, want %q", err, row.Error)
			}
			return
		}
		if err != nil || r.Number != 3 || !reflect.DeepEqual(Object(r.Fields), map[string]any(row.Want)) {
			t.Errorf("revision %d with the fields %v, error %v; want revision 3 with %v", r.Number, Object(r.Fields), err, row.Want)
		}
	})
}

func TestMade(t *testing.T) {
	t.Parallel()
	r := Revision{Name: "web-5d4f", labels: map[string]string{labelDeployment: "a", labelController: "b"}}
	for _, row := range []struct {
		labels map[string]string
		want   bool
	}{
		{nil, false},
		{map[string]string{labelDeployment: "a"}, true},
		{map[string]string{labelDeployment: "c"}, false},
		{map[string]string{labelRollout: "a"}, false},
		{map[string]string{labelController: "b"}, true},
		{map[string]string{labelController: "web-5d4f"}, true},
		{map[string]string{labelController: "5d4f"}, true},
		{map[string]string{labelController: "4f"}, false},
	} {
		if got := r.Made(row.labels); got != row.want {
			t.Errorf("Made(%v) = %t, want %t", row.labels, got, row.want)
		}
	}
}

func fieldsOf(t *testing.T, text string) []Field {
	t.Helper()
	var fields []Field
	for _, name := range []string{"template", "image", "env", "command", "kubectl.kubernetes.io/restartedAt"} {
		fields = append(fields, Field{Path: fieldpath.Fields(name)})
	}
	fields, err := FieldsAt(objects.Parse(t, text), fields)
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

func TestChange(t *testing.T) {
	t.Parallel()
	of := func(container string) string {
		return "template: {spec: {containers: [{name: app, " + container + "}]}}"
	}
	const side = "{name: side, image: s:1}"
	for _, row := range []struct{ from, to, want string }{
		{of("image: a:1"), of("image: a:1"), ""},
		{of("image: a:1"), of("image: a:2"), "image a:1 → a:2"},
		{of("image: a:1}, " + side + ", {name: x"), of("image: a:2}, " + side + ", {name: x"), "app image a:1 → a:2"},
		{of("image: a:1"), of("image: a:1}, " + side[:len(side)-1]), "container side added"},
		{of("image: a:1}, " + side[:len(side)-1]), of("image: a:1"), "container side removed"},
		{of("env: [{name: A, value: '1'}]"), of("env: [{name: A, value: '2'}, {name: B, value: x}]"), "env A 1 → 2, env B=x added"},
		{of("env: [{name: A, value: '1'}]"), of("image: x"), "image set to x, env A removed"},
		{of("env: [{name: A, value: '1'}]"), of("env: [{name: A, valueFrom: {fieldRef: {fieldPath: x}}}]"), "env A changed"},
		{of("env: [{name: A}]"), of("env: [{name: A}, {name: B}]"), "env B= added"},
		{of("env: [{name: A}]"), of("env: [{name: A, value: x}]"), `env A "" → x`},
		{of("env: [{name: A}, {name: B}]"), of("env: [{name: B}, {name: A}]"), "env reordered"},
		{of("resources: {requests: {cpu: '1'}}"), of("resources: {requests: {cpu: 1000m}}"), ""},
		{of("resources: {requests: {cpu: '1'}}"), of("resources: {requests: {cpu: '2'}}"), "cpu request 1 → 2"},
		{of("resources: {limits: {cpu: 200m, memory: 1Gi}}"), of("resources: {requests: {cpu: 50m}, limits: {cpu: 50m}, claims: [{name: x}]}"),
			"cpu request set to 50m, cpu limit 200m → 50m, memory limit removed, claims changed"},
		{of("command: [a]"), of("command: [b], args: [c]"), "args changed, command changed"},
		{of("image: a"), of("image: b, resources: {}"), "image a → b"},
		{"template: {metadata: {annotations: {kubectl.kubernetes.io/restartedAt: a}}, spec: {}}", "template: {metadata: {annotations: {kubectl.kubernetes.io/restartedAt: b}}, spec: {}}", "restarted"},
		{"template: {metadata: {labels: {a: b}}, spec: {}}", "template: {metadata: {annotations: {x: z}}, spec: {nodeName: n}}", "nodeName changed, annotation x set to z, label a removed"},
		{"template: {size: 1}", "template: {size: 2, other: 3}", "other changed, size changed"},
		{"image: a", "image: b", "image a → b"},
		{"{}", "image: b", "image set to b"},
		{"image: b", "{}", "image removed"},
		{"env: [{name: A, value: x}]", "{}", "env A removed"},
		{"command: [a]", "command: [b]", "command changed"},
		{"image: a", "{image: a, kubectl.kubernetes.io/restartedAt: now}", "restarted"},
		{"template: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1}", "template: {}", "a changed, b changed, c changed, d changed, and 2 more"},
	} {
		if got := Change(fieldsOf(t, row.from), fieldsOf(t, row.to)); got != row.want {
			t.Errorf("from %s to %s: %q, want %q", row.from, row.to, got, row.want)
		}
	}
	if got := Summary(fieldsOf(t, of("image: a:1}, "+side[:len(side)-1]))); got != "image a:1, image s:1" {
		t.Errorf("summary of the images = %q", got)
	}
	if got := Change(fieldsOf(t, "image: a"), fieldsOf(t, "image: "+strings.Repeat("b", 200))); len([]rune(got)) > 140 {
		t.Errorf("a long image is not shortened: %q", got)
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	image := func(number int64, image, by, cause string) Revision {
		return Revision{Number: number, By: by, Cause: cause, Fields: []Field{{Path: fieldpath.Fields("spec", "image"), Value: image}}}
	}
	made := func(r Revision, second int64, earlier ...string) Revision {
		r.first, r.earlier = time.Unix(second, 0), earlier
		return r
	}
	for _, test := range []struct {
		what           string
		revisions      []Revision
		now, by, cause string   // of the object
		want           []string // the author and the change of each revision
		current        int
		before         int64 // the number of the newest revision that is not current, or 0
	}{
		{"the object returned to revision 1, which has a new number and its old annotations",
			[]Revision{image(4, "a", "ann", "first"), image(2, "b", "bob", ""), image(3, "c", "bob", "why not")}, "a", "eve", "undo of 3",
			[]string{"eve: image c → a: undo of 3", "bob: image b → c: why not", "bob: image b"}, 0, 3},
		{"the object returned to b, which got a new number",
			[]Revision{made(image(1, "a", "", ""), 1), made(image(4, "b", "", ""), 2), made(image(3, "c", "", "image b → c"), 3)}, "b", "eve", "image c → b (undo to 2)",
			[]string{"eve: image c → b (undo to 2)", ": image b → c", ": image a"}, 0, 3},
		{"the object returned to b and to c, so the revision before d has a new number",
			[]Revision{image(1, "a", "", ""), made(image(5, "b", "", ""), 2, "2"), made(image(6, "c", "", ""), 3, "3"), made(image(4, "d", "", ""), 4)}, "c", "", "",
			[]string{": image b → c", ": image d → b", ": image c → d", ": image a"}, 0, 5},
		{"it is not known which revision had number 3",
			[]Revision{image(1, "a", "", ""), made(image(5, "b", "", ""), 2), made(image(6, "c", "", ""), 3), made(image(4, "d", "", "INC-7"), 4)}, "c", "", "",
			[]string{": image b → c", ": image d → b", ": INC-7", ": image a"}, 0, 5},
		{"the object returned to its first revision, so the lowest number is not the oldest revision",
			[]Revision{made(image(3, "a", "", ""), 1), made(image(2, "b", "", "INC-7"), 2)}, "a", "", "",
			[]string{": image b → a", ": image a → b: INC-7"}, 0, 2},
		{"the controller has not seen the last change, so the newest revision is the previous one",
			[]Revision{image(1, "a", "", ""), image(2, "b", "", "")}, "c", "", "",
			[]string{": image a → b", ": image a"}, -1, 2},
		{"kubectl edit does not update the annotations, so they describe the previous change",
			[]Revision{image(1, "a", "", ""), image(2, "b", "ann", "image a → b"), image(3, "c", "ann", "image a → b")}, "c", "ann", "image a → b",
			[]string{": image b → c", "ann: image a → b", ": image a"}, 0, 2},
		{"a cause that repeats all or part of the difference is not shown twice",
			[]Revision{image(1, "a", "", ""), image(2, "b", "", "image a → b (undo to 1)"), image(3, "c", "", "b → c")}, "c", "", "",
			[]string{": image b → c", ": image a → b (undo to 1)", ": image a"}, 0, 2},
		{"one revision", []Revision{image(1, "a", "", "")}, "a", "", "", []string{": image a"}, 0, 0},
	} {
		h := NewHistory(test.revisions, image(0, test.now, "", "").Fields, test.by, test.cause)
		var got []string
		for i, r := range h.Revisions {
			got = append(got, h.By(i)+": "+h.Change(i))
			if found, is := h.Find(r.Fields); !is || found.Number != r.Number {
				t.Errorf("%s: Find(fields of revision %d) = revision %d, %t", test.what, r.Number, found.Number, is)
			}
			if picked, err := h.Pick(r.Number); err != nil || picked.Number != r.Number {
				t.Errorf("%s: Pick(%d) = revision %d, %v", test.what, r.Number, picked.Number, err)
			}
		}
		if !slices.Equal(got, test.want) || h.Current() != test.current {
			t.Errorf("%s: history %q, current %d, want %q, %d", test.what, got, h.Current(), test.want, test.current)
		}
		if r, err := h.Pick(0); r.Number != test.before || (err == nil) != (test.before > 0) || err != nil && err.Error() != "it has no earlier revision" {
			t.Errorf("%s: Pick(0) = revision %d, %v, want %d", test.what, r.Number, err, test.before)
		}
	}
	h := NewHistory([]Revision{image(4, "a", "", ""), image(2, "b", "", ""), image(3, "c", "", "")}, nil, "", "")
	if _, err := h.Pick(7); err == nil || err.Error() != "unable to find revision 7 in its history: it has 4, 3, 2" {
		t.Errorf("Pick(7): error %v", err)
	}
}

// Find compares only the given fields. Without fields, it finds no revision.
func TestFind(t *testing.T) {
	t.Parallel()
	field := func(path string, value any) Field { return Field{Path: fieldpath.Fields("spec", path), Value: value} }
	h := NewHistory([]Revision{
		{Number: 1, Fields: []Field{field("image", "a"), field("env", "x")}},
		{Number: 2, Fields: []Field{field("image", "b"), field("env", "x")}},
		{Number: 3, Fields: []Field{field("image", "b"), field("env", "y")}},
	}, nil, "", "")
	for _, test := range []struct {
		fields []Field
		want   int64
	}{
		{nil, 0}, {[]Field{field("image", "a")}, 1}, {[]Field{field("image", "b")}, 3}, {[]Field{field("image", "c")}, 0},
		{[]Field{field("image", "b"), field("env", "x")}, 2}, {[]Field{field("image", "b"), field("size", nil)}, 0},
	} {
		if found, is := h.Find(test.fields); found.Number != test.want || is != (test.want > 0) {
			t.Errorf("Find(%v) = revision %d, %t, want %d", test.fields, found.Number, is, test.want)
		}
	}
}

// The age of a reused ReplicaSet starts when its controller last numbered it.
func TestReusedReplicaSet(t *testing.T) {
	t.Parallel()
	const noon = "2026-01-02T12:00:0"
	set := func(number int, created, written string) Revision {
		r, err := Read(object(t, fmt.Sprintf(`{kind: ReplicaSet, metadata: {creationTimestamp: %q, annotations: {deployment.kubernetes.io/revision: "%d"}, managedFields: [
			{manager: m, operation: Update, time: %q, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:annotations": {"f:deployment.kubernetes.io/revision": {}}}}}]}, spec: {template: {}}}`, noon+created+"Z", number, noon+written+"Z")), nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	var ages []string
	for _, r := range NewHistory([]Revision{set(4, "1", "8"), set(2, "3", "5"), set(3, "2", "7")}, nil, "", "").Revisions {
		ages = append(ages, r.Created.UTC().Format("5"))
	}
	if want := []string{"8", "7", "3"}; !slices.Equal(ages, want) {
		t.Errorf("creation times of the revisions 4, 3, and 2 = %v, want the seconds %v", ages, want)
	}
}

func TestOverwriters(t *testing.T) {
	t.Parallel()
	type row struct {
		Name     string
		Metadata map[string]any
		Want     string
	}
	rows.Run(t, "testdata/overwriters.yaml", time.Time{}, func(t *testing.T, row row) {
		obj := &unstructured.Unstructured{Object: map[string]any{"metadata": row.Metadata, "spec": map[string]any{"image": "a", "size": "b"}}}
		if got := strings.Join(Overwriters(obj, []Field{{Path: fieldpath.Fields("spec", "image")}}), "|"); got != row.Want {
			t.Errorf("overwriters = %q, want %q", got, row.Want)
		}
	})
}

// An undo restores all fields of the revision, and changes nothing else.
func TestUndoRestoresTheRevision(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		empty := []Field{{Path: fieldpath.Fields("spec", "template")}, {Path: fieldpath.Fields("spec", "image")}, {Path: fieldpath.Fields("metadata", "annotations", "restartedAt")}}
		draw := func(name string) (obj map[string]any, fields []Field) {
			obj = map[string]any{"spec": map[string]any{"replicas": rapid.Int64Range(0, 9).Draw(t, name+" replicas")}}
			for _, f := range empty {
				if rapid.Bool().Draw(t, name+" has "+f.Path.String()) {
					value := objects.Values(3).Filter(func(v any) bool { return v != nil }).Draw(t, name+" "+f.Path.String())
					if err := f.Path.Set(obj, value); err != nil {
						t.Fatal(err)
					}
				}
			}
			fields, err := FieldsAt(obj, empty)
			if err != nil {
				t.Fatal(err)
			}
			return obj, fields
		}
		apply := func(obj map[string]any, edits []fieldpath.Edit) map[string]any {
			edited := runtime.DeepCopyJSON(obj)
			for _, e := range edits {
				if err := e.Apply(edited); err != nil {
					t.Fatal(err)
				}
			}
			return edited
		}
		_, was := draw("before")
		obj, now := draw("after")
		if undone, want := apply(obj, Edits(now, was)), apply(obj, was); !reflect.DeepEqual(undone, want) {
			t.Fatalf("object after the undo = %v, want %v", undone, want)
		}
	})
}

func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	var all []Revision
	for i := range 3 * mostRevisions {
		all = append(all, Revision{Number: int64(i)})
	}
	if h := NewHistory(all, nil, "", ""); len(h.Revisions) != mostRevisions || h.Revisions[0].Number != 3*mostRevisions-1 {
		t.Errorf("history has %d revisions, want the newest %d", len(h.Revisions), mostRevisions)
	}
}
