package kinds

import (
	_ "embed"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/test/objects"
	"github.com/imoocpod/kubectl-imoocpod/test/rows"
)

//go:embed testdata/widget.yaml
var widgetCRD []byte

// crdWith returns the CRD of Widgets with annotations.
func crdWith(t *testing.T, annotations map[string]string) *unstructured.Unstructured {
	t.Helper()
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(widgetCRD, &crd.Object); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"example.com/plan": "not ours"}
	for key, value := range annotations {
		all["imoocpod.dev/"+key] = value
	}
	crd.SetAnnotations(all)
	return crd
}

// declarationRow is a declaration, with the declared kind or the problem of the declaration.
type declarationRow struct {
	Name        string
	Annotations map[string]string
	// Version is a merge patch for the storage version. Scope is the new scope of the CRD.
	Version json.RawMessage
	Scope   string

	Replicas []string
	// Empty is the expected Mapping.Status.Empty.
	Mapping Mapping
	Empty   objects.Content
	Problem string
}

func (row declarationRow) crd(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	crd := crdWith(t, row.Annotations)
	spec := fieldpath.Object(crd.Object, "spec")
	if row.Scope != "" {
		spec["scope"] = row.Scope
	}
	if row.Version == nil {
		return crd
	}
	before, err := json.Marshal(CRDVersion(crd, "storage", true))
	if err != nil {
		t.Fatal(err)
	}
	after, err := jsonpatch.MergePatch(before, row.Version)
	if err != nil {
		t.Fatal(err)
	}
	var version objects.Content
	if err := json.Unmarshal(after, &version); err != nil {
		t.Fatal(err)
	}
	spec["versions"] = []any{fieldpath.Objects(spec["versions"])[0], map[string]any(version)}
	return crd
}

func TestDeclared(t *testing.T) {
	t.Parallel()
	rows.Run(t, "testdata/declarations/*.yaml", time.Time{}, func(t *testing.T, row declarationRow) {
		kind, err := Declared(row.crd(t))
		if row.Problem != "" {
			var declaration *DeclarationError
			if !errors.As(err, &declaration) || declaration.CRD != "widgets.example.com" || !strings.Contains(err.Error(), row.Problem) || kind.Reconciled() {
				t.Errorf("kind %+v, error %v; want the problem %q", kind, err, row.Problem)
			}
			return
		}
		if err != nil || kind.CRD() != "widgets.example.com" || kind.Resource.Version != "v1" || kind.Kind != "Widget" || kind.Singular != "widget" {
			t.Errorf("kind %+v, error %v; want the kind Widget", kind, err)
		}
		want := row.Mapping
		want.Status.Empty = row.Empty
		if !slices.Equal(kind.ReplicasPath, row.Replicas) || !equality.Semantic.DeepEqual(kind.Mapping, want) {
			t.Errorf("replicas path %v, mapping\n%+v\nwant %v\n%+v", kind.ReplicasPath, kind.Mapping, row.Replicas, want)
		}
	})
}

// For any annotations of a CRD, Declared returns a kind or a list of problems.
func FuzzDeclared(f *testing.F) {
	f.Add("pods", ".spec.replicas", ".spec.template", ".status.readyReplicas")
	f.Add("deployment", ".spec.pools[0].size", "", ".status.conditions")
	f.Add("none", "..", "{", "$")
	f.Fuzz(func(t *testing.T, plan, replicas, template, ready string) {
		crd := crdWith(t, map[string]string{"plan": plan, "replicas-path": replicas, "template-path": template, "ready-path": ready})
		kind, err := Declared(crd)
		if problems := (*DeclarationError)(nil); err != nil && (!errors.As(err, &problems) || len(problems.Problems) == 0) {
			t.Errorf("plan %q is rejected without a problem: %v", plan, err)
		}
		if err == nil && kind.Kind == "" {
			t.Errorf("plan %q is accepted, but the kind has no name", plan)
		}
	})
}

func TestEstablished(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]bool{"Established True": true, "Established False": false, "NamesAccepted True": false} {
		kind, status, _ := strings.Cut(words, " ")
		crd := crdWith(t, nil)
		crd.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": kind, "status": status}}}
		if got := Established(crd); got != want {
			t.Errorf("Established with the condition %s = %t, want %t", words, got, want)
		}
	}
}
