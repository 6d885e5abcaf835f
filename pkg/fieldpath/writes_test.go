package fieldpath

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
