package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/test/harness"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// refusal is an invalid command line and its expected result.
type refusal struct {
	// args follow "kubectl imoocpod".
	args string
	// env is added to the environment.
	env  []string
	code int
	// says are words that the message must contain.
	says []string
	// prints is a regular expression for standard output; empty means no output.
	prints string
}

// mustRefuse runs the command lines and checks that every message follows the same
// rules.
func mustRefuse(t *testing.T, namespace string, refusals []refusal) {
	t.Helper()
	for _, r := range refusals {
		t.Run(r.args, func(t *testing.T) {
			t.Parallel()
			r.check(t, cluster.KubectlWith(t, r.env, namespace, append([]string{"imoocpod"}, harness.Words(r.args)...)...))
		})
	}
}

func (r refusal) check(t *testing.T, got harness.Result) {
	t.Helper()
	if got.Code != r.code {
		t.Errorf("exit code %d, want %d", got.Code, r.code)
	}
	if r.prints == "" && got.Stdout != "" || !regexp.MustCompile("^"+r.prints).MatchString(got.Stdout) {
		t.Errorf("printed %q, want %q", got.Stdout, r.prints)
	}
	for _, want := range r.says {
		if !strings.Contains(got.Stderr, want) {
			t.Errorf("said %q, want %q in it", got.Stderr, want)
		}
	}
	if lines := strings.Count(got.Stderr, "\n"); lines < 1 || lines > 2 || !strings.HasSuffix(got.Stderr, "\n") {
		t.Errorf("said %d lines, want one or two:\n%s", lines, got.Stderr)
	}
	if !regexp.MustCompile(`^(error: |Error from server|The |Unable to connect to )`).MatchString(got.Stderr) {
		t.Errorf("said %q, which does not begin as kubectl's errors do", got.Stderr)
	}
	for _, never := range []string{"goroutine", "panic", ".go:", "strconv.", "%!", "<nil>"} {
		if strings.Contains(got.Stderr, never) {
			t.Errorf("said %q, with %q in it", got.Stderr, never)
		}
	}
	if usage := strings.Contains(got.Stderr, " --help' for usage."); usage != (r.code == harness.ExitUsage) {
		t.Errorf("said %q: only usage errors refer to the help", got.Stderr)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	ns := cluster.NewNamespace(t)
	cluster.Imoocpod(t, ns, "create", "foo", "--replicas", "2")
	before := cluster.ImoocPodVersions(t, ns)
	few := newUser(t, ns, "get", "create", "patch")
	atMostNine(t, ns)
	name63, name64, name254 := strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 254)
	const object = "imoocpod/foo"
	notFound := func(args string) refusal {
		return refusal{args: args, code: harness.ExitNotFound, says: []string{`Error from server (NotFound): imoocpods.batch.tutorial.kubebuilder.io "no" not found`}}
	}
	usage := func(args string, says ...string) refusal {
		return refusal{args: args, code: harness.ExitUsage, says: append(says, "error: ")}
	}
	forbidden := func(args, verb, resource string) refusal {
		return refusal{args: args + " --as nobody", code: harness.ExitForbidden, says: []string{"Error from server (Forbidden): ", fmt.Sprintf("User %q cannot %s resource %q", "nobody", verb, resource)}}
	}
	loopForbidden := forbidden("run-controller", "get", "leases")
	loopForbidden.prints = `\d\d:\d\d:\d\d Starting the controller for `
	short := func(args, resource string) refusal {
		return refusal{args: args + " --as " + few, code: harness.ExitForbidden, says: []string{fmt.Sprintf("User %q cannot list resource %q", few, resource)}}
	}

	// The group ends when all of its tests have ended; then check what they left behind.
	t.Run("refused", func(t *testing.T) {
		mustRefuse(t, ns, []refusal{
			// which object
			notFound("scale no --replicas 3"),
			notFound("scale no --replicas 3 --current-replicas 1"),
			notFound("scale no --replicas 3 --dry-run=client"),
			notFound("scale no --replicas 3 --dry-run=server"),
			notFound("status no"),
			notFound("status no -w"),
			notFound("describe no"),
			notFound("delete no"),
			notFound("delete no --wait=false"),
			usage("create", "a NAME "),
			usage("scale --replicas 3", "a NAME "),
			usage("describe", "a NAME "),
			usage("delete", "a NAME "),
			usage("create a b", "expected one NAME, got 2 arguments"),
			{args: "status a b", code: harness.ExitNotFound, says: []string{"the server doesn't have a resource type \"a\"\nhint: with several arguments, the first is the TYPE; to name several ImoocPods: kubectl imoocpod status imoocpod/a imoocpod/b --namespace="}},
			{args: "scale peach plum --replicas 3", code: harness.ExitNotFound, says: []string{"kubectl imoocpod scale imoocpod/peach imoocpod/plum", "--replicas=3"}},
			{args: "delete peach plum", code: harness.ExitNotFound, says: []string{"kubectl imoocpod delete imoocpod/peach imoocpod/plum"}},
			{args: "scale imoocpd/foo --replicas 3", code: harness.ExitNotFound, says: []string{`error: the server doesn't have a resource type "imoocpd"; did you mean imoocpod?`}},
			{args: "wait deploymnt/foo --for=delete", code: harness.ExitNotFound, says: []string{`error: the server doesn't have a resource type "deploymnt"; did you mean deployment?`}},
			{args: "create deploymnt/foo", code: harness.ExitNotFound, says: []string{"did you mean deployment?"}},
			{args: "scale foo --replicas 3 --replicas-path .spec.replica", code: harness.ExitError, says: []string{"error: imoocpod/foo has no field .spec.replica; did you mean .spec.replicas?\n"}},
			usage("status a deployment/b", `"a" needs a type, because other arguments have one: use imoocpod/a`),
			usage(`create "`, `invalid name "": it is empty`),
			usage(`status "`, `invalid name "": it is empty`),
			usage("create Foo", `invalid name "Foo": only lowercase letters`),
			usage("scale a_b --replicas 1", `invalid name "a_b": only lowercase letters`),
			usage("delete imoocpod/Foo", `invalid name "Foo": only lowercase letters`),
			usage("delete imoocpod/foo/bar", `invalid name "foo/bar": only lowercase letters`),
			usage("create "+name64, "must be no longer than 63 characters"),
			usage("create "+name254, "must be no longer than 63 characters"),
			usage("describe "+name254, "must be no longer than 253 characters"),
			{args: "create foo", code: harness.ExitPrecondition, says: []string{`Error from server (AlreadyExists): imoocpods.batch.tutorial.kubebuilder.io "foo" already exists`}},
			{args: "create foo --dry-run=server", code: harness.ExitPrecondition, says: []string{"already exists"}},

			// how many
			usage("scale foo", "--replicas, --by, --remove or --undo is required"),
			usage("scale foo --by half", `"half" is not a change such as +2, -1, 50% or -50%`),
			usage("scale foo --by=-101%", `"-101%" is less than -100%`),
			usage("scale foo --by +1 --replicas 3", "--replicas and --by cannot be used together"),
			{args: "scale foo --by=-3", code: harness.ExitPrecondition, says: []string{"error: precondition not met: " + object + ": cannot scale by -3: there are only 2 replicas"}},
			{args: "scale foo --by=-3 --dry-run=client", code: harness.ExitPrecondition, says: []string{"cannot scale by -3: there are only 2 replicas"}},
			{args: "scale foo --by=+2147483647", code: harness.ExitPrecondition, says: []string{"cannot scale by +2147483647: with 2 replicas, the result is more than 2147483647"}},
			usage("scale foo --replicas", "flag needs an argument: --replicas"),
			usage("scale foo --replicas -1", `invalid argument "-1"`, "must be a whole number from 0 to 2147483647"),
			usage("scale foo --replicas=-1", `invalid argument "-1"`, "must be a whole number from 0 to 2147483647"),
			usage("scale foo --replicas three", `invalid argument "three"`, "must be a whole number from 0 to 2147483647"),
			usage("scale foo --replicas 3.5", `invalid argument "3.5"`, "must be a whole number from 0 to 2147483647"),
			usage("scale foo --replicas 2147483648", `invalid argument "2147483648"`, "must be a whole number from 0 to 2147483647"),
			usage("create bar --replicas -1", "must be a whole number from 0 to 2147483647"),
			usage("create bar --replicas x", "must be a whole number from 0 to 2147483647"),
			usage("create bar --replicas 9999999999999999999999", "must be a whole number from 0 to 2147483647"),

			// on which conditions
			{args: "scale foo --replicas 3 --current-replicas 7", code: harness.ExitPrecondition, says: []string{"error: precondition not met: expected the replicas of " + object + " to be 7, was 2"}},
			{args: "scale foo --replicas 3 --current-replicas 7 --dry-run=client", code: harness.ExitPrecondition, says: []string{"precondition not met"}},
			{args: "scale foo --replicas 3 --resource-version 1", code: harness.ExitPrecondition, says: []string{"precondition not met: expected the resource version of " + object + " to be 1, was "}},
			{args: "scale foo --replicas 3 --resource-version 1 --dry-run=client", code: harness.ExitPrecondition, says: []string{"precondition not met: expected the resource version of " + object + " to be 1, was "}},
			{args: "scale foo --replicas 3 --current-replicas 2 --resource-version 1", code: harness.ExitPrecondition, says: []string{"precondition not met: expected the resource version of " + object + " to be 1, was "}},
			usage("scale foo --replicas 3 --current-replicas -2", "must be a whole number from -1 to 2147483647"),
			usage("scale foo --replicas 3 --resource-version abc", "--resource-version must be the metadata.resourceVersion of the object"),

			// who asks
			forbidden("create bar", "create", "imoocpods"),
			forbidden("scale foo --replicas 3", "patch", "imoocpods/scale"),
			forbidden("scale foo --replicas 3 --current-replicas 2", "get", "imoocpods/scale"),
			forbidden("scale foo --replicas 3 --dry-run=client", "get", "imoocpods"),
			forbidden("status", "list", "imoocpods"),
			forbidden("status -A", "list", "imoocpods"),
			forbidden("status foo", "get", "imoocpods"),
			{args: "status -w --as nobody", code: harness.ExitForbidden, says: []string{"cannot list resource"}},
			forbidden("describe foo", "get", "imoocpods"),
			forbidden("delete foo", "get", "imoocpods"),
			forbidden("delete foo --wait=false", "delete", "imoocpods"),
			forbidden("install", "get", "customresourcedefinitions"),
			{args: "status foo --request-timeout 1ns", code: harness.ExitTimeout, says: []string{"the server", "no response within 1ns"}},
			forbidden("uninstall --crds", "list", "imoocpods"),
			forbidden("uninstall --crds --delete-objects", "list", "imoocpods"),
			loopForbidden,
			short("status foo", "pods"),
			short("status foo -w", "imoocpods"),
			short("describe foo", "pods"),

			// flags and verbs
			usage("sclae foo", `unknown command "sclae" for "kubectl imoocpod"; did you mean scale?`),
			usage("sclae foo --replicas 3", `unknown command "sclae" for "kubectl imoocpod"; did you mean scale?`),
			usage("kinds nwe Foo --group example.com", `unknown command "nwe" for "kubectl imoocpod kinds"; did you mean new?`),
			usage("help nope", `unknown command "nope" for "kubectl imoocpod"`),
			usage("help sclae", `unknown command "sclae" for "kubectl imoocpod"; did you mean scale?`),
			usage("help kinds nwe", `unknown command "nwe" for "kubectl imoocpod kinds"; did you mean new?`),
			usage("get pods", `list objects with "kubectl imoocpod status"`),
			usage("ls", `list objects with "kubectl imoocpod status"`),
			usage("rollback foo --to-revision 2", `undo a change with "kubectl imoocpod undo"`),
			usage("stop foo", `scale to zero with "kubectl imoocpod park"`),
			usage("top foo", "use kubectl top pods"),
			usage("rollout restart foo", `restart pods with "kubectl imoocpod restart"`),
			usage("set image foo", "a NAME or TYPE/NAME is required"),
			usage("set image foo a:1 b:2", `"a:1" is not an object; with several images, each must be CONTAINER=IMAGE`),
			usage("set image foo main=", `"main=" is no image: use IMAGE or CONTAINER=IMAGE`),
			usage("set imgae foo nginx", `unknown command "imgae" for "kubectl imoocpod set"; did you mean image?`),
			usage("set env foo", "at least one KEY=VALUE or KEY- is required"),
			usage("set resources foo", "--requests or --limits is required"),
			usage("set resources foo --limits cpu=much", `--limits: "much" is no quantity of cpu`),
			usage("set image foo nginx --template-path .status", "it must be a field in .spec, such as .spec.template"),
			usage("set image foo nginx --timeout 0", "--timeout needs --wait"),
			usage("undo foo --to-revision=-1", "--to-revision must be the number of a revision, not -1"),
			usage("history foo --diff 2", "--diff must be two revisions, as in 2..3"),
			usage("history foo --diff 2..3 --revision 2", "--revision and --diff cannot be used together"),
			usage("stat", `unknown command "stat" for "kubectl imoocpod"; did you mean set or status?`),
			usage("frobnicate", `unknown command "frobnicate" for "kubectl imoocpod"`),
			usage("scale foo --replica 3", "unknown flag: --replica; did you mean --replicas or --replicas-path?"),
			usage("create bar --repilcas 3", "unknown flag: --repilcas; did you mean --replicas?"),
			usage("status --watsch", "unknown flag: --watsch; did you mean --watch?"),
			usage("status --frobnicate", "unknown flag: --frobnicate"),
			usage("status -x", "unknown shorthand flag: 'x' in -x"),
			usage("status foo -w --wait", "--watch and --wait cannot be used together"),
			usage("status foo --wait -o yaml", "--wait supports only -o json, not -o yaml"),
			usage("status foo --timeout 1m", "--timeout needs --wait"),
			usage("status foo --color blue", `must be "auto", "always", or "never"`),
			usage("check now", "takes no arguments"),
			usage("check -o yaml", `unknown output format "yaml": the only one is json`),
			usage("completion", "expected one of install, uninstall, bash, zsh, fish and powershell, got 0 arguments"),
			usage("completion ksh", `unknown shell "ksh"`),
			usage("install now", `kubectl imoocpod install takes no arguments, got "now"`),
			usage("uninstall --delete-objects", "--delete-objects needs --crds"),
			usage("uninstall --crds -A", "--all-namespaces and --crds cannot be used together"),
			usage("install --image x", "--image needs --controller"),
			usage("install --controller", "--image is required", "docker build --build-arg VERSION="),
			usage("install --controller --image=", "--image must not be empty"),
			usage("install --controller --replicas -1", "must be a whole number from 0 to 2147483647"),
			usage("install -o frob", `output format "frob", allowed formats are: `, "yaml"),
			{args: "status pear -A", code: harness.ExitNotFound, says: []string{"with -l, --all or -A, an argument is a TYPE", "imoocpod/pear"}},
			{args: "status pear -l a=b", code: harness.ExitNotFound, says: []string{"with -l, --all or -A, an argument is a TYPE", "imoocpod/pear"}},
			usage("status -l a=(", "invalid --selector"),
			usage("create bar --dry-run=maybe", `must be "none", "server", or "client"`),
			usage("create bar --image=", "--image must not be empty"),
			usage("delete foo --cascade=sideways", `must be "background", "foreground", or "orphan"`),
			usage("delete foo --timeout=-1s", "--timeout must be 0 (wait forever) or more"),
			usage("scale foo --replicas 3 --timeout=-1s", "--timeout must be 0 (no limit) or more"),
			usage("scale foo --replicas 3 --timeout 3", "missing unit in duration"),
			usage("install --timeout 0", "--timeout must be more than 0"),
			usage("uninstall --crds --timeout 0", "--timeout must be more than 0"),
			usage("run-controller --workers 0", "--workers must be 1 or more"),
			usage("run-controller --resync=-1s", "--resync must not be negative"),
			usage("run-controller --timeout 1m", "--timeout needs --once or --dry-run"),
			usage("run-controller --once --dry-run", "cannot be used together"),
			usage("run-controller --dry-run -o yaml", `--output must be "json", not "yaml"`),
			usage("run-controller --if-held maybe", `must be "wait" or "exit"`),
			usage("run-controller --log-format xml", `must be "human", "text", or "json"`),
			usage("run-controller --kube-api-burst 10", "--kube-api-burst needs --kube-api-qps"),
			usage("run-controller --metrics-bind-address 8080", `"8080" is not an address to serve on`),
			{args: "run-controller -n a,", code: harness.ExitError, says: []string{`invalid namespace ""`}},

			// output formats
			usage("create bar -o frob", `output format "frob", allowed formats are: `, "yaml"),
			usage("scale foo --replicas 3 -o frob", `output format "frob", allowed formats are: `, "yaml"),
			usage("status -o frob", `output format "frob", allowed formats are: `, "yaml", "wide"),
			usage("status -o custom-columns=NAME", "expected <header>:<json-path-expr>"),
			usage("kinds -o frob", `output format "frob", allowed formats are: `, "custom-columns", "wide"),
			usage("wait foo --for=nothing", `--for: cannot wait for "nothing": must be ready, create, delete, condition=`),
			usage("wait foo --for=jsonpath={.a", `unexpected path string "{.a"`),
			usage("wait foo --for=jsonpath={.a}=", "jsonpath needs a value after the equal sign"),
			usage("wait foo --fail-after=-1s", "--fail-after must be 0 (at once) or more"),
			usage("create bar --timeout 0", "--timeout needs --wait"),
			usage("scale foo --replicas 3 --fail-after 1s", "--fail-after can only be used with a command that waits"),
			notFound("wait no --timeout 1h"),
			usage("delete foo -o yaml", `unknown output format "yaml": the only one is name`),
			usage("version -o frob", `unknown output format "frob": must be json or yaml`),
			usage("scale foo --replicas 3 -o jsonpath={.a", "jsonpath"),
			usage("status -o jsonpath", "template format specified but no template given"),

			// validation by the server
			{args: "scale foo --replicas 10", code: harness.ExitError, says: []string{`The imoocpods "foo" is invalid: `, "no more than nine here"}},
			{args: "scale foo --replicas 10 --dry-run=server", code: harness.ExitError, says: []string{"no more than nine here"}},
			{args: "create bar --replicas 10", code: harness.ExitError, says: []string{`The imoocpods "bar" is invalid: `, "no more than nine here"}},
			{args: "create bar --dry-run=server --replicas 10 -o yaml", code: harness.ExitError, says: []string{"no more than nine here"}},
		})
	})
	if after := cluster.ImoocPodVersions(t, ns); !maps.Equal(before, after) {
		t.Errorf("something was changed: before %v, after %v", before, after)
	}
	// The longest valid name works.
	cluster.Imoocpod(t, ns, "create", name63, "--replicas", "0")
}

