package kinds

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/test/objects"
)

// leaserecord.Ships returns true for the shipped kinds, and false for other kinds in their groups.
func TestShips(t *testing.T) {
	t.Parallel()
	for _, kind := range Shipped() {
		if !leaserecord.Ships(kind.CRD()) || leaserecord.Ships("widgets."+kind.Resource.Group) {
			t.Errorf("Ships(%s) = %t, another kind of its group: %t", kind.CRD(), leaserecord.Ships(kind.CRD()), leaserecord.Ships("widgets."+kind.Resource.Group))
		}
	}
}

// kindNamed returns the kind of a resource, such as "deployments.apps".
func kindNamed(resource string) Kind {
	return Kind{Resource: schema.ParseGroupResource(resource).WithVersion("v1")}
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	return &unstructured.Unstructured{Object: objects.Parse(t, text)}
}

// Desired reads the replica field of the kind, or .spec.replicas if the field is unknown. The default is
// one. The error contains the invalid value, truncated if it is long.
func TestDesired(t *testing.T) {
	t.Parallel()
	sized := Kind{ReplicasPath: []string{"spec", "size"}}
	for name, test := range map[string]struct {
		kind   Kind
		object string
		want   int32
		err    string
	}{
		"a count":            {ImoocPod(), "spec: {replicas: 3}", 3, ""},
		"zero":               {ImoocPod(), "spec: {replicas: 0}", 0, ""},
		"no count":           {ImoocPod(), "spec: {}", 1, ""},
		"no spec":            {ImoocPod(), "{}", 1, ""},
		"null count":         {ImoocPod(), "spec: {replicas: null}", 1, ""},
		"the maximum":        {ImoocPod(), "spec: {replicas: 2147483647}", 2147483647, ""},
		"another field":      {sized, "spec: {size: 3, replicas: 5}", 3, ""},
		"no known field":     {Kind{}, "spec: {size: 3, replicas: 5}", 5, ""},
		"a string (old CRD)": {ImoocPod(), "spec: {replicas: '5'}", 0, `.spec.replicas is the string "5", not an integer`},
		"a long string":      {ImoocPod(), "spec: {replicas: " + strings.Repeat("x", 1000) + "}", 0, `xxx", not an integer`},
		"negative count":     {ImoocPod(), "spec: {replicas: -1}", 0, ".spec.replicas is -1: it must be a whole number from 0 to 2147483647"},
		"above the maximum":  {ImoocPod(), "spec: {replicas: 2147483648}", 0, ".spec.replicas is 2147483648: "},
		"zero in 32 bits":    {ImoocPod(), "spec: {replicas: 4294967296}", 0, ".spec.replicas is 4294967296: "},
	} {
		got, err := test.kind.Desired(object(t, test.object))
		if got != test.want || (err == nil) != (test.err == "") {
			t.Errorf("%s: Desired = %d, %v, want %d", name, got, err, test.want)
		}
		if err != nil && (!strings.Contains(err.Error(), test.err) || len(err.Error()) > 200) {
			t.Errorf("%s: error %v, want one with %q and at most 200 bytes", name, err, test.err)
		}
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		group, resource, kind string
		clusterwide           bool
		name                  string
		shipped, builtIn, pod bool
	}{
		{"", "pods", "Pod", false, "pod", false, true, true},
		{"", "nodes", "Node", true, "node", false, true, false},
		{"apps", "deployments", "Deployment", false, "deployment.apps", false, true, false},
		{"apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition", true, "customresourcedefinition.apiextensions.k8s.io", false, true, false},
		{"example.com", "pods", "Pod", false, "pod.example.com", false, false, false},
		{ImoocPod().Resource.Group, "imoocpods", "ImoocPod", false, "imoocpod." + ImoocPod().Resource.Group, true, false, false},
	} {
		version := schema.GroupVersion{Group: test.group, Version: "v1"}
		if test.shipped {
			version.Version = ImoocPod().Resource.Version
		}
		kind := KindOf(version.WithResource(test.resource), test.kind, test.clusterwide)
		if kind.String() != test.name || kind.Clusterwide != test.clusterwide || kind.GroupVersionKind() != version.WithKind(test.kind) {
			t.Errorf("KindOf(%s.%s) = %+v", test.resource, test.group, kind)
		}
		if kind.Shipped() != test.shipped || kind.BuiltIn() != test.builtIn || kind.IsPod() != test.pod || kind.Reconciled() != test.shipped {
			t.Errorf("%s: shipped %t, built in %t, pod %t, reconciled %t; want %+v", kind, kind.Shipped(), kind.BuiltIn(), kind.IsPod(), kind.Reconciled(), test)
		}
	}
}
