package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"k8s.io/utils/clock"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// interceptor stands between a loop and the server. next sends the request.
type interceptor func(r *http.Request, next http.RoundTripper) (*http.Response, error)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// chain makes a transport whose requests pass the interceptors, the first one first.
func chain(base http.RoundTripper, interceptors ...interceptor) http.RoundTripper {
	for _, intercept := range slices.Backward(interceptors) {
		next := base
		base = roundTripper(func(r *http.Request) (*http.Response, error) { return intercept(r, next) })
	}
	return base
}

// isWrite says whether a request changes pods or ImoocPods; events are not
// what a loop could lose.
func isWrite(r *http.Request) bool {
	return r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/events")
}

func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

// innerLoop is a controller in the process of the test: it can be cut off from
// the server between any two requests, which is all that the server can see of
// a kill -9.
type innerLoop struct {
	*controller.Controller
	metrics *controller.Metrics
	// kill ends it as kill -9 does, stop as Ctrl-C does.
	kill, stop func()
	done       chan struct{}
	err        error

	// said is what it said, log what the libraries under it did.
	said, log transcript

	mu     sync.Mutex
	killed bool
}

// transcript keeps what is written, by several at the same time.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write takes some more.
func (s *transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

var errKilled = errors.New("the loop was killed")

// startInner starts a loop for ImoocPods in this process, with interceptors
// between it and the server.
func startInner(t *testing.T, namespace string, clk clock.PassiveClock, interceptors ...interceptor) *innerLoop {
	t.Helper()
	return startInnerFor(t, namespace, []kinds.Kind{kinds.ImoocPod()}, clk, interceptors...)
}

// startInnerFor is startInner for any kinds.
func startInnerFor(t *testing.T, namespace string, kinds []kinds.Kind, clk clock.PassiveClock, interceptors ...interceptor) *innerLoop {
	t.Helper()
	return startInnerWith(t, controller.Options{Kinds: kinds, Namespace: namespace, Clock: clk}, interceptors...)
}

// startInnerWith is startInner with options of which the clients and what is to
// be seen of it are filled in.
func startInnerWith(t *testing.T, opts controller.Options, interceptors ...interceptor) *innerLoop {
	t.Helper()
	l := &innerLoop{done: make(chan struct{}), metrics: controller.NewMetrics("test")}
	// A loop that is killed fails at what it had begun, and client-go says so.
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&l.log)))
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logger))
	l.stop = cancel
	l.kill = func() {
		l.mu.Lock()
		l.killed = true
		l.mu.Unlock()
		cancel()
	}
	config := rest.CopyConfig(cluster.config)
	config.UserAgent = "kubectl-imoocpod/" + t.Name()
	config.WrapTransport = func(base http.RoundTripper) http.RoundTripper {
		return chain(base, append([]interceptor{l.cutOff}, interceptors...)...)
	}
	custom, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	config = rest.CopyConfig(config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	opts.Dynamic, opts.Core, opts.Workers, opts.Metrics = custom, core, 2, l.metrics
	opts.Say = func(line controller.Line) { _, _ = fmt.Fprintf(&l.said, "%s: %s\n", line.Name, line.Text) }
	l.Controller, err = controller.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(l.done)
		l.err = l.Run(ctx)
	}()
	t.Cleanup(func() {
		l.kill()
		<-l.done
		if t.Failed() {
			t.Logf("a loop said:\n%s(it ended with: %v)\n%s", l.output(), l.err, l.log.String())
		}
	})
	return l
}

// cutOff lets no request of a killed loop through.
func (l *innerLoop) cutOff(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if l.wasKilled() {
		return nil, errKilled
	}
	return next.RoundTrip(r)
}

func (l *innerLoop) wasKilled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.killed
}

func (l *innerLoop) output() string { return l.said.String() }

// answer makes the response of a server that refuses a request.
func answer(r *http.Request, code int, reason, message string) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`, message, reason, code)
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// lose throws away the answer to a request that the server has carried out.
func lose(resp *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return nil, io.ErrUnexpectedEOF
}
