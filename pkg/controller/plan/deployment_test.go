package plan

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
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

// liveFields returns the fields of wantedFields as stored by the server, with defaults and fields that
// others set.
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

// deploymentDeeds describes a plan in words, such as "apply:d7 remove:old", where d is the UID and 7 is
// the version.
func deploymentDeeds(p Actions) string {
	var words []string
	for _, o := range operations(p, Apply) {
		words = append(words, "apply:"+string(o.UID)+o.ResourceVersion)
	}
	for _, o := range operations(p, Delete) {
		words = append(words, "remove:"+o.Name)
	}
	return strings.Join(words, " ")
}

func TestDeployments(t *testing.T) {
	old := with(deployment(3, "nginx"), func(d *Deployment) { d.Name, d.UID = "old", "o" })
	foreign := with(deployment(3, "nginx"), func(d *Deployment) { d.Controller, d.OwnedBy = "somebody", "owned by Other x" })
	failed := func(d *Deployment) {
		d.Available, d.Ready = 1, 1
		d.Failure = &metav1.Condition{Reason: "ProgressDeadlineExceeded", Message: "too slow"}
	}
	for _, test := range []struct {
		name                     string
		desired                  int32
		deployments              []Deployment
		want                     string
		ready                    metav1.ConditionStatus
		progressing, why, failed string
	}{
		{"from nothing", 3, nil, "apply:", "False", "True", "WritingDeployment", ""},
		{"as it is wanted", 3, []Deployment{deployment(3, "nginx")}, "", "True", "False", "Converged", ""},
		{"nothing wanted", 0, []Deployment{deployment(0, "nginx")}, "", "True", "False", "Converged", ""},
		{"scaled by somebody", 3, []Deployment{deployment(5, "nginx")}, "apply:d7", "False", "True", "WritingDeployment", ""},
		{"its image is another", 3, []Deployment{deployment(3, "busybox")}, "apply:d7", "False", "True", "WritingDeployment", ""},
		{"its label is gone", 3, []Deployment{with(deployment(3, "nginx"), func(d *Deployment) { d.Fields["metadata"] = nil })}, "apply:d7", "False", "True", "WritingDeployment", ""},
		{"its container is gone", 3, []Deployment{with(deployment(3, "nginx"), func(d *Deployment) {
			d.Fields["spec"] = map[string]any{"template": map[string]any{}}
		})}, "apply:d7", "False", "True", "WritingDeployment", ""},
		{"somebody else's", 3, []Deployment{foreign}, "", "False", "False", "NameTaken", "NameTaken"},
		{"nobody's", 3, []Deployment{with(foreign, func(d *Deployment) { d.Controller = "" })}, "", "False", "False", "NameTaken", "NameTaken"},
		{"somebody else's, unlike what is wanted", 3, []Deployment{with(foreign, func(d *Deployment) { d.Fields = liveFields(5, "busybox") })}, "", "False", "False", "NameTaken", "NameTaken"},
		{"somebody else's of another name", 3, []Deployment{with(old, func(d *Deployment) { d.Controller = "somebody" }), deployment(3, "nginx")}, "", "True", "False", "Converged", ""},
		{"renamed, and the new one is written again", 3, []Deployment{old, deployment(3, "busybox")}, "apply:d7", "False", "True", "WritingDeployment", ""},
		{"renamed, and the new one is ending", 3, []Deployment{old, with(deployment(3, "nginx"), func(d *Deployment) { d.Terminating = true })}, "", "False", "True", "DeploymentEnding", ""},
		{"ending", 3, []Deployment{with(deployment(5, "nginx"), func(d *Deployment) { d.Terminating = true })}, "", "False", "True", "DeploymentEnding", ""},
		{"not yet seen by its controller", 3, []Deployment{with(deployment(3, "nginx"), func(d *Deployment) { d.ObservedGeneration-- })}, "", "False", "True", "DeploymentWritten", ""},
		{"rolling", 3, []Deployment{with(deployment(3, "nginx"), func(d *Deployment) { d.Updated = 1 })}, "", "False", "True", "RollingOut", ""},
		{"a pod too many", 3, []Deployment{with(deployment(3, "nginx"), func(d *Deployment) { d.Current = 4 })}, "", "False", "True", "DeletingPods", ""},
		{"starting", 3, []Deployment{with(deployment(3, "nginx"), func(d *Deployment) { d.Available, d.Ready = 1, 2 })}, "", "False", "True", "PodsStarting", ""},
		{"does not get on", 3, []Deployment{with(deployment(3, "nginx"), failed)}, "", "False", "False", "ProgressDeadlineExceeded", "ProgressDeadlineExceeded"},
		{"renamed", 3, []Deployment{old}, "apply:", "False", "True", "WritingDeployment", ""},
		{"renamed, the new one starts", 3, []Deployment{old, with(deployment(3, "nginx"), func(d *Deployment) { d.Available = 2 })}, "", "False", "True", "PodsStarting", ""},
		{"renamed, the new one is available", 3, []Deployment{old, deployment(3, "nginx")}, "remove:old", "True", "True", "RemovingDeployment", ""},
		{"renamed, the old one is going", 3, []Deployment{with(old, func(d *Deployment) { d.Terminating = true }), deployment(3, "nginx")}, "", "True", "False", "Converged", ""},
		{"renamed to a name that is taken", 3, []Deployment{old, foreign}, "", "False", "False", "NameTaken", "NameTaken"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := Deployments(deploymentView(test.desired, test.deployments...))
			if got := deploymentDeeds(p); got != test.want {
				t.Errorf("planned %q, want %q", got, test.want)
			}
			ready := meta.FindStatusCondition(p.Status.Conditions, apis.ConditionReady)
			progressing := meta.FindStatusCondition(p.Status.Conditions, apis.ConditionProgressing)
			failure := meta.FindStatusCondition(p.Status.Conditions, apis.ConditionReplicaFailure)
			if ready.Status != test.ready {
				t.Errorf("Ready is %+v, want %s", ready, test.ready)
			}
			if string(progressing.Status) != test.progressing || progressing.Reason != test.why {
				t.Errorf("Progressing is %+v, want %s, %s", progressing, test.progressing, test.why)
			}
			if got := failure.Reason; (failure.Status == metav1.ConditionTrue) != (test.failed != "") || (test.failed != "" && got != test.failed) {
				t.Errorf("ReplicaFailure is %+v, want %q", failure, test.failed)
			}
		})
	}
}

