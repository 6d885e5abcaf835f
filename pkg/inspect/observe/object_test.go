package observe

import (
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// The desired count is read from the status, from the replica field, or from /scale.
func TestReadObject(t *testing.T) {
	t.Parallel()
	const parked = `'{"replicas":5,"path":".spec.readers.replicas"}'`
	size := fieldpath.Fields("spec", "size")
	daemonSets, sets, cells := kindOf("apps/v1", "DaemonSet"), kindOf("example.com/v1", "Set"), kindOf("example.com/v1", "Cell")
	bySize := crdOf(t, "Set", setSpec, "{status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.replicas}}")
	named := crdOf(t, "Cell", setSpec, "{status: {}}")
	named.SetAnnotations(map[string]string{apis.Prefix + "replicas-path": ".spec.size"})
	inStatus := named.DeepCopy()
	inStatus.SetAnnotations(map[string]string{apis.Prefix + "replicas-path": ".spec.size", apis.Prefix + "desired-path": ".status.wanted"})
	for _, test := range []struct {
		what    string
		kind    kinds.Kind
		object  string
		path    *fieldpath.Path
		crd     *unstructured.Unstructured // replaces the CRD of the kind
		hidden  bool                       // the user is not allowed to read CRDs
		desired int32
		noCount bool
		total   int32 // zero if it is unknown
		scale   int32 // the count in the status of /scale; zero is not checked
		selects bool
		count   string // the field of the count; "" is not checked
	}{
		{what: "a Deployment", kind: deployments(), object: "spec: {replicas: 3}", desired: 3},
		{what: "a Deployment with another replica field", kind: deployments(), object: "spec: {replicas: 3, size: 7}", path: &size, desired: 7},
		{what: "a DaemonSet, whose controller sets the count", kind: daemonSets, object: "status: {desiredNumberScheduled: 4}", desired: 4},
		{what: "a DaemonSet, whose field is ignored", kind: daemonSets, object: "spec: {size: 7}\nstatus: {desiredNumberScheduled: 4}", path: &size, desired: 4},
		{what: "an ImoocPod", kind: imoocPods(), object: "spec: {replicas: 2}", desired: 2},
		{what: "a Set whose CRD is forbidden", kind: sets, object: "{spec: {size: 9, replicas: 6}, status: {replicas: 5, selector: app=x}}", hidden: true, desired: 6, scale: 5, selects: true},
		{what: "a Set whose /scale has no selector", kind: sets, object: "{spec: {size: 9, replicas: 6}, status: {replicas: 5}}", hidden: true, desired: 6, scale: 5},
		{what: "a Set whose CRD declares another field for /scale", kind: sets, object: "spec: {size: 8, replicas: 1}", crd: bySize, desired: 8},
		{what: "a Set without the field that its CRD declares", kind: sets, object: "spec: {}", crd: bySize, noCount: true},
		{what: "a Cell whose replica field is unknown", kind: cells, object: "spec: {readers: {replicas: 2}, writers: {replicas: 3}}", noCount: true, total: 5},
		{what: "a parked Cell", kind: cells, object: "metadata: {annotations: {imoocpod.dev/parked: " + parked + "}}\nspec: {readers: {replicas: 0}, writers: {replicas: 3}}", desired: 0, total: 3},
		{what: "a Cell by path", kind: cells, object: "spec: {readers: {replicas: 2}, writers: {replicas: 3}}", path: new(fieldpath.Fields("spec", "writers", "replicas")), desired: 3, total: 5},
		{what: "a Cell whose CRD names the field in an annotation", kind: cells, object: "spec: {size: 4}", crd: named, desired: 4},
		{what: "a Cell with the count in its status", kind: cells, object: "spec: {size: 4}\nstatus: {wanted: 6}", crd: inStatus, desired: 6, count: ".spec.size"},
	} {
		s := newServer(t)
		if test.crd != nil {
			s.put(test.crd)
		}
		if test.hidden {
			s.forbid("get customresourcedefinitions")
		}
		o, err := s.readObject(t, test.kind, test.object, test.path)
		if err != nil || !o.NoCount && o.Desired != test.desired || o.NoCount != test.noCount || o.Selects != test.selects {
			t.Errorf("%s: Desired = %d, NoCount = %t, Selects = %t, error %v", test.what, o.Desired, o.NoCount, o.Selects, err)
		}
		if test.count != "" && o.Count != test.count {
			t.Errorf("%s: Count = %q, want %q", test.what, o.Count, test.count)
		}
		if got := number(o.Total); got != test.total {
			t.Errorf("%s: Total = %d, want %d", test.what, got, test.total)
		}
		if got := number(o.ScaleCount); test.scale != 0 && got != test.scale {
			t.Errorf("%s: ScaleCount = %d, want %d", test.what, got, test.scale)
		}
	}
}

// readObject reads an object named x from YAML. If the object is a Set, it also stores the Set on the server,
// which serves /scale.
func (s *server) readObject(t *testing.T, kind kinds.Kind, text string, path *fieldpath.Path) (status.Object, error) {
	t.Helper()
	obj := parse(t, text)
	obj.SetGroupVersionKind(kind.GroupVersionKind())
	obj.SetName("x")
	obj.SetNamespace("ns")
	if kind.Kind == "Set" {
		s.put(obj)
	}
	return readObject(t.Context(), s.clients(), Target{Kind: kind, Namespace: "ns", Name: "x", Object: obj, Path: path})
}

func number(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}

// DaemonSets, and kinds that run-controller reconciles, need no requests. Built-in workloads need no CRD.
func TestReadObjectAsksNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind   kinds.Kind
		silent bool // no request is sent, not even for discovery
		want   []string
	}{
		{imoocPods(), true, nil},
		{deployments(), false, nil},
		{kindOf("apps/v1", "DaemonSet"), true, nil},
		{kindOf("example.com/v1", "Set"), false, []string{"get customresourcedefinitions"}},
	} {
		s := newServer(t)
		if _, err := s.readObject(t, test.kind, "spec: {replicas: 2}", nil); err != nil {
			t.Errorf("%s: %v", test.kind, err)
		}
		if all := s.Requests(nil); !slices.Equal(s.sent(), test.want) || test.silent && len(all) > 0 {
			t.Errorf("requests for %s = %v, want %v", test.kind, all, test.want)
		}
	}
}

