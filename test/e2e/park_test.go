package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// Objects of every kind can be parked and unparked, and are then unchanged. A count set
// by another writer is not overwritten.
func TestPark(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	for _, s := range steppedObjects(t, ns, 2) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			run := func(code int, verb string, args ...string) harness.Result {
				t.Helper()
				r := cluster.Kubectl(t, ns, append([]string{"imoocpod", verb, s.resource + "/" + s.name}, args...)...)
				if r.Code != code {
					t.Errorf("%s: exit code %d, said %q", r.Line, r.Code, r.Stderr)
				}
				return r
			}
			var path []string
			if s.flag {
				if r := run(harness.ExitError, "park"); !strings.Contains(r.Stderr, "kubectl imoocpod park searches.array.example.com/logs -n "+ns+" --replicas-path '"+s.path+"'\n") {
					t.Errorf("said %q", r.Stderr)
				}
				path = []string{"--replicas-path", s.path}
			}
			harness.Eventually(t, "it has its pods", func() bool { return len(statusOf(t, ns, s.resource+"/"+s.name).Pods) == 2 })
			before := s.get(t, ns)
			for _, dry := range []string{"client", "server"} {
				r := run(0, "park", append(path, "--dry-run="+dry, "-o", "jsonpath={.metadata.annotations}")...)
				if !strings.Contains(r.Stdout, `"replicas":2`) && !strings.Contains(r.Stdout, `\"replicas\":2`) || s.count(t, ns) != 2 {
					t.Errorf("%s printed %q", r.Line, r.Stdout)
				}
			}
			if r := run(0, "park", path...); !strings.HasPrefix(r.Stderr, s.object+": 2 → 0 (parked by ") || !strings.HasSuffix(r.Stdout, "/"+s.name+" parked\n") || s.count(t, ns) != 0 {
				t.Errorf("printed %q, said %q", r.Stdout, r.Stderr)
			}
			report := status.Report{}
			harness.Eventually(t, "it is parked", func() bool {
				text := cluster.Imoocpod(t, ns, "status", s.resource+"/"+s.name, "-o", "json")
				if err := json.Unmarshal([]byte(text), &report); err != nil {
					t.Fatal(err)
				}
				return report.Verdict == status.Parked
			})
			if report.ReasonCode != problem.CodeParked || !strings.HasSuffix(report.Reason, " ago (2 replicas)") || report.Parked == nil || report.Parked.Path != s.path {
				t.Errorf("its report is %+v", report)
			}
			run(0, "status", "--exit-code")
			run(0, "wait", "--timeout", "1m")
			saved := s.get(t, ns).GetAnnotations()[apis.AnnotationParked]
			if r := run(0, "park", path...); !strings.HasPrefix(r.Stderr, s.object+": already parked by ") || s.get(t, ns).GetAnnotations()[apis.AnnotationParked] != saved {
				t.Errorf("parked again, it said %q", r.Stderr)
			}
			s.set(t, ns, 1)
			if r := run(harness.ExitOverwritten, "unpark"); !strings.Contains(r.Stderr, "was parked with 2 replicas and has been scaled to 1 since\nhint: to keep the count as it is: kubectl annotate ") || s.count(t, ns) != 1 {
				t.Errorf("said %q", r.Stderr)
			}
			run(harness.ExitOverwritten, "park", path...)
			if verdict := statusOf(t, ns, s.resource+"/"+s.name).Verdict; verdict == "parked" {
				t.Error("it is parked, although someone has scaled it")
			}
			s.set(t, ns, 0)
			if r := run(0, "unpark"); !strings.HasPrefix(r.Stderr, s.object+": 0 → 2\n") || s.count(t, ns) != 2 {
				t.Errorf("printed %q, said %q", r.Stdout, r.Stderr)
			}
			after := s.get(t, ns)
			for _, obj := range []*unstructured.Unstructured{before, after} {
				unstructured.RemoveNestedField(obj.Object, "status")
			}
			changedOnly(t, before, after, nil)
			if r := run(0, "unpark"); r.Stderr != s.object+": not parked\n" {
				t.Errorf("said %q", r.Stderr)
			}
		})
	}
}

