package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver/play"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// asProgram is the environment variable that makes the test binary run main.
const asProgram = "IMOOCPOD_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	logErrorsAtV1()
	time.Local = time.UTC // transcripts contain the time of day
	m.Run()
}

// deadline is the time limit for a command that should end by itself. No command needs that much time, even
// on a busy machine.
const deadline = 2 * time.Minute

type result struct {
	code           int
	stdout, stderr string
}

// flagsFor returns the flags that select a server, with a token that must not be sent to another server.
func flagsFor(server, cache string) []string {
	return []string{"--kubeconfig", os.DevNull, "--server", server, "--insecure-skip-tls-verify", "--token", "secret", "--cache-dir", cache, "--namespace", "default"}
}

// runCommand runs a command against a server. The command runs in this process, except run-controller, which
// sets the logger of its process.
func runCommand(ctx context.Context, t *testing.T, server, line string) result {
	t.Helper()
	if strings.HasPrefix(line, "run-controller") {
		return runProgram(ctx, t, server, line)
	}
	args := strings.Fields(line)
	if args[0] == "__complete" { // the rest is the command line to complete
		args = slices.Concat(args[:1], flagsFor(server, t.TempDir()), args[1:])
	} else {
		args = append(args, flagsFor(server, t.TempDir())...)
	}
	return runWords(ctx, nil, args)
}

