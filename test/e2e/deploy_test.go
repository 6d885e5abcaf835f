package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
)

// The tests in this file put the controller into the namespace that is meant
// for it, which there is once: none of them is parallel.

const system = "imoocpod-system"

// No delete and no upgrade of the controller deletes a person's objects, also
// those in its own namespace.
func TestDeployKeepsObjects(t *testing.T) {
	ns := newNamespace(t)
	kustomize := func(verb string, args ...string) {
		t.Helper()
		r := kubectl(t, "", append([]string{verb}, args...)...)
		must(t, r)
		if r.stderr != "" {
			t.Errorf("%s said %q", r.line, r.stderr)
		}
	}
	kustomize("apply", "--server-side", "--force-conflicts", "--validate=strict", "-k", "../../deploy/crds")
	for _, namespace := range []string{ns, system} {
		must(t, kubectl(t, namespace, "apply", "--validate=strict", "-k", "../../deploy/samples"))
		defer kubectl(t, namespace, "delete", "-k", "../../deploy/samples")
	}
	before := shippedObjects(t, ns, system)

	kustomize("apply", "--validate=strict", "--dry-run=server", "-k", "../../deploy")
	kustomize("apply", "--validate=strict", "-k", "../../deploy")
	// Its pods are let into a namespace where Pod Security is restricted.
	must(t, kubectl(t, system, "rollout", "status", "deployment/imoocpod-controller", "--timeout", deadline.String()))
	kustomize("apply", "--validate=strict", "-k", "../../deploy")
	kustomize("delete", "-k", "../../deploy")
	if after := shippedObjects(t, ns, system); !maps.Equal(before, after) {
		t.Errorf("after the controller was deleted, the objects are %v; they were %v", after, before)
	}
	kustomize("apply", "-k", "../../deploy")
	defer kustomize("delete", "-k", "../../deploy")
	if after := shippedObjects(t, ns, system); !maps.Equal(before, after) {
		t.Errorf("after the controller was applied again, the objects are %v; they were %v", after, before)
	}
}

// shippedObjects are the objects of all shipped kinds in some namespaces: what
// each is, by its UID.
func shippedObjects(t *testing.T, namespaces ...string) map[string]string {
	t.Helper()
	crds, err := deploy.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, crd := range crds {
		name := crd.GetName()
		for _, namespace := range namespaces {
			list := must(t, kubectl(t, namespace, "get", name, "-o", `jsonpath={range .items[*]}{.metadata.uid} {.metadata.namespace}/{.metadata.name}{"\n"}{end}`))
			for line := range strings.Lines(list) {
				uid, object, _ := strings.Cut(strings.TrimSpace(line), " ")
				found[uid] = name + " " + object
			}
		}
		if !slices.ContainsFunc(slices.Collect(maps.Values(found)), func(object string) bool { return strings.HasPrefix(object, name) }) {
			t.Errorf("there is no %s to lose", name)
		}
	}
	return found
}