// Objects of several types are selected, listed, and parked. Objects with an owner are
// left alone, and autoscalers are named.
func TestParkMany(t *testing.T) {
	t.Parallel()
	installKinds(t)
	ns := cluster.NewNamespace(t)
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "web", 3))
	cluster.CreateObject(t, ns, "deployments.apps", workload("Deployment", "idle", 0))
	cluster.CreateObject(t, ns, "statefulsets.apps", workload("StatefulSet", "db", 1))
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2")
	harness.Must(t, cluster.Kubectl(t, ns, "label", "imoocpod", "foo", "app=a"))
	cluster.Imoocpod(t, ns, "create", "other", "--replicas", "2")
	cluster.Apply(t, ns, `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: auto}, spec: {minReplicas: 2, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}}`)
	harness.Eventually(t, "the ReplicaSet exists", func() bool {
		return strings.Contains(harness.Must(t, cluster.Kubectl(t, ns, "get", "replicasets", "-o", "name")), "web")
	})
	counts := func() string {
		var all []string
		for _, obj := range []string{"deployment/web", "deployment/idle", "statefulset/db", "imoocpod/foo", "imoocpod/other"} {
			all = append(all, harness.Must(t, cluster.Kubectl(t, ns, "get", obj, "-o", "jsonpath={.spec.replicas}")))
		}
		return strings.Join(all, " ")
	}
	// On a terminal, the user is asked for confirmation.
	for _, answer := range []struct{ keys, says string }{{"\r", "canceled, nothing was changed"}, {"n\r", "canceled, nothing was changed"}} {
		s := cluster.StartTerminal(t, 120, 40, nil, cluster.PluginDir+"/kubectl-imoocpod", "park", "-l", "app=a", "-n", ns)
		s.AwaitText("This scales 3 objects to zero. Do you want to continue? (y/N):")
		s.Press(answer.keys)
		s.AwaitText(answer.says)
		if code := s.Wait(); code != 0 || counts() != "3 0 1 2 2" {
			t.Errorf("exit code %d, the counts are %s", code, counts())
		}
	}
	r := cluster.Kubectl(t, ns, "imoocpod", "park", "-l", "app=a", "--yes")
	if harness.Must(t, r); counts() != "0 0 0 0 2" {
		t.Errorf("the counts are %s; it said\n%s", counts(), r.Stderr)
	}
	for _, line := range []string{
		"deployment/idle: already scaled to zero\n", "NAME             BEFORE   AFTER\n", "deployment/web   3        0\n", "imoocpod/foo     2        0\n", "statefulset/db   1        0\n",
		"Warning: deployment/web: HorizontalPodAutoscaler/auto keeps its replica count between 2 and 9\n", "deployment/web: 3 → 0 (parked by ",
	} {
		if !strings.Contains(r.Stderr, line) {
			t.Errorf("said\n%s, want %q in it", r.Stderr, line)
		}
	}
	harness.Must(t, cluster.Kubectl(t, ns, "imoocpod", "unpark", "deployments,imoocpods", "-l", "app=a"))
	if got := counts(); got != "3 0 0 2 2" {
		t.Errorf("the counts are %s", got)
	}
	s := cluster.StartTerminal(t, 120, 40, nil, cluster.PluginDir+"/kubectl-imoocpod", "park", "--all", "-n", ns)
	s.AwaitText("This scales 3 objects to zero. Do you want to continue? (y/N):")
	s.Press("y\r")
	if code := s.Wait(); code != 0 || counts() != "0 0 0 0 0" {
		t.Errorf("exit code %d, the counts are %s", code, counts())
	}
	if r := cluster.Kubectl(t, ns, "imoocpod", "unpark", "--all"); r.Code != 0 || counts() != "3 0 1 2 2" {
		t.Errorf("exit code %d, the counts are %s; it said\n%s", r.Code, counts(), r.Stderr)
	}
}

