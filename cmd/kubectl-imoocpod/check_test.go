package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// Whoever has nothing but Deployments needs neither the CRDs nor the controller: check says
// so and succeeds, whether or not the user may read CRDs. A missing right on Deployments is
// a failure.
func TestCheckOfDeployments(t *testing.T) {
	t.Parallel()
	const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	for name, test := range map[string]struct {
		admin  bool
		denied string // a resource
		code   int
		says   []string
	}{
		"administrator": {true, "", exitDone, []string{"✔ permission to scale", "✔ permission to install"}},
		"user":          {false, "", exitDone, []string{"✔ permission to scale", "○ permission to install", "○ permission to run-controller"}},
		"may not scale": {false, "deployments/scale", exitError, []string{"✔ permission to status", "✖ permission to scale", "no permission to patch deployments.apps/scale"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveObjects(t, append(workloads(), resourceType{"coordination.k8s.io/v1", "leases", "Lease", true, false},
				resourceType{"apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", false, false}))
			s.answers["GET /version"] = always(http.StatusOK, "application/json", `{"gitVersion":"v1.36.3"}`)
			s.answers["POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews"] = func(w http.ResponseWriter, r *http.Request) {
				data, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
				review, is := obj.(*authorizationv1.SelfSubjectAccessReview)
				if err != nil || !is {
					t.Errorf("%T, %v", obj, err)
					return
				}
				of := review.Spec.ResourceAttributes
				allowed := test.admin || (of.Group == "" && of.Resource != "nodes" || of.Group == "apps") && strings.Trim(of.Resource+"/"+of.Subresource, "/") != test.denied
				always(http.StatusCreated, "application/json", fmt.Sprintf(`{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","status":{"allowed":%t}}`, allowed))(w, r)
			}
			if !test.admin {
				s.answers["GET "+crds] = status(http.StatusForbidden, "Forbidden")
				for _, crd := range []string{"imoocpods.batch.tutorial.kubebuilder.io", "appservices.appcontroller.k8s.io", "helloworlds.test.jiaozi.com", "mydaemonsets.apps.zhongmingmao.io"} {
					s.answers["GET "+crds+"/"+crd] = status(http.StatusForbidden, "Forbidden")
				}
			}
			o := runCommand(t.Context(), t, s.URL, "check")
			if o.code != test.code || (o.code == exitDone) != (o.stderr == "") {
				t.Errorf("exit code %d, it said %q, and printed\n%s", o.code, o.stderr, o.stdout)
			}
			for _, words := range append(test.says, "○ CRD imoocpods.batch.tutorial.kubebuilder.io", "(needed only for objects of the kind ImoocPod)", "\n    kubectl imoocpod install ") {
				if !strings.Contains(o.stdout, words) {
					t.Errorf("there is no %q in\n%s", words, o.stdout)
				}
			}
			if red := strings.Contains(o.stdout, "✖"); red != (test.code != exitDone) || strings.Contains(o.stdout, "no controller is running") {
				t.Errorf("it printed\n%s", o.stdout)
			}
		})
	}
}