func TestBadNamespace(t *testing.T) {
	t.Parallel()
	cluster.InstallCRDs(t)
	const missing = "e2e-there-is-no-such-namespace"
	gone := refusal{code: harness.ExitNotFound, says: []string{fmt.Sprintf("Error from server (NotFound): namespaces %q not found", missing)}}
	as := func(args, prints string) refusal {
		r := gone
		r.args, r.prints = args, prints
		return r
	}
	mustRefuse(t, missing, []refusal{
		as("create foo", ""),
		as("create foo --dry-run=server", ""),
		as("run-controller", `\d\d:\d\d:\d\d Starting the controller for `),
		{args: "scale foo --replicas 3", code: harness.ExitNotFound, says: []string{`"foo" not found`}},
		{args: "describe foo", code: harness.ExitNotFound, says: []string{`"foo" not found`}},
		{args: "delete foo", code: harness.ExitNotFound, says: []string{`"foo" not found`}},
	})
	mustRefuse(t, "a/b", []refusal{{args: "create foo", code: harness.ExitError, says: []string{`invalid namespace "a/b"`}}})
}

// Nothing can be created in a terminating namespace.
func TestTerminatingNamespace(t *testing.T) {
	t.Parallel()
	cluster.InstallCRDs(t)
	ns := cluster.NamespaceName()
	harness.Must(t, cluster.Kubectl(t, "", "create", "namespace", ns))
	cluster.Apply(t, ns, `{apiVersion: v1, kind: ConfigMap, metadata: {name: hold, finalizers: [example.com/hold]}}`)
	t.Cleanup(func() {
		_, err := cluster.Core.ConfigMaps(ns).Patch(context.Background(), "hold", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	harness.Must(t, cluster.Kubectl(t, "", "delete", "namespace", ns, "--wait=false"))
	refusal{code: harness.ExitForbidden, says: []string{`"foo" is forbidden`, "namespace " + ns + " because it is being terminated"}}.
		check(t, cluster.Kubectl(t, ns, "imoocpod", "create", "foo"))
}

func TestBadKubeconfig(t *testing.T) {
	t.Parallel()
	edited := func(edit func(*clientcmdapi.Config)) string {
		config, err := clientcmd.LoadFromFile(cluster.Kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		edit(config)
		data, err := clientcmd.Write(*config)
		if err != nil {
			t.Fatal(err)
		}
		return harness.WriteFile(t, string(data))
	}
	noContext := edited(func(c *clientcmdapi.Config) { c.CurrentContext = "" })
	noUser := edited(func(c *clientcmdapi.Config) { c.AuthInfos = nil; c.Contexts[c.CurrentContext].AuthInfo = "" })
	broken := harness.WriteFile(t, "clusters: [")
	// In a pod, the client would fall back to the in-cluster configuration.
	none := []string{"KUBECONFIG=" + t.TempDir() + "/none", "KUBERNETES_SERVICE_HOST="}
	type variant struct {
		name, flags string
		env         []string
		code        int
		says        string
		// local means that the error is found before anything is printed.
		local bool
	}
	for _, v := range []variant{
		{"no kubeconfig", "", none, harness.ExitError, "error: no cluster is configured: set KUBECONFIG or --kubeconfig", true},
		{"a kubeconfig that is not there", "--kubeconfig /no/such/file", none, harness.ExitError, "error: stat /no/such/file: no such file or directory", true},
		{"a broken kubeconfig", "--kubeconfig " + broken, none, harness.ExitError, "error: error loading config file", true},
		{"no current context", "--kubeconfig " + noContext, none, harness.ExitError, "error: no current context is set: choose one with --context", true},
		{"a wrong context", "--context nope", nil, harness.ExitError, `error: context "nope" does not exist: see "kubectl config get-contexts"`, true},
		{"a wrong user", "--user nope", nil, harness.ExitError, `error: auth info "nope" does not exist`, true},
		{"wrong credentials", "--kubeconfig " + noUser + " --token nonsense", nil, harness.ExitForbidden, "error: You must be logged in to the server", false},
		{"a server that is not there", "-s https://127.0.0.1:1", nil, harness.ExitError, "The connection to the server 127.0.0.1:1 was refused", false},
		{"a host that is not there", "-s https://no-such-host.invalid", nil, harness.ExitError, "Unable to connect to the server no-such-host.invalid: ", false},
		{"a server of another name", "--tls-server-name other", nil, harness.ExitError, "Unable to connect to the server 127.0.0.1", false},
	} {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			for _, verb := range []string{"create foo", "scale foo --replicas 3", "status", "status -w", "status foo --wait", "describe foo", "wait foo", "delete foo", "check", "install", "uninstall --crds", "version", "run-controller"} {
				// All verbs connect in the same way, so slow failures are tested with
				// only a few.
				if !v.local && verb != "scale foo --replicas 3" && verb != "run-controller" && verb != "version" {
					continue
				}
				r := refusal{args: strings.TrimSpace(verb + " " + v.flags), code: v.code, says: []string{v.says}}
				switch {
				case verb == "version":
					r.prints = "Client Version: v[^\n]*\n$"
					if v.code == harness.ExitForbidden {
						continue // anyone may read the version
					}
				case verb == "run-controller" && !v.local:
					r.prints = `\d\d:\d\d:\d\d Starting the controller for `
				}
				r.check(t, cluster.KubectlWith(t, v.env, "", append([]string{"imoocpod"}, harness.Words(r.args)...)...))
			}
		})
	}
}

// newUser creates a user who has only the given verbs on the ImoocPods of a namespace,
// and returns the name for --as.
func newUser(t *testing.T, namespace string, verbs ...string) string {
	t.Helper()
	name := strings.Join(append([]string{namespace}, verbs...), "-")
	list, err := json.Marshal(verbs)
	if err != nil {
		t.Fatal(err)
	}
	cluster.Apply(t, namespace, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: %[1]s}
rules: [{apiGroups: [batch.tutorial.kubebuilder.io], resources: [imoocpods, imoocpods/scale], verbs: %[2]s}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]
`, name, list))
	harness.Eventually(t, name+" has rights", func() bool {
		return cluster.Kubectl(t, namespace, "auth", "can-i", verbs[0], "imoocpods.batch.tutorial.kubebuilder.io", "--as", name).Code == 0
	})
	return name
}

// atMostNine makes the server reject ImoocPods with ten or more replicas in a namespace.
func atMostNine(t *testing.T, namespace string) {
	t.Helper()
	cluster.Apply(t, "", fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [batch.tutorial.kubebuilder.io], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [imoocpods, imoocpods/scale]}]
  validations: [{expression: "object.spec.replicas < 10", message: "no more than nine here"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec:
  policyName: %[1]s
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}}
`, namespace))
	t.Cleanup(func() {
		for _, resource := range []string{"validatingadmissionpolicybindings", "validatingadmissionpolicies"} {
			err := cluster.Dynamic.Resource(schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}).Delete(context.Background(), namespace, metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				t.Error(err)
			}
		}
	})
	harness.Eventually(t, "the policy is in force", func() bool {
		return cluster.Kubectl(t, namespace, "imoocpod", "create", "big", "--replicas", "10", "--dry-run=server").Code != 0
	})
}
