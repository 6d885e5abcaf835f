package cmd

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
)

// Suggested commands can be pasted into a shell, and keep the context. For a new list element, scale
// suggests no command, and create suggests a command with a placeholder.
func TestChooseField(t *testing.T) {
	t.Parallel()
	hot := candidates.Field{Path: `.spec.sets[?(@.name=="it's hot")].count`, Value: new(int64(2)), Description: "How many."}
	some := candidates.Field{Path: `.spec.pools[?(@.name=="<NAME>")].size`, Pattern: true}
	kind := kinds.ImoocPod()
	for _, test := range []struct {
		verb, namespace string
		candidates      []candidates.Field
		want            string
	}{
		{"scale", "ns", []candidates.Field{hot, some}, `imoocpods.batch.tutorial.kubebuilder.io has no /scale, and its replica field is unknown. Choose one:

  .spec.sets[?(@.name=="it's hot")].count (now 2): How many.
    kubectl imoocpod scale imoocpods.batch.tutorial.kubebuilder.io/foo -n ns --replicas 3 --replicas-path '.spec.sets[?(@.name=="it'\''s hot")].count' --context=staging --as=alice

  .spec.pools[?(@.name=="<NAME>")].size (new list element: replace <NAME> with its key)

To set it for all objects: kubectl annotate crd imoocpods.batch.tutorial.kubebuilder.io imoocpod.dev/replicas-path=PATH --context=staging --as=alice`},
		{"create", "", []candidates.Field{some}, `imoocpods.batch.tutorial.kubebuilder.io has no /scale, and its replica field is unknown. Choose one:

  .spec.pools[?(@.name=="<NAME>")].size (new list element: replace <NAME> with its key)
    kubectl imoocpod create imoocpods.batch.tutorial.kubebuilder.io/foo --replicas 3 --replicas-path '.spec.pools[?(@.name=="<NAME>")].size' --context=staging --as=alice

To set it for all objects: kubectl annotate crd imoocpods.batch.tutorial.kubebuilder.io imoocpod.dev/replicas-path=PATH --context=staging --as=alice`},
		{"scale", "ns", nil, "imoocpods.batch.tutorial.kubebuilder.io has no replica count: no /scale, and no such field in .spec"},
	} {
		o, _ := onStaging(t)
		err := o.chooseField(&discover.UnknownFieldError{Kind: kind, Candidates: test.candidates}, test.verb, &observe.Target{Kind: kind, Namespace: test.namespace, Name: "foo"}, "--replicas", "3")
		if got := err.Error(); got != test.want {
			t.Errorf("got\n%s\nwant\n%s", got, test.want)
		}
	}
}

func TestNoField(t *testing.T) {
	t.Parallel()
	integer := map[string]any{"type": "integer"}
	object := func(properties map[string]any) map[string]any {
		return map[string]any{"type": "object", "properties": properties}
	}
	schema := object(map[string]any{"spec": object(map[string]any{
		"size": integer, "image": map[string]any{"type": "string"},
		"sets": map[string]any{"type": "array", "items": object(map[string]any{"count": integer})},
	})})
	target := &observe.Target{Kind: kinds.HelloWorld(), Name: "hi"}
	for word, want := range map[string]string{
		".spec.siz":           "helloworld/hi has no field .spec.siz; did you mean .spec.size?",
		".spec.sets[0].cound": "helloworld/hi has no field .spec.sets[0].cound; did you mean .spec.sets[0].count?",
		".spec.frobnicate":    "helloworld/hi has no field .spec.frobnicate; did you mean .spec.size",
	} {
		path, err := fieldpath.ParsePath(word)
		if err != nil {
			t.Fatal(err)
		}
		if got := noField(target, path, schema).Error(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
		if got := noField(target, path, nil).Error(); strings.Contains(got, "mean") {
			t.Errorf("%s without a schema: %q", word, got)
		}
	}
}