// newProgram returns a separate process for a command. The end of the context interrupts the process.
func newProgram(ctx context.Context, t *testing.T, server, command string) *exec.Cmd {
	t.Helper()
	program := exec.CommandContext(ctx, os.Args[0], append(strings.Fields(command), flagsFor(server, t.TempDir())...)...)
	program.Env = append(os.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=10")
	program.Cancel = func() error { return program.Process.Signal(os.Interrupt) }
	return program
}

func runProgram(ctx context.Context, t *testing.T, server, command string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	program := newProgram(ctx, t, server, command)
	program.Stdout, program.Stderr = &stdout, &stderr
	if err := program.Run(); err != nil && program.ProcessState == nil {
		t.Fatal(err)
	}
	return result{program.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// verbs returns commands with all verbs that send requests. The commands find the kinds of their objects in
// different ways.
func verbs() []string {
	return []string{
		"create foo --wait", "create appservice/web --replicas 1",
		"scale foo --replicas 3", "scale deployment/x --replicas 2 --timeout 1m",
		"park deployment/x", "unpark foo", "set image deployment/x nginx", "set env foo A=b", "undo deployment/x",
		"restart deployment/x", "pause deployment/x --for forever", "resume foo", "delete foo", "delete deployments --all",
		"history deployment/x", "history foo", "logs deployment/x", "logs foo --follow",
		"status", "status --watch", "status foo --watch", "status foo --wait", "status deployments --all", "describe deployment/x",
		"wait foo --for=delete", "wait deployment/x", "kinds", "kinds rbac widget", "kinds new Foo --group example.com --install",
		"check", "install", "uninstall --crds", "version", "run-controller", "run-controller --once",
	}
}

// If the server is broken, every verb ends with one error line and the exit code for the fault.
func TestBrokenServers(t *testing.T) {
	t.Parallel()
	others := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("followed a redirect to another server: %s %s with headers %v", r.Method, r.URL, r.Header)
	}))
	t.Cleanup(others.Close)
	const page = "<html>\n<head><title>Log in</title></head>\n<body>\nUser:\n</body>\n</html>\n"
	places := make(chan struct{}, 64) // limits parallel commands on small machines
	for name, test := range map[string]struct {
		server string
		// timeout is the value of --request-timeout, or "" for the default.
		timeout string
		code    int // 0 allows exitError, exitTimeout, and, for a write, exitUnknown
		says    string
	}{
		"no response":       {serve(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }), "5s", exitTimeout, "no response within 5s"},
		"no TLS handshake":  {strings.Replace(serve(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }), "http:", "https:", 1), "2s", exitTimeout, ""},
		"closed connection": {serve(t, func(net.Conn) {}), "2s", 0, ""},
		"garbage instead of HTTP": {serve(t, func(c net.Conn) {
			// Read the whole request, because closing a connection with unread data resets it.
			if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			_, _ = io.WriteString(c, "\x00\x1b[2Jgarbage\n\n")
		}), "", 0, "malformed HTTP response"},
		"closed port": {refusing(t), "", exitError, "was refused"},
		"wrong types": {handle(t, always(http.StatusOK, "application/json", `{"kind":7,"apiVersion":["v1"],"metadata":"x","items":{},"groups":5,"resources":"y","spec":[],"status":1}`)), "", 0, ""},
		"redirect loop": {handle(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		}), "", exitError, "stopped after 10 redirects"},
		"truncated body":         {handle(t, cut), "2s", 0, ""},
		"not JSON":               {handle(t, always(http.StatusOK, "application/json", "garbage")), "", exitError, "is not valid JSON"},
		"HTML page":              {handle(t, always(http.StatusOK, "text/html", page)), "", exitError, "sent text/html"},
		"HTML page, bad gateway": {handle(t, always(http.StatusBadGateway, "text/html", page)), "", exitError, "a web page, 502 Bad Gateway"},
		"HTML page, forbidden":   {handle(t, always(http.StatusForbidden, "text/html; charset=utf-8", page)), "", exitForbidden, ""},
		"redirect elsewhere":     {redirecting(t, others.URL), "", exitError, "which is not followed"},
		"unauthorized":           {handle(t, status(http.StatusUnauthorized, "Unauthorized")), "", exitForbidden, "You must be logged in"},
		"forbidden":              {handle(t, status(http.StatusForbidden, "Forbidden")), "", exitForbidden, "Forbidden"},
		"throttled for an hour":  {handle(t, after("3600", status(http.StatusTooManyRequests, "TooManyRequests"))), "", exitError, "TooManyRequests"},
		"throttled for a second": {handle(t, after("1", status(http.StatusTooManyRequests, "TooManyRequests"))), "10s", exitError, "TooManyRequests"},
		"internal error":         {handle(t, status(http.StatusInternalServerError, "InternalError")), "", exitError, "InternalError"},
		"unavailable":            {handle(t, status(http.StatusServiceUnavailable, "ServiceUnavailable")), "", exitError, "ServiceUnavailable"},
		"unavailable for 1s":     {handle(t, after("1", status(http.StatusServiceUnavailable, "ServiceUnavailable"))), "10s", exitError, "ServiceUnavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			var running sync.WaitGroup
			for _, verb := range verbs() {
				if test.timeout != "" {
					verb += " --request-timeout " + test.timeout
				}
				running.Go(func() {
					places <- struct{}{}
					defer func() { <-places }()
					result := runCommand(ctx, t, test.server, verb)
					code := test.code
					sent := code == exitTimeout && name != "no TLS handshake" || name == "not JSON" || name == "HTML page, bad gateway"
					if sent && writes(verb) {
						code = exitUnknown
					}
					switch {
					case ctx.Err() != nil:
						t.Errorf("%s: still running at the deadline", verb)
					case code == 0 && writes(verb) && result.code == exitUnknown:
					case code == 0 && result.code != exitError && result.code != exitTimeout, code != 0 && result.code != code:
						t.Errorf("%s: exit code %d, want %d (0: error or timeout); stderr %q", verb, result.code, code, result.stderr)
					case !oneError(result.stderr) || !strings.Contains(result.stderr, test.says):
						t.Errorf("%s: stderr %q, want one error line with %q", verb, result.stderr, test.says)
					}
				})
			}
			running.Wait()
		})
	}
}

// oneError reports whether standard error has exactly one line besides warnings and notices of slow reads, and
// this line is an error.
func oneError(stderr string) bool {
	lines := slices.DeleteFunc(slices.Collect(strings.Lines(stderr)), func(line string) bool {
		return strings.HasPrefix(line, "Warning: ") || strings.HasPrefix(line, "reading ")
	})
	return len(lines) == 1 && slices.ContainsFunc([]string{"error: ", "Error from server", "Unable to connect", "The connection to the server"},
		func(begin string) bool { return strings.HasPrefix(lines[0], begin) })
}

