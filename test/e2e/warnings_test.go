package e2e

import (
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

// oldCRD declares a kind. Every response of the server for this kind has a deprecation warning.
const oldCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: olds.warn.example.com}
spec:
  group: warn.example.com
  names: {kind: Old, plural: olds, singular: old}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    deprecated: true
    deprecationWarning: warn.example.com/v1 is old
    subresources: {scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {replicas: {type: integer}}}, status: {type: object, properties: {replicas: {type: integer}}}}}}
`

// A server warning is printed once, even if several requests return it.
func TestServerWarnsOnce(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Apply(t, "", oldCRD)
	cluster.AwaitEstablished(t, "crd/olds.warn.example.com")
	for _, args := range []string{
		"create old/a --replicas 1 --wait --timeout 1s", "create old/b --replicas 1", "scale old/a old/b --replicas 2 --timeout 1s",
		"scale old/a --by +1", "status old/a old/b", "describe old/a", "delete old/a old/b",
	} {
		r := cluster.Kubectl(t, ns, append([]string{"imoocpod"}, harness.Words(args)...)...)
		if (r.Code != 0 && r.Code != harness.ExitTimeout) || strings.Count(r.Stderr, "Warning: warn.example.com/v1 is old\n") != 1 {
			t.Errorf("%s: exit code %d, said %q", args, r.Code, r.Stderr)
		}
	}
}
