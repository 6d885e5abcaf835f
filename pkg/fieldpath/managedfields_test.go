package fieldpath

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/test/objects"
)

// managedObject contains managedFields as API servers record them: for fields, for a list whose
// elements have keys, and for a list that is managed as a whole.
const managedObject = `
metadata:
  managedFields:
  - {manager: kubectl, operation: Apply, time: "2026-01-01T10:00:00Z", fieldsV1: {"f:spec": {"f:replicas": {}, "f:sets": {'k:{"name":"hot"}': {".": {}, "f:name": {}, "f:count": {}}}}}}
  - {manager: autoscaler, operation: Update, subresource: scale, time: "2026-01-01T10:00:02Z", fieldsV1: {"f:spec": {"f:replicas": {}}}}
  - {manager: painter, operation: Update, time: "2026-01-01T10:00:03Z", fieldsV1: {"f:metadata": {"f:labels": {"f:replicas": {}}}, "f:spec": {"f:sets": {'k:{"name":"cold"}': {"f:count": {}}}}}}
  - {manager: writer, operation: Update, time: "2026-01-01T10:00:04Z", fieldsV1: {"f:spec": {"f:pools": {}, "f:sets": {'k:{"name":"warm","zone":1}': {}}}}}
  - {manager: odd, operation: Update, fieldsV1: {"f:spec": {"f:odd": {}}}}
  - {manager: tagger, operation: Update, fieldsV1: {"f:spec": {"f:tags": {'v:"a"': {}}}}}
  - {manager: maker, operation: Update, time: "2026-01-01T10:00:06Z", fieldsV1: {"f:spec": {"f:limits": {}}}}
  - {manager: filler, operation: Update, time: "2026-01-01T10:00:06Z", fieldsV1: {"f:spec": {"f:limits": {"f:cpu": {}}}}}
  - {manager: empty, operation: Update}
  - {manager: idle, operation: Update, time: "2026-01-01T10:00:05Z", fieldsV1: {}}
  - {manager: twins, operation: Update, time: "2026-01-01T10:00:05Z", fieldsV1: {"f:spec": {"f:twins": {'k:{"name":"twin"}': {}}}}}
spec:
  replicas: 3
  sets: [{name: hot, count: 1}, {name: cold, count: 2}, {name: warm, zone: 1, count: 3}]
  pools: [{name: a, size: 4}]
  twins: [{name: twin, size: 1}, {name: twin, size: 2}]
  odd: 1
  tags: [a]
  limits: {cpu: 1}
  nobody: 5
`

func TestManager(t *testing.T) {
	t.Parallel()
	obj := &unstructured.Unstructured{Object: objects.Parse(t, managedObject)}
	for word, want := range map[string]struct {
		manager string
		second  int
	}{
		".spec.replicas":                          {"autoscaler", 2}, // the later of two managers
		`.spec.sets[?(@.name=="hot")].count`:      {"kubectl", 0},
		".spec.sets[1].count":                     {"painter", 3},
		`.spec.sets[?(@.name=="warm")].count`:     {"writer", 4}, // manages the whole element
		`.spec.pools[?(@.name=="a")].size`:        {"writer", 4}, // manages the whole list
		".spec.odd":                               {"odd", -1},
		`.spec.twins[?(@.name=="twin")].size`:     {"", -1},      // matches two elements
		".spec.tags[0]":                           {"", -1},      // recorded by its value, not by its index
		".spec.limits.cpu":                        {"filler", 6}, // maker set only the enclosing object
		".spec.nobody":                            {"", -1},
		".spec.absent":                            {"", -1},
		`.spec.sets[?(@.name=="lukewarm")].count`: {"", -1},
	} {
		path := parse(t, word)
		at := time.Time{}
		if want.second >= 0 {
			at = time.Date(2026, 1, 1, 10, 0, want.second, 0, time.UTC)
		}
		if manager, since := path.Manager(obj); manager != want.manager || !since.Equal(at) {
			t.Errorf("Manager of %s = %q at %s, want %q at %s", word, manager, since, want.manager, at)
		}
	}
}

func TestRecorded(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]int{
		`{".": {}, "f:a": {".": {}, "f:b": {}, "f:c": {}}, "f:d": {"f:e": {}, "f:f": {"f:g": {}}}}`: 4, "{}": 0, "[": 0,
	} {
		if got := Recorded(metav1.ManagedFieldsEntry{FieldsV1: metav1.NewFieldsV1(fields)}).Size(); got != want {
			t.Errorf("Recorded(%s) has %d fields, want %d", fields, got, want)
		}
	}
}

func TestWrites(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		subresource, fields string
		spec, status        bool
	}{
		"status subresource":  {"status", "{}", false, true},
		"scale subresource":   {"scale", "{}", true, false},
		"another subresource": {"ephemeralcontainers", `{"f:spec":{}}`, false, false},
		"no recorded fields":  {"", "", true, false},
		"invalid JSON":        {"", "[", true, false},
		"only metadata":       {"", `{"f:metadata":{},"f:apiVersion":{},"f:kind":{}}`, false, false},
		"spec":                {"", `{"f:metadata":{},"f:spec":{}}`, true, false},
		"spec and status":     {"", `{"f:spec":{},"f:status":{}}`, true, true},
	} {
		entry := metav1.ManagedFieldsEntry{Subresource: test.subresource}
		if test.fields != "" {
			entry.FieldsV1 = metav1.NewFieldsV1(test.fields)
		}
		if spec, status := Writes(entry); spec != test.spec || status != test.status {
			t.Errorf("%s: Writes = %t, %t, want spec %t, status %t", name, spec, status, test.spec, test.status)
		}
	}
}

// LastWrites returns the latest write to the spec and to the status. It ignores entries without a time.
func TestLastWrites(t *testing.T) {
	t.Parallel()
	at := func(second int64) *metav1.Time { return new(metav1.Unix(second, 0)) }
	spec, status := LastWrites([]metav1.ManagedFieldsEntry{
		{Manager: "undated", Subresource: "status"},
		{Manager: "user", Time: at(20)}, {Manager: "operator", Subresource: "status", Time: at(30)},
		{Manager: "earlier", Time: at(10)}, {Manager: "latest", Subresource: "status", Time: at(35)},
	})
	if spec == nil || status == nil || spec.Manager != "user" || !spec.Time.Equal(at(20)) || status.Manager != "latest" || !status.Time.Equal(at(35)) {
		t.Errorf("last write of the spec %+v and of the status %+v, want user and latest", spec, status)
	}
}