// If the server is broken, completion offers nothing.
func TestCompletionOfBrokenServer(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]string{
		"no response": serve(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }),
		"HTML page":   handle(t, always(http.StatusOK, "text/html", "<html></html>")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r := runCommand(t.Context(), t, server, "__complete scale deployment/"); r.code != exitDone || r.stdout != ":4\n" {
				t.Errorf("exit code %d, completions %q, want none", r.code, r.stdout)
			}
		})
	}
}

// Ctrl-C ends a verb that waits for an unresponsive server, but a write still waits until the request timeout.
func TestInterruptWithSilentServer(t *testing.T) {
	t.Parallel()
	for _, verb := range verbs() {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			awaitsWrite := writes(verb)
			server := serve(t, func(c net.Conn) {
				begin := make([]byte, 3)
				_, _ = io.ReadFull(c, begin)
				// If the verb writes, interrupt the write and not a concurrent read.
				if !awaitsWrite || string(begin) != "GET" {
					interrupt()
				}
				_, _ = io.Copy(io.Discard, c)
			})
			want := exitInterrupted
			switch {
			case verb == "run-controller":
				want = exitDone // the usual way to stop it
			case writes(verb): // the verb still waits for the response
				want, verb = exitUnknown, verb+" --request-timeout 5s"
			}
			// A verb that ignores the interrupt times out.
			if r := runCommand(ctx, t, server, verb); r.code != want || strings.Contains(r.stderr, "timed out") {
				t.Errorf("exit code %d, want %d; stderr %q", r.code, want, r.stderr)
			}
		})
	}
}

// A first Ctrl-C lets the write in flight complete. A second Ctrl-C ends the program immediately.
func TestSecondInterruptEndsAtOnce(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	server := serve(t, func(c net.Conn) {
		begin := make([]byte, 4)
		if _, _ = io.ReadFull(c, begin); string(begin) == "POST" {
			close(begun)
		}
		_, _ = io.Copy(io.Discard, c)
	})
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	program := newProgram(ctx, t, server, "create foo --request-timeout 1h")
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = program.Wait() // the exit code is checked below
	}()
	<-begun
	interrupt()
	_ = program.Process.Signal(os.Interrupt) // as from timeout(1), which sends two signals
	select {
	case <-ended:
		t.Fatal("the program ended at the first interrupt, while a write was in flight")
	case <-time.After(time.Second):
	}
	if err := program.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(deadline):
		_ = program.Process.Kill()
		<-ended
	}
	if code := program.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code after the second interrupt = %d, want %d", code, exitInterrupted)
	}
}

// writes reports whether the first request of a verb is a write.
func writes(verb string) bool {
	return strings.HasPrefix(verb, "create foo") || strings.Contains(verb, " --install")
}

// If the server of one API group is down or does not respond, other groups still work.
func TestAggregatedAPIDown(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]http.HandlerFunc{
		"down":   status(http.StatusServiceUnavailable, "ServiceUnavailable"),
		"silent": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var scaled atomic.Bool
			mux := onlyDeployments([]string{"apps", "broken.example.com"}, map[string]string{
				"GET /apis/apps/v1/deployments": `{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{},"items":[]}`,
			})
			mux.HandleFunc("PATCH /apis/apps/v1/namespaces/default/deployments/x/scale", func(w http.ResponseWriter, r *http.Request) {
				scaled.Store(true)
				always(http.StatusOK, "application/json", `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"x","namespace":"default"},"spec":{"replicas":2}}`)(w, r)
			})
			mux.HandleFunc("/apis/broken.example.com/", broken)
			server := handle(t, mux.ServeHTTP)
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			if result := runCommand(ctx, t, server, "scale deployment/x --replicas 2 --request-timeout 10s"); result.code != exitDone || !scaled.Load() {
				t.Errorf("scale: exit code %d, stderr %q, want success and a scaled Deployment", result.code, result.stderr)
			}
			result := runCommand(ctx, t, server, "kinds --request-timeout 10s")
			if !strings.Contains(result.stdout, "Deployment") {
				t.Errorf("kinds: exit code %d, stdout %q, want Deployment listed", result.code, result.stdout)
			}
			if result.code == exitDone || !oneError(result.stderr) || !strings.Contains(result.stderr, "broken.example.com") {
				t.Errorf("kinds: exit code %d, stderr %q, want one error line about broken.example.com", result.code, result.stderr)
			}
		})
	}
}

