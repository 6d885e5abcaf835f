package apiserver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver/play"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// TestReasonsBelowAPod checks that status reports the problems of a StatefulSet that a pod owns,
// such as the workers of a leader pod.
func TestReasonsBelowAPod(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := apiserver.New(t)
		play.Kubelet(s)
		s.CreateYAML(widgets)
		s.CreateYAML(strings.Replace(workloads()[3].manifest, "replicas: 3", "replicas: 1", 1))
		owned := func(by, kind, resource, owner string) string {
			return "ownerReferences: [{apiVersion: " + by + ", kind: " + kind + ", name: " + owner + ", controller: true, uid: " + string(s.Get(resource, "default", owner).GetUID()) + "}]"
		}
		s.CreateYAML("{apiVersion: v1, kind: Pod, metadata: {name: web-0, " + owned("example.com/v1", "Widget", "widgets", "web") + "}, spec: {containers: [{name: app, image: 'example.com/app:1'}]}}")
		s.CreateYAML("{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web-0, " + owned("v1", "Pod", "pods", "web-0") +
			"}, spec: {replicas: 2, selector: {matchLabels: {app: web}}, serviceName: web, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: 'example.com/app:1'}]}}}}")
		s.CreateYAML("{apiVersion: v1, kind: Event, metadata: {name: refused}, type: Warning, reason: FailedCreate, message: 'create Pod web-0-1 failed: pods \"web-0-1\" is forbidden: exceeded quota: small', " +
			"involvedObject: {apiVersion: apps/v1, kind: StatefulSet, namespace: default, name: web-0, uid: " + string(s.Get("statefulsets", "default", "web-0").GetUID()) + "}}")
		<-time.After(time.Minute)
		stdout, _, err := run(t, s, "status widget/web")
		if err != nil || !strings.Contains(stdout, "exceeded quota: small") {
			t.Errorf("%v, it printed %q", err, stdout)
		}
	})
}
