package observe

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// crdOf returns the CRD of a resource in the group example.com, to be stored with put. Its counts
// are in the usual fields.
func crdOf(t testing.TB, resource string, annotations map[string]string, subresources string) change {
	t.Helper()
	_, kind := typeOf(resource)
	crd := parse(t, fmt.Sprintf(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %[1]s.example.com, uid: crd},
		spec: {group: example.com, names: {kind: %[2]s, plural: %[1]s, singular: %[3]s}, scope: Namespaced, versions: [{name: v1, served: true, storage: true, subresources: %[4]s,
		schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {replicas: {type: integer}, size: {type: integer}}},
		status: {type: object, properties: {replicas: {type: integer}, readyReplicas: {type: integer}, wanted: {type: integer}}}}}}}]}}`, resource, kind, strings.ToLower(kind), subresources))
	crd.SetAnnotations(annotations)
	return change{resource: "customresourcedefinitions", object: crd}
}

// scaleOf returns the /scale of the Set x, to be stored with put.
func scaleOf(t testing.TB, desired, current int, selector string) change {
	t.Helper()
	return change{resource: "sets/scale", object: parse(t, fmt.Sprintf(`{apiVersion: autoscaling/v1, kind: Scale, metadata: {name: x, namespace: ns},
		spec: {replicas: %d}, status: {replicas: %d, selector: %q}}`, desired, current, selector))}
}

// The desired count is read from the status, from the replica field, or from /scale.
func TestReadObject(t *testing.T) {
	t.Parallel()
	const parked = `'{"replicas":5,"path":".spec.readers.replicas"}'`
	size := fieldpath.Fields("spec", "size")
	for _, test := range []struct {
		what     string
		resource string
		object   string
		path     *fieldpath.Path
		served   []change
		desired  int32
		noCount  bool
		total    int32 // zero means that it is unknown
		told     int32 // the count in the status of /scale; zero is not checked
		selects  bool
		count    string // the field of the count; "" is not checked
	}{
		{what: "a Deployment", resource: "deployments", object: "spec: {replicas: 3}", desired: 3},
		{what: "a Deployment by another field", resource: "deployments", object: "spec: {replicas: 3, size: 7}", path: &size, desired: 7},
		{what: "a DaemonSet, whose controller counts", resource: "daemonsets", object: "status: {desiredNumberScheduled: 4}", desired: 4},
		{what: "a DaemonSet, of which no field is asked", resource: "daemonsets", object: "spec: {size: 7}\nstatus: {desiredNumberScheduled: 4}", path: &size, desired: 4},
		{what: "an ImoocPod", resource: "imoocpods", object: "spec: {replicas: 2}", desired: 2},
		{what: "a Set whose CRD cannot be read", resource: "sets", object: "spec: {size: 9}", served: []change{scaleOf(t, 6, 5, "app=x")}, desired: 6, told: 5, selects: true},
		{what: "a Set whose scale selects nothing", resource: "sets", object: "spec: {size: 9}", served: []change{scaleOf(t, 6, 5, "")}, desired: 6, told: 5},
		{what: "a Set whose CRD tells the field", resource: "sets", object: "spec: {size: 8, replicas: 1}",
			served:  []change{crdOf(t, "sets", nil, "{status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.replicas}}"), scaleOf(t, 6, 5, "")},
			desired: 8},
		{what: "a Set without the field", resource: "sets", object: "spec: {}",
			served: []change{crdOf(t, "sets", nil, "{status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.replicas}}")}, noCount: true},
		{what: "a Cell of which nothing tells", resource: "cells", object: "spec: {readers: {replicas: 2}, writers: {replicas: 3}}", noCount: true, total: 5},
		{what: "a Cell that is parked", resource: "cells", object: "metadata: {annotations: {imoocpod.dev/parked: " + parked + "}}\nspec: {readers: {replicas: 0}, writers: {replicas: 3}}", desired: 0, total: 3},
		{what: "a Cell by a path", resource: "cells", object: "spec: {readers: {replicas: 2}, writers: {replicas: 3}}", path: new(fieldpath.Fields("spec", "writers", "replicas")), desired: 3, total: 5},
		{what: "a Cell whose CRD names the field", resource: "cells", object: "spec: {size: 4}",
			served: []change{crdOf(t, "cells", map[string]string{apis.Prefix + "replicas-path": ".spec.size"}, "{status: {}}")}, desired: 4},
		{what: "a Cell whose status says it", resource: "cells", object: "spec: {size: 4}\nstatus: {wanted: 6}",
			served: []change{crdOf(t, "cells", map[string]string{apis.Prefix + "replicas-path": ".spec.size", apis.Prefix + "desired-path": ".status.wanted"}, "{status: {}}")}, desired: 6, count: ".spec.size"},
	} {
		s := newAPIServer()
		s.do(func() {
			for _, c := range test.served {
				s.put(c.resource, c.object)
			}
		})
		o, err := s.readObject(t, test.resource, test.object, test.path)
		if err != nil || !o.NoCount && o.Desired != test.desired || o.NoCount != test.noCount || o.Selects != test.selects {
			t.Errorf("%s: %d are desired, no count: %t, selects: %t, %v", test.what, o.Desired, o.NoCount, o.Selects, err)
		}
		if test.count != "" && o.Count != test.count {
			t.Errorf("%s: its count is in %q, want %s", test.what, o.Count, test.count)
		}
		if got := number(o.Total); got != test.total {
			t.Errorf("%s: in all there are %d, want %d", test.what, got, test.total)
		}
		if got := number(o.ScaleCount); test.told != 0 && got != test.told {
			t.Errorf("%s: the status of the scale says %d, want %d", test.what, got, test.told)
		}
	}
}

// readObject reads an object named x, given as YAML.
func (s *apiServer) readObject(t *testing.T, resource, text string, path *fieldpath.Path) (status.Object, error) {
	t.Helper()
	c := s.factory(t)
	client, err := c.Dynamic()
	if err != nil {
		t.Fatal(err)
	}
	obj := parse(t, text)
	version, kind := typeOf(resource)
	obj.SetAPIVersion(version)
	obj.SetKind(kind)
	obj.SetName("x")
	obj.SetNamespace("ns")
	target := Target{Kind: kindOf(resource), Namespace: "ns", Name: "x", Object: obj, Path: path}
	if resource == "imoocpods" {
		target.Kind = imoocPods()
	}
	return readObject(t.Context(), c, client, target)
}

func number(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}

// Kinds that this program reconciles need no request for facts, and built-in workloads
// need no CRD.
func TestReadObjectAsksNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	for resource, want := range map[string][]string{"imoocpods": nil, "deployments": nil, "daemonsets": nil, "sets": {"get customresourcedefinitions", "get sets/scale"}} {
		s := newAPIServer()
		change := scaleOf(t, 6, 5, "")
		s.put(change.resource, change.object)
		if _, err := s.readObject(t, resource, "spec: {replicas: 2}", nil); err != nil {
			t.Error(err)
		}
		if sent := s.sent(); !slices.Equal(sent, want) {
			t.Errorf("for %s it sends %v, want %v", resource, sent, want)
		}
	}
}

func TestReadObjectThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what, resource, object, failing string
		fails                           bool
	}{
		{"/scale has nothing to say, as the count is not set", "sets", "spec: {}", "get sets/scale", false},
		{"/scale is not there", "sets", "spec: {}", "", true},
		{"the CRD cannot be read", "sets", "spec: {}", "get customresourcedefinitions", true},
		{"a status that is none", "deployments", "spec: {replicas: 1}\nstatus: odd", "", true},
		{"a status that is none, of a DaemonSet", "daemonsets", "status: odd", "", true},
		{"a count that is none", "deployments", "spec: {replicas: odd}", "", true},
	} {
		s := newAPIServer()
		s.failing[test.failing] = true
		o, err := s.readObject(t, test.resource, test.object, nil)
		if (err != nil) != test.fails || err == nil && !o.NoCount {
			t.Errorf("%s: no count: %t, %v", test.what, o.NoCount, err)
		}
	}
}

// The facts of a built-in kind need no request.
func TestStatusFactsOfABuiltInKind(t *testing.T) {
	t.Parallel()
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	kind := kinds.KindOf(&meta.RESTMapping{Resource: apps.WithResource("deployments"), GroupVersionKind: apps.WithKind("Deployment"), Scope: meta.RESTScopeNamespace})
	if facts, err := StatusFacts(t.Context(), nil, kind, nil); err != nil || facts.Count != ".spec.replicas" {
		t.Errorf("they are %+v, %v", facts, err)
	}
}
