package run

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/imoocpod/kubectl-imoocpod/deploy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver/play"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// cluster is an in-memory API server in a synctest bubble, with the CRDs, kubelets, and the controllers
// of built-in kinds.
type cluster struct {
	*testing.T
	*apiserver.Server
	// logs holds the logs of the controllers and of client-go.
	logs lines
}

func inCluster(t *testing.T, do func(c *cluster)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		c := &cluster{T: t, Server: apiserver.New(t)}
		c.ManageOnly("deployments")
		c.CreateCRDs()
		play.Cluster(c.Server)
		do(c)
	})
}

// imoocPod creates an ImoocPod. fields contains additional fields of its spec.
func (c *cluster) imoocPod(namespace, name, fields string) {
	c.CreateYAML(fmt.Sprintf(`
apiVersion: batch.tutorial.kubebuilder.io/v1alpha1
kind: ImoocPod
metadata: {namespace: %s, name: %s}
spec: {template: {spec: {containers: [{name: main, image: web}]}}, %s}`, namespace, name, fields))
}

func (c *cluster) appService(name, deployment string) {
	c.CreateYAML(fmt.Sprintf(`
apiVersion: appcontroller.k8s.io/v1alpha1
kind: AppService
metadata: {name: %s}
spec: {deploymentName: %s, image: web, replicas: 1}`, name, deployment))
}

func (c *cluster) set(resource, name string, value any, path ...string) {
	c.As("user").Update(resource, "default", name, func(obj *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(obj.Object, value, path...); err != nil {
			c.Error(err)
		}
	})
}

func (c *cluster) ready(namespace, name string) int64 {
	status, _ := c.Get("imoocpods", namespace, name).Object["status"].(map[string]any)
	n, _ := status["readyReplicas"].(int64)
	return n
}

// run runs a controller in comma-separated namespaces until ctx is canceled or the run ends, and returns the output.
func (c *cluster) run(ctx context.Context, namespaces string, change func(*Options)) (printed string, err error) {
	c.Helper()
	var out lines
	o := &Options{
		Streams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}, Log: Log{Format: "human", lines: &c.logs}, Version: "v1",
		Workers: DefaultWorkers, Lease: Lease{Elect: true}, Matches: labels.Everything(),
	}
	change(o)
	if err := o.Kinds.Complete(nil); err != nil {
		c.Fatal(err)
	}
	clients := kube.New("v1", o.Streams)
	c.Connect(clients.Flags)
	*clients.Flags.Namespace = namespaces
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(3), textlogger.Output(&c.logs)))
	err = o.Run(klog.NewContext(ctx, logger), clients, io.Discard)
	return out.String(), err
}

