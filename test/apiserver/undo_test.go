package apiserver_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver/play"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// TestUndoToARevisionThatNeverBecameReady checks that undo warns about a revision that was never
// completely rolled out. Only remaining pods of an older revision prove this.
func TestUndoToARevisionThatNeverBecameReady(t *testing.T) {
	deployment, statefulSet := workloads()[0], workloads()[1]
	for _, test := range []struct {
		workload

		images string
		warns  bool
	}{
		{deployment, "never:1 pull:1", true},
		{deployment, "never:1 pull:1 never:2", true},
		{deployment, "app:2 pull:1", false},
		{deployment, "app:2 never:1 app:3", false}, // the last rollout replaced all older pods
		{statefulSet, "never:1 pull:1", true},
		{statefulSet, "app:2 pull:1", false},
	} {
		t.Run(test.target+"/"+test.images, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := cluster(t, test.manifest)
				for image := range strings.FieldsSeq(test.images) {
					if _, _, err := run(t, s, "set image "+test.target+" app=example.com/"+image); err != nil {
						t.Fatal(err)
					}
					<-time.After(time.Minute)
				}
				_, stderr, err := run(t, s, "undo "+test.target)
				if got := strings.Contains(stderr, "never became ready: pods of revision 1 are still there"); err != nil || got != test.warns {
					t.Errorf("%v, it printed %q", err, stderr)
				}
			})
		})
	}
}

// TestWaitForObjectsOfDifferentKinds checks that the last line of wait describes all objects.
func TestWaitForObjectsOfDifferentKinds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := apiserver.New(t)
		play.Cluster(s)
		s.CreateYAML(widgets)
		play.Operator(s, "widgets", "Widget")
		all := workloads()
		s.CreateYAML(all[0].manifest)
		s.CreateYAML(all[3].manifest)
		<-time.After(time.Minute)
		_, stderr, err := run(t, s, "set image widget/web deployment/web app=example.com/new:1 --wait")
		if err != nil || !strings.Contains(stderr, "\n2 of 2 objects are ready, took ") {
			t.Errorf("%v, it printed %q", err, stderr)
		}
	})
}

// TestWaitForPodsThatNeedNoReplacement checks that --wait ends after a change back to the template
// of the running pods, although no pods are replaced and no labels show their revision.
func TestWaitForPodsThatNeedNoReplacement(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := apiserver.New(t)
		play.Cluster(s)
		s.CreateYAML(widgets)
		s.OnWrite(func(c apiserver.Change) { // an operator that does not replace pods
			if c.Resource.Resource != "widgets" || c.After == nil || c.Before != nil && c.Before.GetGeneration() == c.After.GetGeneration() {
				return
			}
			s.After(time.Second, func() {
				s.As("operator").Update("widgets", "default", "web", func(obj *unstructured.Unstructured) {
					_ = unstructured.SetNestedMap(obj.Object, map[string]any{"observedGeneration": obj.GetGeneration(), "replicas": int64(1), "readyReplicas": int64(1)}, "status")
				})
			})
		})
		s.CreateYAML(strings.Replace(workloads()[3].manifest, "replicas: 3", "replicas: 1", 1))
		s.CreateYAML(`{apiVersion: v1, kind: Pod, metadata: {name: web-0, ownerReferences: [{apiVersion: example.com/v1, kind: Widget, name: web, uid: "` +
			string(s.Get("widgets", "default", "web").GetUID()) + `", controller: true}]}, spec: {containers: [{name: app, image: "example.com/old:1"}]}}`)
		<-time.After(time.Minute)
		if _, _, err := run(t, s, "set image widget/web app=example.com/pull:1"); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if _, stderr, err := run(t, s, "set image widget/web app=example.com/old:1 --wait --timeout 1m"); err != nil {
			t.Errorf("%v, it printed %q", err, stderr)
		}
	})
}