// onlyDeployments returns a handler that serves the Deployment x, the given responses, and discovery for
// version v1 of the API groups.
func onlyDeployments(groups []string, responses map[string]string) *http.ServeMux {
	var listed []string
	for _, name := range groups {
		version := fmt.Sprintf(`{"groupVersion":"%s/v1","version":"v1"}`, name)
		listed = append(listed, fmt.Sprintf(`{"name":%q,"versions":[%s],"preferredVersion":%s}`, name, version, version))
	}
	mux := http.NewServeMux()
	for _, bodies := range []map[string]string{responses, {
		"/api":    `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis":   `{"kind":"APIGroupList","apiVersion":"v1","groups":[` + strings.Join(listed, ",") + `]}`,
		"/api/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[]}`,
		"/apis/apps/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apps/v1","resources":[
			{"name":"deployments","singularName":"deployment","namespaced":true,"kind":"Deployment","verbs":["get","list","patch","watch"]},
			{"name":"deployments/scale","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale","verbs":["get","patch"]}]}`,
		"GET /apis/apps/v1/namespaces/default/deployments/x": `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"x","namespace":"default","uid":"1"},"spec":{"replicas":1}}`,
	}} {
		for path, body := range bodies {
			mux.HandleFunc(path, always(http.StatusOK, "application/json", body))
		}
	}
	return mux
}

// A wait survives watches that send nothing, send invalid events, break off, or fail, even if the wait takes
// longer than the request timeout.
func TestBrokenWatch(t *testing.T) {
	t.Parallel()
	const foo = `{"apiVersion":"batch.tutorial.kubebuilder.io/v1alpha1","kind":"ImoocPod","metadata":{"name":"foo","namespace":"default","uid":"1","resourceVersion":"5"}}`
	var watches atomic.Int32
	server := handle(t, func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("watch") {
			always(http.StatusOK, "application/json", `{"apiVersion":"batch.tutorial.kubebuilder.io/v1alpha1","kind":"ImoocPodList","metadata":{"resourceVersion":"5"},"items":[`+foo+`]}`)(w, r)
			return
		}
		switch watches.Add(1) {
		case 1:
			<-r.Context().Done() // does not even send a header
		case 2:
			always(http.StatusOK, "application/json", "garbage\n")(w, r)
		case 3:
			always(http.StatusOK, "text/html", "<html>")(w, r)
		case 4:
			always(http.StatusOK, "application/json", `{"type":"MODIFIED","object":{"apiVersion`)(w, r)
		case 5:
			status(http.StatusInternalServerError, "InternalError")(w, r)
		default:
			always(http.StatusOK, "application/json", `{"type":"DELETED","object":`+foo+"}\n")(w, r)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if result := runCommand(ctx, t, server, "wait foo --for=delete --request-timeout 10s"); result.code != exitDone {
		t.Errorf("exit code %d after %d watches, want success; stderr %q", result.code, watches.Load(), result.stderr)
	}
}

// If a list has endless pages, every verb that reads the list fails. The test is not parallel, because its thousands
// of requests would take processor time from the tests in bubbles.
func TestEndlessList(t *testing.T) {
	const list = `{"kind":"%s","apiVersion":"%s","metadata":{"resourceVersion":"1","continue":"more"},"items":[]}`
	server := handle(t, onlyDeployments([]string{"apps"}, map[string]string{
		"GET /apis/apps/v1/namespaces/default/deployments/x/scale": `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"x","namespace":"default","uid":"1"},"spec":{"replicas":1}}`,
		"GET /apis/batch.tutorial.kubebuilder.io/v1alpha1/namespaces/default/imoocpods/foo": `{"kind":"ImoocPod","apiVersion":"batch.tutorial.kubebuilder.io/v1alpha1",
			"metadata":{"name":"foo","namespace":"default","uid":"1"},"spec":{"replicas":1}}`,
		"GET /apis/apps/v1/namespaces/default/deployments": fmt.Sprintf(list, "DeploymentList", "apps/v1"),
		"GET /api/v1/namespaces/default/pods":              fmt.Sprintf(list, "PodList", "v1"),
	}).ServeHTTP)
	for _, verb := range []string{"status foo", "describe foo", "status deployment/x", "describe deployment/x", "status deployments --all", "delete deployments --all", "scale deployments --all --replicas 2"} {
		t.Run(verb, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			if r := runCommand(ctx, t, server, verb); r.code != exitError || !oneError(r.stderr) || !strings.Contains(r.stderr, "kept returning more pages") {
				t.Errorf("exit code %d, stderr %q, want one error line about too many pages", r.code, r.stderr)
			}
		})
	}
}

