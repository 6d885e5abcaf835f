package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver/play"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// rightOf returns the permission that a request needs, such as "patch imoocpods/scale". All shipped kinds
// count as ImoocPods, because "check" requires the same permissions for all of them.
func rightOf(r apiserver.Request) string {
	if slices.Contains([]string{"appservices", "helloworlds", "mydaemonsets"}, r.Resource) {
		r.Resource = "imoocpods"
	}
	return r.Verb + " " + strings.Trim(r.Resource+"/"+r.Subresource, "/")
}

// A verb works with exactly the permissions that "check" requires for it, and uses each of them. Its other
// requests are allowed to fail, such as lists of leases and disruption budgets for warnings.
func TestRightsOfVerbs(t *testing.T) {
	t.Parallel()
	const (
		get     = "get imoocpods"
		list    = "list imoocpods"
		watch   = "watch imoocpods"
		patch   = "patch imoocpods"
		history = "list controllerrevisions"
		events  = "list events"
	)
	optional := []string{"list leases", "watch leases", "list horizontalpodautoscalers", "list poddisruptionbudgets", events, "list pods"}
	for verb, test := range map[string]struct {
		// commands run in order. Each must exit with the code in the field code.
		commands []string
		rights   []string
		// more lists permissions that the verb tries to use, but does not need.
		more  []string
		image string
		code  int
	}{
		"create":   {commands: []string{"create bar"}, rights: []string{"create imoocpods"}},
		"scale":    {commands: []string{"scale foo --replicas 3"}, rights: []string{get, "patch imoocpods/scale"}, more: []string{patch}},
		"restart":  {commands: []string{"restart foo"}, rights: []string{get, patch}},
		"pause":    {commands: []string{"pause foo", "resume foo"}, rights: []string{get, patch}},
		"set":      {commands: []string{"set image foo nginx:1.28"}, rights: []string{get, patch}},
		"undo":     {commands: []string{"undo foo"}, rights: []string{get, patch, history}},
		"park":     {commands: []string{"park foo"}, rights: []string{get, patch}},
		"unpark":   {commands: []string{"unpark parked"}, rights: []string{get, patch}},
		"delete":   {commands: []string{"delete foo"}, rights: []string{get, list, watch, "delete imoocpods"}},
		"describe": {commands: []string{"describe foo"}, rights: []string{get, "list pods", events}},
		"history":  {commands: []string{"history foo"}, rights: []string{get, history}},
		"status": {
			commands: []string{"status foo --wait --timeout 2s", "status imoocpods -l verb=status --wait --timeout 2s"},
			rights:   []string{get, list, watch, "list pods", "watch pods", events}, more: []string{"watch events"}, image: "never", code: exitTimeout,
		},
		"wait": {commands: []string{"wait foo --timeout 2s"}, rights: []string{list, watch, "list pods", "watch pods"}, image: "never", code: exitTimeout},
	} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				s := newStage(t)
				play.Cluster(s.Server)
				play.Operator(s.Server, "imoocpods", "ImoocPod")
				const object = `
apiVersion: batch.tutorial.kubebuilder.io/v1alpha1
kind: ImoocPod
metadata: {name: NAME, labels: {verb: status}}
spec: {replicas: 1, template: {spec: {containers: [{name: main, image: web}]}}}`
				for _, name := range []string{"foo", "parked"} {
					s.CreateYAML(strings.Replace(object, "NAME", name, 1))
				}
				<-time.After(time.Minute)
				for _, line := range []string{"park parked", "set image foo web:2"} {
					if result := runOn(t.Context(), s.Server, line); result.code != exitDone {
						t.Fatalf("preparation %q failed: %+v", line, result)
					}
				}
				play.SetFate(s.Server, test.image)
				<-time.After(time.Minute)
				if verb == "delete" { // delete waits until the object is gone
					setFinalizers := func(list ...string) {
						s.As("user").Update("imoocpods", "default", "foo", func(obj *unstructured.Unstructured) { obj.SetFinalizers(list) })
					}
					setFinalizers("example.com/later")
					s.After(time.Minute, func() { setFinalizers() })
				}
				s.Forbid(func(r apiserver.Request) bool {
					return r.User == "alice" && r.Resource != "" && !slices.Contains(test.rights, rightOf(r))
				})
				result := runOn(t.Context(), s.Server, "check -o json --as alice")
				var report struct{ Checks []check.Result }
				if err := json.Unmarshal([]byte(result.stdout), &report); err != nil {
					t.Fatalf("output of check is not JSON: %v: %+v", err, result)
				}
				i := slices.IndexFunc(report.Checks, func(c check.Result) bool { return c.Name == "permission to "+verb })
				if i < 0 || report.Checks[i].State != check.Passed {
					t.Errorf("check does not pass with all required permissions: %+v", report.Checks)
				}
				s.Forget()
				for _, line := range test.commands {
					if result := runOn(t.Context(), s.Server, line+" --as alice"); result.code != test.code {
						t.Errorf("%s: %+v, want exit code %d", line, result, test.code)
					}
				}
				var used []string
				for _, r := range s.Requests(func(r apiserver.Request) bool { return r.Namespace != "" }) {
					right := rightOf(r)
					used = append(used, right)
					if !slices.Contains(test.rights, right) && !slices.Contains(optional, right) && !slices.Contains(test.more, right) {
						t.Errorf("unexpected request that needs the permission to %q", right)
					}
				}
				for _, right := range test.rights {
					if !slices.Contains(used, right) {
						t.Errorf("no request uses the permission to %q", right)
					}
				}
			})
		})
	}
}

// If a user can list leases only in some namespaces, check finds the controllers there. The leases of controllers for
// all namespaces are in kube-system. If the user cannot list them, check does not claim that no controller is running.
func TestCheckFindsControllersByTheReadableLeases(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := newStage(t)
		controller := func() check.State {
			t.Helper()
			result := runOn(t.Context(), s.Server, "check -n default -o json")
			var report struct{ Checks []check.Result }
			if err := json.Unmarshal([]byte(result.stdout), &report); err != nil {
				t.Fatalf("%v: %+v", err, result)
			}
			i := slices.IndexFunc(report.Checks, func(c check.Result) bool { return c.Name == "controller" })
			return report.Checks[i].State
		}
		forbidLeases := func(namespace string) {
			s.Forbid(func(r apiserver.Request) bool { return r.Resource == "leases" && r.Namespace == namespace })
		}
		s.CreateYAML(`
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: imoocpod-run-controller-all, namespace: kube-system, labels: {` + apis.LabelController + ": " + apis.RunController + `}}
spec: {holderIdentity: other, leaseDurationSeconds: 15, renewTime: "` + time.Now().UTC().Format(metav1.RFC3339Micro) + `"}`)
		forbidLeases("")
		if got := controller(); got != check.Passed {
			t.Errorf("with a controller for all namespaces, the check is %s", got)
		}
		forbidLeases("kube-system")
		if got := controller(); got != check.Unknown {
			t.Errorf("without the right to list leases in kube-system, the check is %s", got)
		}
	})
}
