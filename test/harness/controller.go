package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/report"
)

// Controller is a controller in the test process. It can be disconnected between any two requests,
// which looks like kill -9 to the server.
type Controller struct {
	*controller.Controller
	Metrics *metrics.Metrics
	// Kill ends the controller like kill -9. Stop ends it like Ctrl-C.
	Kill, Stop func()
	// Done is closed when the controller has ended, after Err is set.
	Done chan struct{}
	Err  error

	// output is the output of the controller. clientLog is the log of client-go.
	output, clientLog transcript

	mu     sync.Mutex
	killed bool
}

// transcript is a buffer that is safe for concurrent use.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends p.
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

// StartController starts an in-process controller with interceptors between it and the server. It
// overwrites the clients, the number of workers, the metrics, and the log in the options.
func (c *Cluster) StartController(t *testing.T, opts controller.Options, interceptors ...Interceptor) *Controller {
	t.Helper()
	l := &Controller{Done: make(chan struct{}), Metrics: metrics.New("test")}
	// Buffer the log of client-go, which contains failed writes whenever a controller is killed.
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&l.clientLog)))
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logger))
	l.Stop = cancel
	l.Kill = func() {
		l.mu.Lock()
		l.killed = true
		l.mu.Unlock()
		cancel()
	}
	config := rest.CopyConfig(c.Config)
	config.UserAgent = "kubectl-imoocpod/" + t.Name()
	config.WrapTransport = func(base http.RoundTripper) http.RoundTripper {
		return chain(base, append([]Interceptor{l.cutOff}, interceptors...)...)
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
	opts.Dynamic, opts.Core, opts.Workers, opts.Metrics = custom, core, 2, l.Metrics
	opts.Log = func(line report.Line) { _, _ = fmt.Fprintf(&l.output, "%s: %s\n", line.Name, line.Text) }
	l.Controller = controller.New(opts)
	go func() {
		defer close(l.Done)
		l.Err = l.Run(ctx)
	}()
	t.Cleanup(func() {
		l.Kill()
		<-l.Done
		if t.Failed() {
			t.Logf("a loop said:\n%s(it ended with: %v)\n%s", l.Output(), l.Err, l.clientLog.String())
		}
	})
	return l
}

func (l *Controller) cutOff(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	if l.Killed() {
		return nil, errKilled
	}
	return next.RoundTrip(r)
}

// Killed reports whether Kill ended the controller.
func (l *Controller) Killed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.killed
}

// Output returns the output so far.
func (l *Controller) Output() string { return l.output.String() }

// AwaitIdle waits until a controller has been idle for a second. It returns the number of its
// reconciles, and the number of writes by all in-process controllers of the test in a namespace.
func (c *Cluster) AwaitIdle(t *testing.T, namespace string, l *Controller) (looks int64, writes int) {
	t.Helper()
	since := time.Now()
	Eventually(t, "the loop has nothing to do", func() bool {
		if now := l.Reconciles(); now != looks {
			looks, since = now, time.Now()
		}
		return time.Since(since) > time.Second
	})
	return looks, len(c.Requests(t, namespace, ByControllerOf(t)))
}
