package printer

import (
	"strings"
	"testing"
)

func TestCountChanges(t *testing.T) {
	t.Parallel()
	changes := []CountChange{{"a", "deployment/web", new(int32(5)), new(int32(0))}, {"a", "kafka/my\x1b", nil, new(int32(12))}}
	var b strings.Builder
	if err := CountChanges(&b, changes); err != nil {
		t.Fatal(err)
	}
	if want := "NAME             BEFORE   AFTER\ndeployment/web   5        0\nkafka/my\\x1b     ?        12\n"; b.String() != want {
		t.Errorf("the table is\n%q, want\n%q", b.String(), want)
	}
	b.Reset()
	changes[1].Namespace = "b"
	if err := CountChanges(&b, changes); err != nil || !strings.HasPrefix(b.String(), "NAMESPACE   NAME") {
		t.Errorf("no namespace column in the table\n%s(error %v)", b.String(), err)
	}
}
