package kinds

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
)

// leaserecord.Ships returns true for the shipped kinds, but not for other kinds of their groups.
func TestShips(t *testing.T) {
	t.Parallel()
	for _, kind := range Shipped() {
		if !leaserecord.Ships(kind.CRD()) || leaserecord.Ships("widgets."+kind.Resource.Group) {
			t.Errorf("%s ships: %t, and another kind of its group: %t", kind.CRD(), leaserecord.Ships(kind.CRD()), leaserecord.Ships("widgets."+kind.Resource.Group))
		}
	}
}

func TestDesired(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec map[string]any
		want int32 // -1 is an error
	}{
		"a count":             {map[string]any{"replicas": int64(3)}, 3},
		"none":                {map[string]any{"replicas": int64(0)}, 0},
		"no count":            {map[string]any{}, 1},
		"no spec":             {nil, 1},
		"null":                {map[string]any{"replicas": nil}, 1},
		"the most there is":   {map[string]any{"replicas": int64(2147483647)}, 2147483647},
		"a whole number":      {map[string]any{"replicas": 3.0}, 3},
		"none, as a fraction": {map[string]any{"replicas": 0.0}, 0},
		"the most, likewise":  {map[string]any{"replicas": 2147483647.0}, 2147483647},
		"no number (old CRD)": {map[string]any{"replicas": "3"}, -1},
		"half a pod":          {map[string]any{"replicas": 2.5}, -1},
		"less than none":      {map[string]any{"replicas": int64(-1)}, -1},
		"one too many":        {map[string]any{"replicas": int64(2147483648)}, -1},
		"none in 32 bits":     {map[string]any{"replicas": int64(4294967296)}, -1},
		"beyond 64 bits":      {map[string]any{"replicas": 1e30}, -1},
		"a list":              {map[string]any{"replicas": []any{int64(1)}}, -1},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		if test.spec != nil {
			obj.Object["spec"] = test.spec
		}
		got, err := ImoocPod().Desired(obj)
		if (err != nil) != (test.want < 0) || (err == nil && got != test.want) {
			t.Errorf("%s: %d replicas are wanted (%v), want %d", name, got, err, test.want)
		}
	}
}

// The error of Desired contains the invalid value, truncated.
func TestCountThatIsNone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		object map[string]any
		want   string
	}{
		"a text":        {map[string]any{"spec": map[string]any{"replicas": "5"}}, `.spec.replicas is the string "5", not an integer`},
		"a long text":   {map[string]any{"spec": map[string]any{"replicas": strings.Repeat("x", 1000)}}, `xxx", not an integer`},
		"no spec there": {map[string]any{"spec": "none"}, `.spec is the string "none", not an object`},
	} {
		obj := &unstructured.Unstructured{Object: test.object}
		if _, err := ImoocPod().Desired(obj); err == nil || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 200 {
			t.Errorf("%s: the error is %v, want one with %q", name, err, test.want)
		}
	}
}

// Desired reads the replica field of the kind, or .spec.replicas if the field is unknown.
func TestDesiredElsewhere(t *testing.T) {
	t.Parallel()
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(3), "replicas": int64(5)}}}
	for want, kind := range map[int32]Kind{3: {ReplicasPath: []string{"spec", "size"}}, 5: {}} {
		if got, err := kind.Desired(obj); err != nil || got != want {
			t.Errorf("with the path %v, %d replicas are wanted (%v), want %d", kind.ReplicasPath, got, err, want)
		}
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		group, resource, kind string
		scope                 meta.RESTScope
		name                  string
		shipped, builtIn, pod bool
	}{
		{"", "pods", "Pod", meta.RESTScopeNamespace, "pod", false, true, true},
		{"", "nodes", "Node", meta.RESTScopeRoot, "node", false, true, false},
		{"apps", "deployments", "Deployment", meta.RESTScopeNamespace, "deployment.apps", false, true, false},
		{"apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition", meta.RESTScopeRoot, "customresourcedefinition.apiextensions.k8s.io", false, true, false},
		{"example.com", "pods", "Pod", meta.RESTScopeNamespace, "pod.example.com", false, false, false},
		{ImoocPod().Resource.Group, "imoocpods", "ImoocPod", meta.RESTScopeNamespace, "imoocpod." + ImoocPod().Resource.Group, true, false, false},
	} {
		version := schema.GroupVersion{Group: test.group, Version: "v1"}
		if test.shipped {
			version.Version = ImoocPod().Resource.Version
		}
		kind := KindOf(&meta.RESTMapping{Resource: version.WithResource(test.resource), GroupVersionKind: version.WithKind(test.kind), Scope: test.scope})
		if kind.String() != test.name || kind.Clusterwide != (test.scope == meta.RESTScopeRoot) || kind.GroupVersionKind() != version.WithKind(test.kind) {
			t.Errorf("%s.%s is %+v", test.resource, test.group, kind)
		}
		if kind.Shipped() != test.shipped || kind.BuiltIn() != test.builtIn || kind.IsPod() != test.pod || kind.Reconciled() != test.shipped {
			t.Errorf("%s: shipped %t, built in %t, a pod %t", kind, kind.Shipped(), kind.BuiltIn(), kind.IsPod())
		}
	}
}