func TestReadObjectThatCannotBeRead(t *testing.T) {
	t.Parallel()
	sets := kindOf("example.com/v1", "Set")
	for _, test := range []struct {
		what               string
		kind               kinds.Kind
		object             string
		forbidden, failing string
		fails              bool
	}{
		{"/scale fails because the count is not set", sets, "spec: {}", "get customresourcedefinitions", "get sets/scale", false},
		{"the request for the CRD fails", sets, "spec: {}", "", "get customresourcedefinitions", true},
		{"a status that is not an object", deployments(), "spec: {replicas: 1}\nstatus: odd", "", "", true},
		{"a status of a DaemonSet that is not an object", kindOf("apps/v1", "DaemonSet"), "status: odd", "", "", true},
		{"a count that is not a number", deployments(), "spec: {replicas: odd}", "", "", true},
	} {
		s := newServer(t)
		s.forbid(test.forbidden)
		s.fail(test.failing)
		o, err := s.readObject(t, test.kind, test.object, nil)
		if (err != nil) != test.fails || err == nil && !o.NoCount {
			t.Errorf("%s: NoCount = %t, error %v", test.what, o.NoCount, err)
		}
	}
	s := newServer(t)
	s.forbid("get customresourcedefinitions")
	s.forbid("get sets/scale")
	if _, err := s.readObject(t, sets, "spec: {}", nil); !apierrors.IsForbidden(err) {
		t.Errorf("/scale is forbidden: error = %v, want Forbidden", err)
	}
}
