package play_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver/play"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

const workload = `
apiVersion: apps/v1
kind: %s
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "example.com/web:1"}]}`

func setImage(s *apiserver.Server, resource, image string) {
	s.Update(resource, "default", "web", func(obj *unstructured.Unstructured) {
		_ = unstructured.SetNestedSlice(obj.Object, []any{map[string]any{"name": "app", "image": image}}, "spec", "template", "spec", "containers")
	})
}

// pods returns, as text, the number of pods with each image and the number of ready pods.
func pods(s *apiserver.Server) string {
	images, ready := map[string]int{}, 0
	for _, pod := range s.List("pods", "default") {
		containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
		container, _ := containers[0].(map[string]any)
		images[strings.TrimPrefix(fmt.Sprint(container["image"]), "example.com/")]++
		conditions, _, _ := unstructured.NestedSlice(pod.Object, "status", "conditions")
		for _, c := range conditions {
			if c, _ := c.(map[string]any); c["type"] == "Ready" && c["status"] == "True" {
				ready++
			}
		}
	}
	return fmt.Sprint(images, " ready ", ready)
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func status(s *apiserver.Server, resource, name string, fields ...string) string {
	obj := s.Get(resource, "default", name)
	var all []string
	for _, field := range fields {
		value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "status", field)
		all = append(all, fmt.Sprint(value))
	}
	return strings.Join(all, " ")
}

// reasons returns the type, status, and reason of each condition of an object as text.
func reasons(s *apiserver.Server, resource, name string) (all string) {
	list, _, _ := unstructured.NestedSlice(s.Get(resource, "default", name).Object, "status", "conditions")
	for _, c := range list {
		if c, ok := c.(map[string]any); ok {
			all += fmt.Sprintf("%s=%s:%s ", c["type"], c["status"], c["reason"])
		}
	}
	return all
}

// TestDeployment checks the pods and conditions of a Deployment during a rollout, a stalled
// rollout, a rollback, and its deletion.
func TestDeployment(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := apiserver.New(t)
		play.Cluster(s)
		s.CreateYAML(fmt.Sprintf(workload, "Deployment"))
		for _, step := range []struct {
			image, pods, reasons, revision string
		}{
			{"web:1", "map[web:1:3] ready 3", "Available=True:MinimumReplicasAvailable Progressing=True:NewReplicaSetAvailable ", "1"},
			{"web:2", "map[web:2:3] ready 3", "Available=True:MinimumReplicasAvailable Progressing=True:NewReplicaSetAvailable ", "2"},
			{"crash:1", "map[crash:1:1 web:2:3] ready 3", "Available=True:MinimumReplicasAvailable Progressing=False:ProgressDeadlineExceeded ", "3"},
			{"web:2", "map[web:2:3] ready 3", "Available=True:MinimumReplicasAvailable Progressing=True:NewReplicaSetAvailable ", "4"},
		} {
			setImage(s, "deployments", "example.com/"+step.image)
			pass(time.Hour)
			revision := s.Get("deployments", "default", "web").GetAnnotations()["deployment.kubernetes.io/revision"]
			if got, why := pods(s), reasons(s, "deployments", "web"); got != step.pods || why != step.reasons || revision != step.revision {
				t.Errorf("%s: %s, %s, revision %s", step.image, got, why, revision)
			}
		}
		setImage(s, "deployments", "example.com/slow:10s")
		pass(time.Minute)
		if got := pods(s); got != "map[slow:10s:3] ready 3" {
			t.Errorf("with a slow image: got %s", got)
		}
		s.Delete("deployments", "default", "web")
		pass(time.Minute)
		if got := pods(s); got != "map[] ready 0" {
			t.Errorf("after the deletion: got %s", got)
		}
	})
}

// TestStatefulSet checks that pods are replaced in order, and that a stalled update continues after
// the unready pod is deleted.
func TestStatefulSet(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := apiserver.New(t)
		play.Cluster(s)
		s.CreateYAML(fmt.Sprintf(workload, "StatefulSet"))
		pass(time.Minute)
		for _, step := range []struct{ image, pods, counts string }{
			{"web:1", "map[web:1:3] ready 3", "3 3 3"},
			{"web:2", "map[web:2:3] ready 3", "3 3 3"},
			{"never:1", "map[never:1:1 web:2:2] ready 2", "2 2 1"},
			{"web:2", "map[never:1:1 web:2:2] ready 2", "2 2 2"},
		} {
			setImage(s, "statefulsets", "example.com/"+step.image)
			pass(time.Hour)
			if got, counts := pods(s), status(s, "statefulsets", "web", "readyReplicas", "currentReplicas", "updatedReplicas"); got != step.pods || counts != step.counts {
				t.Errorf("%s: %s, %s", step.image, got, counts)
			}
		}
		s.Delete("pods", "default", "web-2")
		pass(time.Minute)
		if got := pods(s); got != "map[web:2:3] ready 3" {
			t.Errorf("after deleting the stuck pod: got %s", got)
		}
		if now := status(s, "statefulsets", "web", "currentRevision"); now != status(s, "statefulsets", "web", "updateRevision") {
			t.Errorf("got final status %s", now)
		}
	})
}

func TestOperator(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := apiserver.New(t)
		s.CreateCRDs()
		play.Kubelet(s)
		play.Operator(s, "imoocpods", "ImoocPod")
		s.CreateYAML("{apiVersion: batch.tutorial.kubebuilder.io/v1alpha1, kind: ImoocPod, metadata: {name: web}, spec: {replicas: 2}}")
		pass(time.Minute)
		const done = "Ready=True:PodsReady Progressing=False:Converged ReplicaFailure=False:NoFailure "
		if got, why := pods(s), reasons(s, "imoocpods", "web"); got != "map[busybox:2] ready 2" || why != done {
			t.Errorf("%s, %s", got, why)
		}
		setImage(s, "imoocpods", "example.com/web:1")
		pass(time.Minute)
		if got, why := pods(s), reasons(s, "imoocpods", "web"); got != "map[web:1:2] ready 2" || why != done {
			t.Errorf("%s, %s", got, why)
		}
		if got := status(s, "imoocpods", "web", "observedGeneration", "replicas", "readyReplicas"); got != "2 2 2" {
			t.Errorf("got status %s", got)
		}
	})
}