// A run with --once ends when all objects are ready, or reports why some are not.
func TestOnce(t *testing.T) {
	t.Parallel()
	broken := func(c *cluster) {
		c.imoocPod("default", "foo", "replicas: 1, template: {spec: {containers: [{name: main, image: pull}]}}")
	}
	patient := observe.Limits{Timeout: 10 * time.Minute, FailFast: true, FailAfter: 20 * time.Second}
	for name, test := range map[string]struct {
		prepare func(c *cluster)
		limits  observe.Limits
		// namespaces lists the namespaces of the run, separated by commas. "" means default.
		namespaces string
		// err is an error that the run must return. If err is nil, a run that does not converge must return some error.
		err   error
		text  string
		ready int64
	}{
		"ready": {prepare: func(c *cluster) { c.imoocPod("default", "foo", "replicas: 3") }, text: "converged: 1 object", ready: 3},
		"outdated status": {prepare: func(c *cluster) {
			c.imoocPod("default", "foo", "replicas: 3")
			if _, err := c.run(c.Context(), "default", func(o *Options) { o.Once = true }); err != nil {
				c.Error(err)
			}
			c.Remove("pods", "default", c.List("pods", "default")[0].GetName())
		}, text: "converged: 1 object", ready: 3},
		"no objects": {text: "converged: 0 objects"},
		"a timeout": {prepare: broken, limits: observe.Limits{Timeout: 5 * time.Second},
			err: outcome.ErrTimeout, text: "wait for imoocpod.batch.tutorial.kubebuilder.io/foo to be ready: timed out; last seen: "},
		"a failure": {prepare: broken, limits: observe.Limits{FailFast: true, FailAfter: time.Second},
			err: outcome.ErrFailed, text: "imoocpod.batch.tutorial.kubebuilder.io/foo has failed: pod "},
		"a pause": {prepare: func(c *cluster) {
			c.imoocPod("default", "foo", "replicas: 1")
			c.set("imoocpods", "foo", apis.PausedForever, "metadata", "annotations", apis.AnnotationPausedUntil)
		}, limits: observe.Limits{FailFast: true},
			err: outcome.ErrPaused, text: "imoocpod.batch.tutorial.kubebuilder.io/foo is paused: "},
		"a kind that cannot be listed": {prepare: func(c *cluster) {
			c.imoocPod("default", "foo", "replicas: 2")
			c.Forbid(apiserver.On("list", "helloworlds"))
		}, text: "helloworlds.test.jiaozi.com is not reconciled: helloworlds.test.jiaozi.com is forbidden", ready: 2},
		"an input that cannot be listed": {prepare: func(c *cluster) {
			c.imoocPod("default", "foo", "replicas: 2")
			c.CreateYAML("{apiVersion: apps.zhongmingmao.io/v1beta1, kind: MyDaemonSet, metadata: {name: agent}, spec: {image: web}}")
			c.Forbid(apiserver.On("list", "nodes"))
		}, text: "mydaemonsets.apps.zhongmingmao.io is not reconciled: nodes is forbidden", ready: 2},
		"a revision that cannot be written": {prepare: func(c *cluster) {
			c.imoocPod("default", "foo", "replicas: 2")
			c.Forbid(apiserver.On("create", "controllerrevisions"))
			if _, err := c.run(c.Context(), "default", func(o *Options) { o.Once = true }); err != nil {
				c.Error(err)
			}
		}, limits: patient, text: "converged: 1 object", ready: 2},
		"a template that became too large": {prepare: func(c *cluster) {
			c.imoocPod("default", "foo", "replicas: 2")
			if _, err := c.run(c.Context(), "default", func(o *Options) { o.Once = true }); err != nil {
				c.Error(err)
			}
			c.set("imoocpods", "foo", strings.Repeat("x", 300<<10), "spec", "template", "metadata", "annotations", "note")
		}, limits: patient, err: outcome.ErrFailed, text: "foo has failed: "},
		"a failure that ends while another object starts": {prepare: func(c *cluster) {
			broken(c)
			c.imoocPod("default", "bar", `replicas: 1, template: {spec: {containers: [{name: main, image: "slow:60s"}]}}`)
			c.After(40*time.Second, func() {
				c.set("imoocpods", "foo", []any{map[string]any{"name": "main", "image": "slow:30s"}}, "spec", "template", "spec", "containers")
			})
		}, limits: patient, text: "converged: 2 objects", ready: 1},
		"a kind that is listed late, and a pause": {prepare: func(c *cluster) {
			c.imoocPod("default", "foo", "replicas: 1")
			c.set("imoocpods", "foo", apis.PausedForever, "metadata", "annotations", apis.AnnotationPausedUntil)
			c.CreateYAML("{apiVersion: test.jiaozi.com/v1alpha1, kind: HelloWorld, metadata: {name: hello}, spec: {size: 1}}")
			c.After(10*time.Second, c.Fail(apiserver.On("list|watch", "helloworlds"), apiserver.Fault{Err: apierrors.NewInternalError(errors.New("slow"))}))
		}, limits: patient, err: outcome.ErrPaused, text: "Deployment hello"},
		"a kind that is listed while a paused object is evaluated": {prepare: func(c *cluster) {
			c.imoocPod("default", "foo", "replicas: 1")
			c.set("imoocpods", "foo", apis.PausedForever, "metadata", "annotations", apis.AnnotationPausedUntil)
			c.CreateYAML("{apiVersion: test.jiaozi.com/v1alpha1, kind: HelloWorld, metadata: {name: hello}, spec: {size: 1}}")
			slow := apierrors.NewInternalError(errors.New("slow"))
			c.Fail(apiserver.On("get", "imoocpods"), apiserver.Fault{Delay: 8 * time.Second, Times: 1})
			c.After(5*time.Second, c.Fail(apiserver.On("list|watch", "helloworlds"), apiserver.Fault{Err: slow}))
			c.After(15*time.Second, c.Fail(apiserver.On("patch", "deployments"), apiserver.Fault{Err: slow}))
		}, limits: patient, err: outcome.ErrPaused, text: "helloworld/hello: 1 of 1 pods ready"},
		"a missing namespace": {namespaces: "default,none", prepare: func(c *cluster) { c.imoocPod("default", "foo", "replicas: 1") },
			text: `namespaces "none" not found`, ready: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inCluster(t, func(c *cluster) {
				if test.prepare != nil {
					test.prepare(c)
				}
				_, err := c.run(c.Context(), cmp.Or(test.namespaces, "default"), func(o *Options) {
					o.Once, o.Limits = true, test.limits
				})
				text := c.logs.String()
				if err != nil {
					text += err.Error()
				}
				if (err == nil) != strings.HasPrefix(test.text, "converged: ") || test.err != nil && !errors.Is(err, test.err) || !strings.Contains(text, test.text) {
					t.Errorf("the run ended with error %v; log and error: %s, want %q", err, text, test.text)
				}
				if test.ready > 0 && c.ready("default", "foo") != test.ready {
					t.Errorf("the run ended with %d ready pods, want %d", c.ready("default", "foo"), test.ready)
				}
			})
		})
	}
}

