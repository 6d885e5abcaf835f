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
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"k8s.io/utils/clock"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/metrics"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/report"
)

// Controller is a controller in the test process. Kill disconnects it. To the server, this looks like kill -9.
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

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

var errKilled = errors.New("the controller was killed")

// StartController starts an in-process controller, and injects faults into its requests. It overwrites the clients,
// the selector, the number of workers, the metrics, the log, and the clock in the options.
func (c *Cluster) StartController(t *testing.T, opts controller.Options, faults *Faults) *Controller {
	t.Helper()
	running := &Controller{Done: make(chan struct{})}
	// Buffer the log of client-go, which contains failed writes whenever a controller is killed.
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&running.output)))
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logger))
	running.cancel = cancel
	config := rest.CopyConfig(c.Config)
	config.Wrap(faults.disturb)
	config.Wrap(running.cutOff)
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
	opts.Selector, opts.Clock = labels.Everything(), clock.RealClock{}
	opts.Log = func(line report.Line) { _, _ = fmt.Fprintf(&running.output, "%s: %s\n", line.Name, line.Text) }
	go func() {
		defer close(running.Done)
		running.Err = controller.New(opts).Run(ctx)
	}()
	t.Cleanup(func() {
		running.Kill()
		<-running.Done
		if t.Failed() {
			t.Logf("an in-process controller ended with error %v; its log:\n%s", running.Err, running.output.text.String())
		}
	})
	return running
}

func (c *Controller) cutOff(base http.RoundTripper) http.RoundTripper {
	return promhttp.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if c.Killed() {
			return nil, errKilled
		}
		return base.RoundTrip(r)
	})
}

// Kill ends the controller like kill -9.
func (c *Controller) Kill() {
	c.killed.Store(true)
	c.cancel()
}

// Killed reports whether Kill was called.
func (c *Controller) Killed() bool { return c.killed.Load() }
