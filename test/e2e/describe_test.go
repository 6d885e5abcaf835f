package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Apply(t, ns, `
apiVersion: batch.tutorial.kubebuilder.io/v1alpha1
kind: ImoocPod
metadata: {name: foo, labels: {team: blue, app: shop}, annotations: {note: a test}}
spec: {replicas: 2}`)
	matches(t, "describe foo", cluster.Imoocpod(t, ns, "describe", "foo"), `Name:          foo
Namespace:     `+ns+`
Labels:        app=shop
               team=blue
Annotations:   note=a test
API Version:   batch.tutorial.kubebuilder.io/v1alpha1
Kind:          ImoocPod
Created:       \w{3}, \d\d \w{3} \d{4} [\d:]{8} [+-]\d{4}
Generation:    1 \(observed 0\)
Verdict:       not reconciled: no controller has seen it yet
Hint:          kubectl imoocpod run-controller -n `+ns+`
(Controller:    [^\n]+ all namespaces [^\n]+
)?Replicas:      2 desired \| 0 current \| 0 ready
Pods Status:   0 Running / 0 Waiting / 0 Succeeded / 0 Failed
Pod Template:
  Containers:
   busybox:
    Image:    busybox
    Command:  sleep 3600
Conditions:  <none>
Pods:  <none>
Events:  <none>
`)

	cluster.StartRunController(t, ns)
	cluster.AwaitConverged(t, ns, "foo", 2)
	foo := cluster.ImoocPod(t, ns, "foo")
	harness.Eventually(t, "an event reports the pods", func() bool { return strings.Contains(cluster.Events(t, ns, foo.UID), "SuccessfulCreate") })
	const age = `\d+\w*`
	pod := func(slot int32) string { return regexp.QuoteMeta(podName(foo, slot)) }
	matches(t, "describe foo", cluster.Imoocpod(t, ns, "describe", "foo"), `(?s:.*)
Generation:    1 \(observed 1\)
Verdict:       ready: 2 of 2 pods ready
Status By:     kubectl-imoocpod, `+age+` ago
Controller:    [^\n]+ \(process \d+\), since [^\n]+: the built-in kinds in namespace `+ns+`
Replicas:      2 desired \| 2 current \| 2 ready
Pods Status:   2 Running / 0 Waiting / 0 Succeeded / 0 Failed
(?s:.*)
Conditions:
  CONDITION +STATUS +SINCE +REASON +MESSAGE
  -+ +-+ +-+ +-+ +-+
  Ready +True +`+age+` [^\n]*
  Progressing +False +`+age+` [^\n]*
  ReplicaFailure +False +`+age+` [^\n]*
Pods:
  POD +READY +STATUS +RESTARTS +AGE +NODE +REASON
  -+ +-+ +-+ +-+ +-+ +-+ +-+
  `+pod(0)+` +1/1 +Running +0 +`+age+` +node-\d+
  `+pod(1)+` +1/1 +Running +0 +`+age+` +node-\d+
Events:
  Type +Reason +Age +From +Message
  -+ +-+ +-+ +-+ +-+
  Normal +SuccessfulCreate +`+age+` +kubectl-imoocpod +Created 2 pods
`)
}