// A dry run prints what the controller would do, but writes nothing.
func TestDryRun(t *testing.T) {
	t.Parallel()
	inCluster(t, func(c *cluster) {
		c.imoocPod("default", "bar", "replicas: 1")
		if _, err := c.run(c.Context(), "default", func(o *Options) { o.Once = true }); err != nil {
			c.Fatal(err)
		}
		c.imoocPod("default", "foo", "replicas: 2")
		c.CreateYAML(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: web}]}}`)
		c.appService("web", "web")
		c.Forget()
		uid := c.Get("imoocpods", "default", "foo").GetUID()
		want := "appservice.appcontroller.k8s.io/web (dry run): 0 → 1 pod: create revision 1; write the status; " +
			"blocked: Deployment web already exists and is not owned by this AppService\n" +
			"imoocpod.batch.tutorial.kubebuilder.io/bar (dry run): nothing to do\n" +
			"imoocpod.batch.tutorial.kubebuilder.io/foo (dry run): 0 → 2 pods: create " +
			slots.PodName("foo", uid, "", 0) + ", " + slots.PodName("foo", uid, "", 1) + "; create revision 1; write the status\n"
		if printed, err := c.run(c.Context(), "default", func(o *Options) { o.DryRun = true }); err != nil || printed != want {
			t.Errorf("error %v, output\n%s\nwant\n%s", err, printed, want)
		}
		var report planReport
		printed, err := c.run(c.Context(), "default", func(o *Options) { o.DryRun, o.Output = true, "json" })
		if err := errors.Join(err, json.Unmarshal([]byte(printed), &report)); err != nil {
			t.Fatal(err)
		}
		if len(report.Items) != 3 || len(report.Items[2].Plan.Create) != 2 || report.Items[1].Plan.WriteStatus {
			t.Errorf("JSON output %s; want 3 items, 2 creates in the last one, and no write of the status in the second", printed)
		}
		if writes := c.Requests(apiserver.Writes); len(writes) > 0 {
			t.Errorf("a dry run wrote %v", writes)
		}
	})
}

// start starts a controller that runs until the test ends or stop is called. stop returns the error of the run.
func (c *cluster) start(namespaces string, change func(*Options)) (stop func() error) {
	ctx, cancel := context.WithCancel(c.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := c.run(ctx, namespaces, change)
		ended <- err
	}()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	c.Cleanup(func() { _ = stop() })
	return stop
}

func (*cluster) passes(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// A controller for several namespaces skips missing namespaces. If all are missing, it exits.
func TestSeveralNamespaces(t *testing.T) {
	t.Parallel()
	inCluster(t, func(c *cluster) {
		c.imoocPod("a", "foo", "replicas: 1")
		stop := c.start("a,default,none", func(*Options) {})
		c.passes(time.Second)
		c.imoocPod("default", "foo", "replicas: 1")
		c.passes(time.Minute)
		for _, want := range []string{"in namespaces a, default, none", "a/foo: 0 → 1 pod: creating 1", "default/foo: 0 → 1 pod: creating 1",
			`namespace none: namespaces "none" not found; skipping this namespace`} {
			if !strings.Contains(c.logs.String(), want) {
				t.Errorf("the log does not contain %q:\n%s", want, c.logs.String())
			}
		}
		if err := stop(); err != nil {
			t.Errorf("the controller stopped with error %v, want none", err)
		}
		if _, err := c.run(c.Context(), "none,nor-this", func(*Options) {}); !apierrors.IsNotFound(err) {
			t.Errorf("all namespaces missing: error %v, want NotFound", err)
		}
	})
}

func TestWorkers(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{2, 5} {
		inCluster(t, func(c *cluster) {
			for i := range 8 {
				c.imoocPod("default", fmt.Sprint("foo-", i), "replicas: 1")
			}
			var creating atomic.Int64
			c.Fail(apiserver.On("create", "pods"), apiserver.Fault{Before: func() { creating.Add(1) }, Delay: 10 * time.Second})
			c.start("default", func(o *Options) { o.Workers = workers })
			c.passes(8 * time.Second)
			if n := creating.Load(); n != int64(workers) {
				t.Errorf("%d workers: %d concurrent creates of pods, want one per worker", workers, n)
			}
		})
	}
}

// Requests above the burst wait for the rate limit, but the lease is renewed in time.
func TestRequestLimit(t *testing.T) {
	t.Parallel()
	inCluster(t, func(c *cluster) {
		c.imoocPod("default", "foo", "replicas: 50")
		c.Forget()
		const burst = 40
		stop := c.start("default", func(o *Options) { o.RateLimit = RateLimit{Qps: 0.01, Burst: burst} })
		c.passes(time.Minute)
		limited := c.Requests(func(r apiserver.Request) bool {
			return r.Resource != "leases" && r.Resource != "namespaces" && r.Verb != "watch"
		})
		renewals := c.Requests(apiserver.On("update", "leases"))
		if len(limited) != burst || len(renewals) < 5 {
			t.Errorf("sent %d limited requests, want %d; renewed the lease %d times, want at least 5", len(limited), burst, len(renewals))
		}
		_ = stop()
		c.passes(24 * time.Hour) // until client-go has sent the events, which the limit delays
	})
}

// gizmos is a CRD whose annotations declare that the controller reconciles its kind.
const gizmos = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gizmos.example.com` + gizmoDeclaration + `}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Gizmo, plural: gizmos, singular: gizmo}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, properties: {replicas: {type: integer}, size: {type: integer}, image: {type: string}, other: {type: string}}},
      status: {type: object, properties: {observedGeneration: {type: integer}}}}}}
status: {conditions: [{type: Established, status: "True"}]}
`

