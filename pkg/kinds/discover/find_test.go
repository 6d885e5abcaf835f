package discover

import (
	"cmp"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

func down() error { return apierrors.NewInternalError(errors.New("down")) }

// Find uses the first source that has the replica field: the command line, the shipped kinds,
// /scale, the declaration, and the annotation, in this order. It sends each request only once.
func TestFind(t *testing.T) {
	t.Parallel()
	given := fieldpath.Fields("spec", "mine")
	declared := set()
	declared.ReplicasPath, declared.Mapping.Strategy = []string{"spec", "size"}, kinds.StrategyPods
	for _, test := range []struct {
		what        string
		kind        kinds.Kind
		annotations string
		scale       string
		unread      bool // the user is not allowed to read CRDs
		given       *fieldpath.Path
		want        Field  // without Path
		path        string // the path of want, or "" for nil
	}{
		{what: "the command line", kind: set(), annotations: "{imoocpod.dev/replicas-path: .spec.size}",
			scale: "{scale: {specReplicasPath: .spec.size}}", given: &given, want: Field{Found: "--replicas-path"}, path: ".spec.mine"},
		{what: "a shipped kind", kind: kinds.ImoocPod(), want: Field{Scale: true, Found: "built in"}, path: ".spec.replicas"},
		{what: "a built-in kind", kind: deployment(), want: Field{Scale: true, Found: "/scale"}, path: ".spec.replicas"},
		{what: "/scale", kind: set(), annotations: "{imoocpod.dev/replicas-path: .spec.other}",
			scale: "{status: {}, scale: {specReplicasPath: .spec.size}}", want: Field{Scale: true, Found: "/scale"}, path: ".spec.size"},
		{what: "/scale with an invalid path", kind: set(), scale: "{scale: {specReplicasPath: '.spec['}}",
			want: Field{Scale: true, Found: "/scale"}},
		{what: "/scale, no permission to read the CRD", kind: set(), scale: "{scale: {specReplicasPath: .spec.size}}",
			unread: true, want: Field{Scale: true, Found: "/scale"}},
		{what: "the declaration", kind: declared, want: Field{Found: "annotation of the CRD"}, path: ".spec.size"},
		{what: "the annotation", kind: set(), annotations: "{imoocpod.dev/replicas-path: .spec.size}",
			want: Field{Found: "annotation of the CRD"}, path: ".spec.size"},
	} {
		s := newServer(t, crd(cmp.Or(test.annotations, "{}"), cmp.Or(test.scale, "{}")))
		if test.unread {
			s.Forbid(readsCRD())
		}
		f := s.finder()
		for range 2 {
			got, err := f.Find(t.Context(), test.kind, nil, test.given)
			path := ""
			if got.Path != nil {
				path = got.Path.String()
			}
			if err != nil || path != test.path || got.Scale != test.want.Scale || got.Found != test.want.Found {
				t.Errorf("%s: field %+v, path %q, error %v; want %+v, path %q", test.what, got, path, err, test.want, test.path)
			}
		}
		if n := s.count(readsCRD()); n > 1 || test.kind.BuiltIn() && n > 0 || test.kind.Shipped() && s.count(nil) > 0 {
			t.Errorf("%s: too many requests: %v", test.what, s.Requests(nil))
		}
	}
}

// If no source has the field, the error contains the candidates, and Total adds up their values.
func TestFindGuessesNothing(t *testing.T) {
	t.Parallel()
	s := newServer(t, crdOf("{}", "{}", `replicas: {type: integer}, image: {type: string},
		readers: {type: object, properties: {replicas: {type: integer}}}`))
	f := s.finder()
	for _, test := range []struct {
		object string
		total  int32 // -1 means nil
	}{
		{"{}", -1},
		{"{spec: {replicas: 2, readers: {replicas: 3}}}", 5},
		{"{spec: {replicas: 0}}", 0},
		{"{spec: {replicas: -1}}", -1},
		{"{spec: {replicas: 2147483647}}", 2147483647},
		{"{spec: {replicas: 2147483647, readers: {replicas: 1}}}", -1},
		{"{spec: {replicas: 2147483648, readers: {replicas: 1}}}", 1},
	} {
		_, err := f.Find(t.Context(), set(), parse(t, test.object), nil)
		var unknown *UnknownFieldError
		if !errors.As(err, &unknown) || len(unknown.Candidates) != 2 || err.Error() != "sets.example.com has no /scale, and its replica field is unknown" {
			t.Fatalf("%s: %+v, error %v; want an UnknownFieldError with 2 candidates", test.object, unknown, err)
		}
		if total := candidates.Total(unknown.Candidates); (total == nil) != (test.total < 0) || total != nil && *total != test.total {
			t.Errorf("%s: total = %v, want %d", test.object, total, test.total)
		}
	}
	if n := s.count(apiserver.Path("/openapi/v3/")); n != 1 {
		t.Errorf("%d reads of the schema, want 1", n)
	}
	s = newServer(t, crdOf("{}", "{}", "image: {type: string}"))
	if _, err := s.finder().Find(t.Context(), set(), nil, nil); err == nil || err.Error() != "sets.example.com has no replica count: no /scale, and no such field in .spec" {
		t.Errorf("CRD without a replica field: error %v", err)
	}
	s.Forbid(readsCRD())
	var unknown *UnknownFieldError
	if _, err := s.finder().Find(t.Context(), set(), nil, nil); !errors.As(err, &unknown) || !errors.Is(err, outcome.ErrForbidden) {
		t.Errorf("no permission to read the CRD: error %v", err)
	}
	s.Fail(apiserver.Path("/openapi/"), apiserver.Fault{Err: down()})
	if _, err := s.finder().Find(t.Context(), set(), nil, nil); err == nil || !strings.HasPrefix(err.Error(), "read the schema of sets.example.com: ") {
		t.Errorf("failed read of the schema: error %v", err)
	}
}

func TestFindPerNode(t *testing.T) {
	t.Parallel()
	_, err := newServer(t).finder().Find(t.Context(), kinds.MyDaemonSet(), nil, nil)
	if !errors.Is(err, ErrPerNode) || !strings.HasSuffix(err.Error(), " has no replica count: it runs one pod per node") {
		t.Errorf("error %v, want ErrPerNode", err)
	}
}

// If a request fails, the error names the request, and the next call repeats the request.
func TestFindRetriesAfterError(t *testing.T) {
	t.Parallel()
	s := newServer(t, crd("{imoocpod.dev/replicas-path: .spec.size}", "{}"))
	f := s.finder()
	end := s.Fail(apiserver.Path("/apis/example.com/v1"), apiserver.Fault{Err: down()})
	if _, err := f.Find(t.Context(), set(), nil, nil); err == nil || !strings.HasPrefix(err.Error(), "find out whether sets.example.com has /scale: ") {
		t.Errorf("failed discovery: error %v", err)
	}
	end()
	end = s.Fail(readsCRD(), apiserver.Fault{Err: down()})
	if _, err := f.Find(t.Context(), set(), nil, nil); !apierrors.IsInternalError(err) || !strings.HasPrefix(err.Error(), "read the CRD of sets.example.com: ") {
		t.Errorf("failed read of the CRD: error %v", err)
	}
	end()
	if field, err := f.Find(t.Context(), set(), nil, nil); err != nil || field.String() != ".spec.size" {
		t.Errorf("after the failures: field %s, error %v", field, err)
	}
	odd := newServer(t, crd("{imoocpod.dev/replicas-path: '.spec['}", "{}"))
	if _, err := odd.finder().Find(t.Context(), set(), nil, nil); err == nil || !strings.HasPrefix(err.Error(), "annotation imoocpod.dev/replicas-path of the CRD sets.example.com: ") {
		t.Errorf("annotation with an invalid path: error %v", err)
	}
}

// Schema reads the OpenAPI document of the version. If the server has no such document, the error names the version.
func TestSchema(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	pod := kinds.Kind{Kind: "Pod"}
	pod.Resource.Version, pod.Resource.Resource = "v1", "pods"
	fields, err := s.finder().Schema(pod)
	kinds := fieldpath.Objects(fields["x-kubernetes-group-version-kind"])
	if err != nil || len(kinds) != 1 || kinds[0]["kind"] != "Pod" {
		t.Errorf("schema of Pod: %v, error %v", fields, err)
	}
	if _, err := s.finder().Schema(set()); err == nil || err.Error() != "read the schema of sets.example.com: the server has none for example.com/v1" {
		t.Errorf("schema of a missing group: error %v", err)
	}
}

func factsOf(t *testing.T, f *Finder, count *fieldpath.Path) (facts.Facts, error) {
	t.Helper()
	return FromSource(t.Context(), f, set(), "facts", func(source kinds.Source) (facts.Facts, error) { return facts.New(set(), source, count) })
}

// FromSource uses the CRD of a kind. If the user cannot read CRDs, it uses the OpenAPI document.
func TestFromSource(t *testing.T) {
	t.Parallel()
	s := newServer(t, crd("{imoocpod.dev/desired-path: .status.replicas}", "{status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}}"))
	size := fieldpath.Fields("spec", "size")
	f := s.finder()
	for range 2 {
		facts, err := factsOf(t, f, &size)
		if err != nil || len(facts.Desired) == 0 || len(facts.Ready) == 0 {
			t.Errorf("facts from the CRD: %+v, error %v", facts, err)
		}
	}
	if s.count(readsCRD()) != 1 || s.count(apiserver.Path("/openapi/")) != 0 {
		t.Errorf("requests %v, want 1 for the CRD and none for the OpenAPI document", s.Requests(nil))
	}
	s.Forbid(readsCRD())
	facts, err := factsOf(t, s.finder(), &size)
	if err != nil || len(facts.Desired) > 0 || len(facts.Ready) == 0 {
		t.Errorf("facts from the OpenAPI document: %+v, error %v", facts, err)
	}
	odd := newServer(t, crd("{imoocpod.dev/desired-path: '.status['}", "{}"))
	if _, err := factsOf(t, odd.finder(), nil); err == nil || !strings.HasPrefix(err.Error(), "the CRD sets.example.com: ") {
		t.Errorf("annotation with an invalid path: error %v", err)
	}
}

// Declare adds the declaration in the CRD to the kind. For shipped and built-in kinds, it reads no CRD.
func TestDeclare(t *testing.T) {
	t.Parallel()
	declared := "{imoocpod.dev/plan: pods, imoocpod.dev/replicas-path: .spec.size, imoocpod.dev/image: nginx}"
	s := newServer(t, crd(declared, "{status: {}}"))
	f := s.finder()
	if kind, err := f.Declare(t.Context(), set()); err != nil || !kind.Reconciled() || kind.Path().String() != ".spec.size" {
		t.Errorf("CRD with a plan: kind %+v, error %v", kind, err)
	}
	other := set()
	other.Resource.Version = "v2"
	if kind, err := s.finder().Declare(t.Context(), other); err != nil || kind.Resource != set().Resource {
		t.Errorf("kind in another version than the declaration: %+v, error %v", kind, err)
	}
	plain := newServer(t, crd("{}", "{}")).finder()
	if kind, err := plain.Declare(t.Context(), set()); err != nil || kind.Reconciled() {
		t.Errorf("CRD without a plan: kind %+v, error %v", kind, err)
	}
	s.Fail(readsCRD(), apiserver.Fault{Err: down()})
	if _, err := s.finder().Declare(t.Context(), set()); !apierrors.IsInternalError(err) {
		t.Errorf("failed read of the CRD by Declare: error %v", err)
	}
	for _, kind := range []kinds.Kind{deployment(), kinds.ImoocPod()} {
		if _, err := s.finder().Declare(t.Context(), kind); err != nil {
			t.Errorf("Declare(%s): error %v, want no read of a CRD", kind, err)
		}
	}
	var bad *kinds.DeclarationError
	wrong := newServer(t, crd("{imoocpod.dev/plan: magic}", "{}")).finder()
	if kind, err := wrong.Declare(t.Context(), set()); !errors.As(err, &bad) || kind.Reconciled() {
		t.Errorf("CRD with an unknown plan: kind %+v, error %v", kind, err)
	}
}
