package node

import (
	"strings"
	"testing"
)

// TestUndoOfAnImageThatCannotBePulled checks that a change to an image that cannot be pulled is
// undone, and that a stepwise scale is reverted to the last replica count with ready pods. In the
// end, all pods must run the first image.
func TestUndoOfAnImageThatCannotBePulled(t *testing.T) {
	const namespace, name, missing = "undo", "foo", "registry.example/no-such-image:1"
	kubectl(t, "", "create", "namespace", namespace)
	w := watchNamespace(t, namespace)
	startLoop(t, "-n", namespace)
	kubectl(t, manifest(t, namespace, name, "", 3, "containers:\n- {name: main, command: "+act("-http=:8080")+"}"), "create", "-f", "-")
	kubectl(t, "", "imoocpod", "wait", name, "-n", namespace, "--timeout="+deadline.String())
	spec := func() string {
		return kubectl(t, "", "get", "imoocpod", name, "-n", namespace, "-o", "jsonpath={.spec}")
	}
	before := spec()

	r := command("", "imoocpod", "set", "image", name, missing, "-n", namespace, "--on-failure=revert", "--fail-after=3s", "--timeout="+deadline.String())
	if r.code != codeUndone || !strings.Contains(r.stderr, "imoocpod/foo undone: image "+missing+" → ") {
		t.Errorf("%v\nwant exit code 9, and the image undone", r)
	}
	kubectl(t, "", "imoocpod", "wait", name, "-n", namespace, "--timeout="+deadline.String())
	w.await(t, "three pods run the first image", name, exactly(3))
	if after := spec(); after != before {
		t.Errorf("got spec %s, want %s", after, before)
	}

	kubectl(t, "", "imoocpod", "set", "image", name, missing, "-n", namespace)
	r = command("", "imoocpod", "scale", name, "-n", namespace, "--replicas=5", "--step=1", "--on-failure=revert", "--fail-after=3s", "--timeout="+deadline.String())
	if count := kubectl(t, "", "get", "imoocpod", name, "-n", namespace, "-o", "jsonpath={.spec.replicas}"); r.code != codeUndone || count != "3" {
		t.Errorf("%v\nwant exit code 9, and 3 replicas, not %s", r, count)
	}
	kubectl(t, "", "imoocpod", "undo", name, "-n", namespace, "--timeout="+deadline.String())
	w.await(t, "three pods run the first image again", name, exactly(3))
	if after := spec(); after != before {
		t.Errorf("got spec %s after the undo, want %s", after, before)
	}
	kubectl(t, "", "delete", "namespace", namespace)
}