const gizmoDeclaration = ", annotations: {imoocpod.dev/plan: pods, imoocpod.dev/image: nginx}"

// bareGizmos returns the CRD gizmos without its declaration.
func bareGizmos() string { return strings.Replace(gizmos, gizmoDeclaration, "", 1) }

// If a declaration is removed while the controller lists the objects of its kind, the list stops,
// but the controller continues.
func TestDeclarationRemovedDuringList(t *testing.T) {
	t.Parallel()
	inCluster(t, func(c *cluster) {
		c.CreateYAML(gizmos)
		c.Fail(apiserver.On("list|watch", "gizmos"), apiserver.Fault{Delay: time.Hour})
		c.start("default", func(o *Options) { o.Kinds.Declared = true })
		c.passes(time.Minute)
		withdraw := func(crd *unstructured.Unstructured) { crd.SetAnnotations(nil) }
		c.As("user").Update("customresourcedefinitions", "", "gizmos.example.com", withdraw)
		c.passes(time.Minute)
		if !strings.Contains(c.logs.String(), "stopped reconciling gizmos.example.com") {
			t.Errorf("log: %s\nwant \"stopped reconciling gizmos.example.com\"", c.logs.String())
		}
		c.imoocPod("default", "foo", "replicas: 1")
		c.passes(time.Minute)
		if c.ready("default", "foo") != 1 {
			t.Error("after a declaration was removed, the controller does not reconcile the other kinds")
		}
	})
}