// If the server changes the fields that the controller applies, they are applied again only after
// another change of the Deployment or of the owner.
func TestDeploymentIsNotWrittenForEver(t *testing.T) {
	v := deploymentView(3, deployment(3, "docker.io/nginx")) // the image after an admission webhook has changed it
	p := Deployments(v)
	if !p.Writes() {
		t.Fatal("another image is no drift")
	}
	v.Memory.Applied = &Applied{Wanted: Wanted{Name: "web", Fields: p.Operations[0].Fields}, UID: "d", Stored: v.Deployments[0].Fields}
	if p := Deployments(v); p.Writes() || p.Recheck != 0 {
		t.Errorf("what was just written is written again (%q, recheck %v)", deploymentDeeds(p), p.Recheck)
	}
	v.Deployments = []Deployment{deployment(3, "busybox")}
	if p := Deployments(v); !p.Writes() {
		t.Error("a change by somebody is no drift")
	}
	v.Deployments = []Deployment{with(deployment(3, "docker.io/nginx"), func(d *Deployment) { d.UID = "new" })}
	if p := Deployments(v); !p.Writes() {
		t.Error("a Deployment that was deleted and created again is not written")
	}
	v = deploymentView(2, deployment(3, "docker.io/nginx"))
	v.Memory.Applied = &Applied{Wanted: Wanted{Name: "web", Fields: wantedFields(3, "nginx")}, UID: "d", Stored: v.Deployments[0].Fields}
	if p := Deployments(v); !p.Writes() {
		t.Error("a change of the owner is not written")
	}
}