// serve starts a server that calls talk in a goroutine for each connection.
func serve(t *testing.T, talk func(net.Conn)) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = connection.Close() }()
				talk(connection)
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

// refusing returns the URL of a port on which no server listens.
func refusing(t *testing.T) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	return "http://" + listener.Addr().String()
}

func handle(t *testing.T, handler http.HandlerFunc) (url string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

func always(code int, format, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", format)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func status(code int, reason string) http.HandlerFunc {
	return always(code, "application/json", fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"it is %s","reason":%q,"code":%d}`, reason, reason, code))
}

func after(seconds string, handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", seconds)
		handler(w, r)
	}
}

// redirecting starts a server that redirects to another server, and fails the test if a request lacks credentials.
func redirecting(t *testing.T, to string) (url string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("request for %s has no credentials, so a redirect cannot leak them", r.URL)
		}
		http.Redirect(w, r, to+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// cut sends fewer bytes than the Content-Length announces.
func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, `{"kind":"`)
}

// The server has no built-in kinds that users can list, such as a kcp workspace without the group apps.
func TestServerWithoutApps(t *testing.T) {
	t.Parallel()
	server := handle(t, func(w http.ResponseWriter, r *http.Request) {
		answer := map[string]string{
			"/api":                 `{"kind":"APIVersions","versions":["v1"]}`,
			"/apis":                `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"example.com","versions":[{"groupVersion":"example.com/v1","version":"v1"}],"preferredVersion":{"groupVersion":"example.com/v1","version":"v1"}}]}`,
			"/api/v1":              `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"configmaps","singularName":"configmap","namespaced":true,"kind":"ConfigMap","verbs":["get","list","patch"]}]}`,
			"/apis/example.com/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v1","resources":[{"name":"lamps","singularName":"lamp","namespaced":true,"kind":"Lamp","verbs":["get","list","patch"]}]}`,
		}[r.URL.Path]
		if answer == "" {
			status(http.StatusForbidden, "Forbidden")(w, r)
			return
		}
		always(http.StatusOK, "application/json", answer)(w, r)
	})
	for _, line := range []string{"status", "park --all", "wait --all"} {
		if r := runProgram(t.Context(), t, server, line); r.code != exitForbidden {
			t.Errorf("%s: exit code %d, want %d; stderr %q", line, r.code, exitForbidden, r.stderr)
		}
	}
}

// The server rejects expired credentials once. client-go then gets new ones from a plugin or a file.
func TestExpiredCredentials(t *testing.T) {
	t.Parallel()
	for line, resource := range map[string]string{
		"wait deployment/web --for=delete --timeout 10m": "deployments", "logs deployment/web -f": "pods", "status deployment/web -w": "deployments",
	} {
		bubble.Test(t, func(t *testing.T) {
			s := apiserver.New(t)
			play.Cluster(s)
			s.CreateYAML(web)
			<-time.After(10 * time.Second)
			s.After(10*time.Second, func() {
				s.Fail(apiserver.On("watch", resource), apiserver.Fault{Err: apierrors.NewUnauthorized("expired"), Times: 1})
				s.EndWatches(resource, nil)
			})
			s.After(time.Minute, func() { s.Remove("deployments", "default", "web") })
			begun := time.Now()
			if r := runOn(t.Context(), s, line); time.Since(begun) < time.Minute {
				t.Errorf("%s: ended after %s with exit code %d, stderr %q", line, time.Since(begun), r.code, r.stderr)
			}
		})
	}
}