// A file can declare additional kinds. A CRD in it must have a valid declaration.
func TestKindsFromFile(t *testing.T) {
	t.Parallel()
	misspelled := strings.Replace(gizmos, "imoocpod.dev/image: nginx", "imoocpod.dev/replicas-path: .spec.sise", 1)
	for content, want := range map[string]string{
		"\n---\n" + gizmos:            "",
		bareGizmos():                  "declares no plan: annotate it with imoocpod.dev/plan",
		"":                            "the file contains no CRD",
		"{apiVersion: v1, kind: Pod}": "the file contains a Pod, but only CRDs can declare kinds",
		misspelled:                    "imoocpod.dev/replicas-path: .spec.sise is not in the schema of version v1",
	} {
		file := filepath.Join(t.TempDir(), "crd.yaml")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		k := Kinds{Files: []string{file}}
		switch err := k.Complete(nil); {
		case want == "" && (err != nil || k.String() != "ImoocPods, AppServices, HelloWorlds, MyDaemonSets, gizmos.example.com"):
			t.Errorf("valid CRD: kinds %s, error %v; want the shipped kinds and Gizmos", &k, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// rights returns the permissions that the manifests grant to a controller, such as "patch imoocpods/status". It
// omits permissions that the server checks during other requests, such as "create deployments" during an apply.
func rights(t *testing.T, settings deploy.Settings) (all []apiserver.Request) {
	t.Helper()
	objs := deploy.Controller(settings)
	for _, obj := range objs {
		var role rbacv1.ClusterRole
		if !strings.HasSuffix(obj.GetKind(), "Role") || !strings.HasPrefix(obj.GetName(), deploy.ControllerName) {
			continue // the other roles are for users
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, verb := range rule.Verbs {
				for _, resource := range rule.Resources {
					name, subresource, _ := strings.Cut(resource, "/")
					if subresource != "finalizers" && verb+" "+resource != "create deployments" {
						all = append(all, apiserver.Request{Verb: verb, Resource: name, Subresource: subresource})
					}
				}
			}
		}
	}
	return all
}

// rightOf returns the permission that a request needs.
func rightOf(r apiserver.Request) string {
	return apiserver.Request{Verb: r.Verb, Resource: r.Resource, Subresource: r.Subresource}.String()
}

// everything makes a controller use most of its permissions.
func (c *cluster) everything() {
	c.imoocPod("default", "foo", "replicas: 2, revisionHistoryLimit: 0")
	c.appService("app", "web")
	c.passes(10 * time.Second)
	taken := slots.PodName("foo", c.Get("imoocpods", "default", "foo").GetUID(), "", 2)
	c.CreateYAML("{apiVersion: v1, kind: Pod, metadata: {name: " + taken + "}, spec: {containers: [{name: main, image: web}]}}")
	c.set("imoocpods", "foo", int64(3), "spec", "replicas")
	c.passes(time.Minute)
	c.Remove("pods", "default", taken)
	c.set("imoocpods", "foo", int64(1), "spec", "replicas")
	c.passes(time.Minute)
	for _, resource := range []string{"pods", "controllerrevisions"} {
		for _, obj := range c.List(resource, "default") {
			c.As("user").Update(resource, "default", obj.GetName(), func(obj *unstructured.Unstructured) { obj.SetLabels(nil) })
		}
	}
	c.passes(10 * time.Second)
	for image := range 2 { // so that the controller deletes a revision
		containers := []any{map[string]any{"name": "main", "image": fmt.Sprint("web:", image)}}
		c.set("imoocpods", "foo", containers, "spec", "template", "spec", "containers")
		c.passes(10 * time.Second)
	}
	c.set("appservices", "app", "other", "spec", "deploymentName")
	c.passes(time.Minute)
}

// A controller uses exactly the permissions that its manifests grant. It also works if the server forbids the
// requests that look for its namespace and for other controllers.
func TestRights(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]deploy.Settings{
		"a namespace": {Namespace: "default"}, "all namespaces": {Namespace: "default", AllNamespaces: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inCluster(t, func(c *cluster) {
				granted := map[string]bool{"list nodes": true, "watch nodes": true} // a Role cannot grant these
				for _, right := range rights(t, settings) {
					granted[right.String()] = true
				}
				c.Forbid(func(r apiserver.Request) bool { return !granted[rightOf(r)] && rightOf(r) != "create deployments" })
				stop := c.start("default", func(o *Options) { o.AllNamespaces = settings.AllNamespaces })
				c.everything()
				refused := apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "hello", errors.New("exceeded quota"))
				mend := c.Fail(apiserver.On("patch", "deployments"), apiserver.Fault{Err: refused})
				c.CreateYAML("{apiVersion: test.jiaozi.com/v1alpha1, kind: HelloWorld, metadata: {name: hello}, spec: {size: 2}}")
				c.passes(time.Second)
				mend()
				c.CreateYAML("{apiVersion: apps.zhongmingmao.io/v1beta1, kind: MyDaemonSet, metadata: {name: agent}, spec: {image: web}}")
				c.passes(time.Minute)
				if err := stop(); err != nil {
					t.Errorf("the controller stopped with error %v, want none", err)
				}
				used := map[string]bool{}
				for _, r := range c.Requests(func(r apiserver.Request) bool { return r.Resource != "" }) {
					used[rightOf(r)] = true
				}
				for _, right := range []string{"get namespaces", "list leases", "create deployments"} {
					delete(used, right)
				}
				if !maps.Equal(used, granted) {
					t.Errorf("used permissions %q, granted permissions %q; want the same", slices.Sorted(maps.Keys(used)), slices.Sorted(maps.Keys(granted)))
				}
			})
		})
	}
}

// If any permission is missing, the controller reports what it cannot do.
func TestMissingRights(t *testing.T) {
	t.Parallel()
	for _, right := range rights(t, deploy.Settings{Namespace: "default"}) {
		if slices.Contains([]string{"appservices", "helloworlds", "mydaemonsets"}, right.Resource) || right.Resource == "events" || right.String() == "get deployments" {
			continue
		}
		t.Run(right.String(), func(t *testing.T) {
			t.Parallel()
			inCluster(t, func(c *cluster) {
				c.Forbid(func(r apiserver.Request) bool {
					return r.Verb == right.Verb && r.Resource == right.Resource && r.Subresource == right.Subresource
				})
				stop := c.start("default", func(*Options) {})
				c.everything()
				text := c.logs.String()
				if err := stop(); err != nil {
					text += err.Error()
				}
				if want := strings.Replace(right.String(), " ", " resource \"", 1); !strings.Contains(text, "cannot "+want+"\"") {
					t.Errorf("neither the log nor the error contains: cannot %s\"", want)
				}
			})
		})
	}
}
