package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"
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
	// Done is closed when the controller has ended, after Err is set.
	Done chan struct{}
	Err  error

	cancel context.CancelFunc
	killed atomic.Bool
	output transcript
}

// transcript is a buffer that is safe for concurrent use.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

var errKilled = errors.New("the loop was killed")

// StartController starts an in-process controller whose requests suffer from faults. It overwrites the
// clients, the number of workers, the metrics, and the log in the options.
func (c *Cluster) StartController(t *testing.T, opts controller.Options, faults *Faults) *Controller {
	t.Helper()
	l := &Controller{Done: make(chan struct{})}
	// Buffer the log of client-go, which contains failed writes whenever a controller is killed.
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&l.output)))
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logger))
	l.cancel = cancel
	config := rest.CopyConfig(c.Config)
	config.Wrap(faults.disturb)
	config.Wrap(l.cutOff)
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
	opts.Dynamic, opts.Core, opts.Workers, opts.Metrics = custom, core, 2, metrics.New("test")
	opts.Log = func(line report.Line) { _, _ = fmt.Fprintf(&l.output, "%s: %s\n", line.Name, line.Text) }
	go func() {
		defer close(l.Done)
		l.Err = controller.New(opts).Run(ctx)
	}()
	t.Cleanup(func() {
		l.Kill()
		<-l.Done
		if t.Failed() {
			t.Logf("a loop ended with %v, and said:\n%s", l.Err, l.output.text.String())
		}
	})
	return l
}

func (l *Controller) cutOff(base http.RoundTripper) http.RoundTripper {
	return promhttp.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if l.Killed() {
			return nil, errKilled
		}
		return base.RoundTrip(r)
	})
}

// Kill ends the controller like kill -9.
func (l *Controller) Kill() {
	l.killed.Store(true)
	l.cancel()
}

// Killed reports whether Kill ended the controller.
func (l *Controller) Killed() bool { return l.killed.Load() }