// scale lists the changes of several objects, and asks before it scales several to zero.
func TestScaleAsks(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2")
	cluster.Imoocpod(t, ns, "create", "bar", "--replicas", "1")
	const both = "NAME           BEFORE   AFTER\nimoocpod/foo   2        0\nimoocpod/bar   1        0\n"
	args := []string{"scale", "imoocpod/foo", "imoocpod/bar", "--replicas", "0", "-n", ns}
	s := cluster.StartTerminal(t, 120, 40, nil, cluster.PluginDir+"/kubectl-imoocpod", args...)
	s.AwaitText("This scales 2 objects to zero. Do you want to continue? (y/N):")
	s.Press("no\r")
	if code := s.Wait(); code != 0 || *cluster.ImoocPod(t, ns, "foo").Spec.Replicas != 2 {
		t.Errorf("exit code %d", code)
	}
	// No confirmation for one object scaled to zero, for several scaled to more, and
	// with --yes.
	for _, args := range []string{"imoocpod/foo --replicas 0", "imoocpod/foo imoocpod/bar --replicas 2", "imoocpod/foo imoocpod/bar --replicas 0 --yes"} {
		s := cluster.StartTerminal(t, 120, 40, nil, cluster.PluginDir+"/kubectl-imoocpod", append([]string{"scale", "-n", ns}, harness.Words(args)...)...)
		if code := s.Wait(); code != 0 || strings.Contains(s.Written(), "continue") {
			t.Errorf("%s: exit code %d, wrote %q", args, code, s.Written())
		}
	}
	setReplicas(t, ns, "foo", "test", 2)
	setReplicas(t, ns, "bar", "test", 1)
	r := cluster.Kubectl(t, ns, append([]string{"imoocpod"}, args...)...)
	if harness.Must(t, r); !strings.HasPrefix(r.Stderr, both) || *cluster.ImoocPod(t, ns, "bar").Spec.Replicas != 0 {
		t.Errorf("without a terminal it said %q", r.Stderr)
	}
}

// park is refused if the count must not be zero.
func TestParkIsRefused(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	group := ns + ".example.com"
	cluster.Apply(t, "", crdOf(group, "Quorum", "replicas: {type: integer, minimum: 1}", "replicas: {type: integer}", ", scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}"))
	removeCRD(t, "quorums."+group)
	cluster.AwaitEstablished(t, "crd/quorums."+group)
	cluster.CreateObject(t, ns, "quorums."+group, fmt.Sprintf("{apiVersion: %s/v1, kind: Quorum, metadata: {name: it}, spec: {replicas: 3}}", group))
	r := cluster.Kubectl(t, ns, "imoocpod", "park", "quorum/it")
	if r.Code != harness.ExitError || !strings.HasPrefix(r.Stderr, "error: quorum/it cannot be parked: the server refuses a count of zero in .spec.replicas: ") || !strings.Contains(r.Stderr, "greater than or equal to 1") {
		t.Errorf("exit code %d, said %q", r.Code, r.Stderr)
	}
	for _, args := range []string{"park", "park --all foo", "unpark --all -f x", "park mydaemonset/none"} {
		if r := cluster.Kubectl(t, ns, append([]string{"imoocpod"}, harness.Words(args)...)...); r.Code == 0 {
			t.Errorf("%s: exit code %d, said %q", args, r.Code, r.Stderr)
		}
	}
}

// scale warns before the change if a GitOps tool sets the count.
func TestWarnsOfGitOps(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	file := harness.WriteFile(t, workload("Deployment", "web", 2))
	harness.Must(t, cluster.Kubectl(t, ns, "apply", "--server-side", "--field-manager=argocd-controller", "-f", file))
	harness.Must(t, cluster.Kubectl(t, ns, "annotate", "deployment/web", "argocd.argoproj.io/tracking-id=shop:apps/Deployment:"+ns+"/web"))
	r := cluster.Kubectl(t, ns, "imoocpod", "scale", "deployment/web", "--replicas", "3")
	if harness.Must(t, r); !strings.HasPrefix(r.Stderr, "Warning: deployment/web: Argo CD sets its replica count; change it in the source of the Application shop\n") {
		t.Errorf("said %q", r.Stderr)
	}
}
