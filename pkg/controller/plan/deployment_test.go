package plan

import (
	"fmt"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/test/rows"
)

func wantedFields(replicas int64, image string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"owner": "foo"}},
		"spec": map[string]any{
			"replicas": replicas,
			"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "app", "image": image}}}},
		},
	}
}

// liveFields returns the fields of wantedFields as stored by the server, with defaults and fields that others set.
func liveFields(replicas int64, image string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"owner": "foo", "other": "x"}, "annotations": map[string]any{"revision": "1"}},
		"spec": map[string]any{
			"replicas":             replicas,
			"revisionHistoryLimit": int64(10),
			"template": map[string]any{"spec": map[string]any{"containers": []any{
				map[string]any{"name": "sidecar", "image": "proxy"},
				map[string]any{"name": "app", "image": image, "imagePullPolicy": "Always", "resources": map[string]any{}},
			}}},
		},
	}
}

// deployment returns foo's Deployment web with all pods available.
func deployment(replicas int32, image string) Deployment {
	return Deployment{
		Name: "web", UID: "d", ResourceVersion: "7", Controller: uid, OwnedBy: "owned by AppService foo",
		Generation: 3, ObservedGeneration: 3, Fields: liveFields(int64(replicas), image),
		Current: replicas, Updated: replicas, Ready: replicas, Available: replicas,
	}
}

func with(d Deployment, change func(*Deployment)) Deployment {
	change(&d)
	return d
}

func deploymentView(desired int32, deployments ...Deployment) View {
	v := view(desired, "")
	v.Owner.Wanted = Wanted{Name: "web", Fields: wantedFields(int64(desired), "nginx")}
	v.Owner.StatusPaths = kinds.StatusPaths{Current: shown, Available: shown, PodNames: shown, ObservedGeneration: shown, Conditions: shown}
	v.Deployments = deployments
	return v
}

// If the server changes the fields that the controller applies, they are applied again only after
// another change of the Deployment or of the owner.
func TestDeploymentIsNotRewrittenForever(t *testing.T) {
	v := deploymentView(3, deployment(3, "docker.io/nginx")) // the image after an admission webhook has changed it
	a := Deployments(v)
	if !a.Writes() {
		t.Fatal("a different image is not treated as drift")
	}
	v.Memory.Applied = &Applied{Wanted: Wanted{Name: "web", Fields: a.Operations[0].Fields}, UID: "d", Stored: v.Deployments[0].Fields}
	if a := Deployments(v); a.Writes() || a.Recheck != 0 {
		t.Errorf("the fields that were just applied: planned %q, recheck %v; want neither", deeds(a), a.Recheck)
	}
	v.Deployments = []Deployment{deployment(3, "busybox")}
	if a := Deployments(v); !a.Writes() {
		t.Error("a change by another writer is not treated as drift")
	}
	v.Deployments = []Deployment{with(deployment(3, "docker.io/nginx"), func(d *Deployment) { d.UID = "new" })}
	if a := Deployments(v); !a.Writes() {
		t.Error("a Deployment that was deleted and recreated is not written")
	}
	v = deploymentView(2, deployment(3, "docker.io/nginx"))
	v.Memory.Applied = &Applied{Wanted: Wanted{Name: "web", Fields: wantedFields(3, "nginx")}, UID: "d", Stored: v.Deployments[0].Fields}
	if a := Deployments(v); !a.Writes() {
		t.Error("a change of the owner is not applied to the Deployment")
	}
}

// The status lists the sorted names of the active pods of the owner's own Deployments.
func TestNamesOfPods(t *testing.T) {
	v := deploymentView(3, deployment(3, "nginx"))
	for i, of := range []string{"web", "web", "stranger", "web", "web"} {
		v.Pods = append(v.Pods, Pod{Name: fmt.Sprintf("%s-%d", of, 9-i), UID: types.UID(fmt.Sprint(i)), Deployment: of, Terminating: i == 3, Finished: i == 4})
	}
	if got := Deployments(v).Status.PodNames; fmt.Sprint(got) != "[web-8 web-9]" {
		t.Errorf("status.PodNames = %v, want [web-8 web-9]", got)
	}
}

// nested returns the object at a path of fields, without copying it.
func nested(fields map[string]any, path ...string) map[string]any {
	for _, name := range path {
		fields, _ = fields[name].(map[string]any)
	}
	return fields
}

// A Deployment from an earlier version of the program or of the CRD keeps its immutable selector, and
// its pods keep the labels that match the selector.
func TestDeploymentKeepsItsSelector(t *testing.T) {
	v := deploymentView(2, deployment(3, "nginx"))
	selected := func(d map[string]any) (selector, labels map[string]any) {
		selector = nested(d, "spec", "selector")
		labels = nested(d, "spec", "template", "metadata", "labels")
		return selector, labels
	}
	spec := nested(v.Deployments[0].Fields, "spec")
	old := map[string]any{"matchLabels": map[string]any{"owner": "foo", "app": "foo"}}
	spec["selector"] = old
	wanted := nested(v.Owner.Wanted.Fields, "spec")
	wanted["selector"] = map[string]any{"matchLabels": map[string]any{"owner": "foo"}}
	template := nested(wanted, "template")
	template["metadata"] = map[string]any{"labels": map[string]any{"owner": "foo", "name": "foo"}}

	a := Deployments(v)
	if !a.Writes() {
		t.Fatal("the changed replica count is not written")
	}
	selector, labels := selected(a.Operations[0].Fields)
	if !reflect.DeepEqual(selector, old) || !reflect.DeepEqual(labels, map[string]any{"owner": "foo", "name": "foo", "app": "foo"}) {
		t.Errorf("existing Deployment: written with selector %v and pod labels %v, want the stored selector, and labels that still match it", selector, labels)
	}
	v.Deployments = nil
	if selector, labels = selected(Deployments(v).Operations[0].Fields); reflect.DeepEqual(selector, old) || len(labels) != 2 {
		t.Errorf("new Deployment: written with selector %v and pod labels %v, want those of the owner", selector, labels)
	}
}

func TestDrifted(t *testing.T) {
	t.Parallel()
	spec := func(containers any) map[string]any {
		return map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": containers}}}}
	}
	type row struct {
		Name        string
		Exist, Want any
		Drifted     bool
	}
	rows.Run(t, "testdata/drift/*.yaml", noon, func(t *testing.T, row row) {
		d, before := Deployment{Fields: spec(row.Exist)}, fmt.Sprint(spec(row.Exist))
		if got := (Memory{}).drifted(&d, Wanted{Fields: spec(row.Want)}); got != row.Drifted {
			t.Errorf("drifted = %t, want %t", got, row.Drifted)
		}
		if fmt.Sprint(d.Fields) != before {
			t.Errorf("drifted modified its input; the fields are now %v", d.Fields)
		}
	})
}