func TestRefusedDeploymentWaits(t *testing.T) {
	v := deploymentView(3)
	v.Memory = v.Memory.Refused(slots.None, Refusal{Reason: "QuotaExceeded", Message: "no", Generation: 1, At: noon})
	p := Deployments(v)
	if p.Writes() || p.Recheck != time.Second {
		t.Errorf("planned %q, recheck %v; want to wait a second", deploymentDeeds(p), p.Recheck)
	}
	v.Now = noon.Add(time.Second)
	p = Deployments(v)
	if !p.Writes() {
		t.Error("it is not tried again")
	}
	if c := meta.FindStatusCondition(p.Status.Conditions, apis.ConditionProgressing); c.Reason != "WaitingAfterRefusal" {
		t.Errorf("Progressing is %+v during another attempt", c)
	}
	v.Deployments = []Deployment{deployment(3, "nginx")}
	if p := Deployments(v); len(p.Memory.Refusals) > 0 {
		t.Error("the refusal is remembered although the Deployment is there")
	}
}

// The status lists the sorted names of the active pods of the owner's own Deployments.
func TestNamesOfPods(t *testing.T) {
	v := deploymentView(3, deployment(3, "nginx"))
	for i, of := range []string{"web", "web", "stranger", "web", "web"} {
		v.Pods = append(v.Pods, Pod{Name: fmt.Sprintf("%s-%d", of, 9-i), UID: types.UID(fmt.Sprint(i)), Deployment: of, Terminating: i == 3, Finished: i == 4})
	}
	if got := Deployments(v).Status.PodNames; fmt.Sprint(got) != "[web-8 web-9]" {
		t.Errorf("the names are %v", got)
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
func TestSelectorOfADeploymentStays(t *testing.T) {
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

	p := Deployments(v)
	if !p.Writes() {
		t.Fatal("the other count is not written")
	}
	selector, labels := selected(p.Operations[0].Fields)
	if !reflect.DeepEqual(selector, old) || !reflect.DeepEqual(labels, map[string]any{"owner": "foo", "name": "foo", "app": "foo"}) {
		t.Errorf("it is written with the selector %v and the labels %v", selector, labels)
	}
	v.Deployments = nil
	if selector, labels = selected(Deployments(v).Operations[0].Fields); reflect.DeepEqual(selector, old) || len(labels) != 2 {
		t.Errorf("a new one is written with the selector %v and the labels %v", selector, labels)
	}
}

// A Deployment with a missing or different field has drifted. Fields that others add and defaults that
// the server sets are ignored.
func TestDrifted(t *testing.T) {
	list := func(all ...any) any { return all }
	container := func(field string, value any) map[string]any { return map[string]any{"name": "app", field: value} }
	spec := func(containers any) map[string]any {
		return map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": containers}}}}
	}
	port := map[string]any{"containerPort": int64(80)}
	for _, test := range []struct {
		name          string
		there, wanted any
		want          bool
	}{
		{"the same arguments", list(container("args", list("a", "b"))), list(container("args", list("a", "b"))), false},
		{"another argument", list(container("args", list("a", "c"))), list(container("args", list("a", "b"))), true},
		{"an argument was added", list(container("args", list("a", "b"))), list(container("args", list("a"))), true},
		{"an argument was removed", list(container("args", list("a"))), list(container("args", list("a", "b"))), true},
		{"another image", list(container("image", "nginx:1")), list(container("image", "nginx")), true},
		{"a default", list(container("ports", list(map[string]any{"containerPort": int64(80), "protocol": "TCP"}))), list(container("ports", list(port))), false},
		{"a container was added", list(map[string]any{"name": "proxy"}, container("image", "nginx")), list(container("image", "nginx")), false},
		{"no container is there", nil, list(container("image", "nginx")), true},
		{"a text is there", "text", list(container("image", "nginx")), true},
	} {
		d := Deployment{Fields: spec(test.there)}
		if got := (Memory{}).drifted(&d, Wanted{Fields: spec(test.wanted)}); got != test.want {
			t.Errorf("%s: drifted %t, want %t", test.name, got, test.want)
		}
		if !reflect.DeepEqual(d.Fields, spec(test.there)) {
			t.Errorf("%s: the Deployment was changed to %v", test.name, d.Fields)
		}
	}
}

// If the template is invalid, no Deployment is created, and an existing Deployment is not touched.
func TestDeploymentWithAnInvalidTemplate(t *testing.T) {
	live := deployment(5, "busybox")
	spec := nested(live.Fields, "spec")
	spec["selector"] = map[string]any{"matchLabels": map[string]any{"owner": "foo"}}
	for _, all := range [][]Deployment{nil, {live}} {
		v := deploymentView(3, all...)
		v.Owner.Wanted.Fields, v.Owner.Problem = nil, "no image"
		p := Deployments(v)
		if p.Writes() {
			t.Errorf("planned %q, want nothing", deploymentDeeds(p))
		}
		progressing := meta.FindStatusCondition(p.Status.Conditions, apis.ConditionProgressing)
		failure := meta.FindStatusCondition(p.Status.Conditions, apis.ConditionReplicaFailure)
		if progressing.Reason != "InvalidTemplate" || progressing.Status != metav1.ConditionFalse || failure.Message != "no image" {
			t.Errorf("Progressing is %+v, ReplicaFailure is %+v", progressing, failure)
		}
	}
}

func TestStatusOfAnInvalidOwnerCountsItsOwnDeployment(t *testing.T) {
	for name, change := range map[string]func(*Deployment){
		"somebody else's": func(d *Deployment) { d.Controller = "somebody" },
		"another":         func(d *Deployment) { d.Name = "old" },
	} {
		v := deploymentView(3, with(deployment(3, "nginx"), change))
		v.Owner.Invalid = "-1 pods"
		if got := Deployments(v).Status.Current; got != 0 {
			t.Errorf("%s: counts %d pods, want 0", name, got)
		}
	}
}

func TestNameTaken(t *testing.T) {
	for ownedBy, want := range map[string]string{
		"":                   "Deployment web already exists and is not owned by this AppService",
		"owned by Website x": "Deployment web already exists and is owned by Website x",
	} {
		if got := NameTaken("AppService", "Deployment web", ownedBy); got != want {
			t.Errorf("says %q, want %q", got, want)
		}
	}
}

func TestMessagesOfADeployment(t *testing.T) {
	refused := func(v *View) {
		v.Memory = v.Memory.Refused(slots.None, Refusal{Reason: "QuotaExceeded", Message: "exceeded quota", Generation: 1, At: noon})
	}
	stuck := func(d *Deployment) {
		d.Failure = &metav1.Condition{Reason: "ProgressDeadlineExceeded", Message: "too slow"}
	}
	for _, test := range []struct {
		name                     string
		live                     Deployment
		change                   func(*View)
		ready, progress, failure string
	}{
		{"too many", with(deployment(3, "nginx"), func(d *Deployment) { d.Current = 5 }), nil, "PodsSurplus", "removing 2 pods", ""},
		{"too few", with(deployment(3, "nginx"), func(d *Deployment) { d.Available, d.Ready = 1, 2 }), nil, "PodsNotReady", "waiting for 2 pods to become available", ""},
		{"to be written, and not ready", with(deployment(3, "busybox"), func(d *Deployment) { d.Ready = 1 }), nil, "PodsNotReady", "writing Deployment web", ""},
		{"ready, and not available yet", with(deployment(3, "nginx"), func(d *Deployment) { d.Available = 2 }), nil, "DeploymentNotReady", "waiting for 1 pod to become available", ""},
		{"refused", deployment(5, "nginx"), refused, "PodsSurplus", "cannot write the Deployment; trying again later", "exceeded quota"},
		{"refused, and stuck before", with(deployment(5, "nginx"), stuck), refused, "PodsSurplus", "cannot write the Deployment; trying again later", "exceeded quota"},
	} {
		v := deploymentView(3, test.live)
		if test.change != nil {
			test.change(&v)
		}
		conditions := Deployments(v).Status.Conditions
		if c := meta.FindStatusCondition(conditions, apis.ConditionReady); c.Reason != test.ready {
			t.Errorf("%s: Ready is %+v, want %s", test.name, c, test.ready)
		}
		if c := meta.FindStatusCondition(conditions, apis.ConditionProgressing); c.Message != test.progress {
			t.Errorf("%s: Progressing is %+v, want %q", test.name, c, test.progress)
		}
		if c := meta.FindStatusCondition(conditions, apis.ConditionReplicaFailure); test.failure != "" && c.Message != test.failure {
			t.Errorf("%s: ReplicaFailure is %+v, want %q", test.name, c, test.failure)
		}
	}
}
