package node

import (
	"fmt"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// TestUndoOfAnImageThatCannotBePulled checks that a change to an image that cannot be pulled is
// undone, and that a stepwise scale is reverted to the last replica count with ready pods. In the
// end, all pods must run the first image.
func TestUndoOfAnImageThatCannotBePulled(t *testing.T) {
	const namespace, name, missing = "undo", "foo", "registry.example/no-such-image:1"
	w, _ := startIn(t, namespace)
	foo := create(t, namespace, name, "", 3, "containers: [{command: [act, -http=:8080]}]")
	cluster.Imoocpod(t, namespace, "wait", name, patient)
	spec := func() string { return fmt.Sprint(foo.Get().Object["spec"]) }
	before := spec()

	r := cluster.Kubectl(t, namespace, "imoocpod", "set", "image", name, missing, "--on-failure=revert", "--fail-after=3s", patient)
	if r.Code != harness.ExitUndone || !strings.Contains(r.Stderr, "imoocpod/foo undone: image "+missing+" → ") {
		t.Errorf("%+v\nwant exit code 9, and the image undone", r)
	}
	cluster.Imoocpod(t, namespace, "wait", name, patient)
	w.await(t, "three pods run the first image", name, exactly(3))
	if after := spec(); after != before {
		t.Errorf("got spec %s, want %s", after, before)
	}

	cluster.Imoocpod(t, namespace, "set", "image", name, missing)
	r = cluster.Kubectl(t, namespace, "imoocpod", "scale", name, "--replicas=5", "--step=1", "--on-failure=revert", "--fail-after=3s", patient)
	if count := foo.Count([]string{"spec", "replicas"}); r.Code != harness.ExitUndone || count != 3 {
		t.Errorf("%+v\nwant exit code 9, and 3 replicas, not %d", r, count)
	}
	cluster.Imoocpod(t, namespace, "undo", name, patient)
	w.await(t, "three pods run the first image again", name, exactly(3))
	if after := spec(); after != before {
		t.Errorf("got spec %s after the undo, want %s", after, before)
	}
}
