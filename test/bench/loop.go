package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// loop is the process of a subject; one without a program has none.
type loop struct {
	*process
	address string // of its metrics
	stopped bool
}

// startLoop starts a subject's program, and waits until it has seen the owner.
func (b *bench) startLoop(ctx context.Context, s subject, w *witness) (*loop, error) {
	l, err := b.launch(ctx, s)
	if err != nil || s.program == nil {
		return l, err
	}
	if _, err := w.until(ctx, "the owner is observed", func() bool { return w.says(0) }); err != nil {
		defer l.stop()
		return nil, fmt.Errorf("%w; it said: %s", err, l.words())
	}
	return l, nil
}

// launch starts a subject's program.
func (b *bench) launch(ctx context.Context, s subject) (*loop, error) {
	return b.launchBeside(ctx, s, "loop")
}

// launchBeside is launch for a program beside others, with a log of its own.
func (b *bench) launchBeside(ctx context.Context, s subject, log string) (*loop, error) {
	if s.program == nil {
		return &loop{}, nil
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	p, err := startProcess(s.program(ctx, address), b.logOf(log))
	return &loop{process: p, address: address}, err
}

// stop stops the process, if there is one and it has not been.
func (l *loop) stop() {
	if l.process != nil && !l.stopped {
		l.stopped = true
		l.process.stop()
	}
}

// kill ends the process without a chance to do anything more.
func (l *loop) kill() {
	l.stopped = true
	_ = l.cmd.Process.Kill() // an error: it has ended
	<-l.done
}

func (l *loop) words() string {
	if l.process == nil {
		return ""
	}
	return l.process.words()
}

// metrics reads what the loop tells of itself.
func (l *loop) metrics() (map[string]*dto.MetricFamily, error) {
	client := http.Client{Timeout: 10 * time.Second}
	resp, err := client.Get("http://" + l.address + "/metrics")
	if err != nil {
		return nil, fmt.Errorf("read the metrics of the loop: %w", err)
	}
	defer resp.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(resp.Body)
}

// metric is the sum of a metric over its labels; of a histogram, the sum of what
// was observed, and with _count behind its name the number of observations.
func (l *loop) metric(name string) (float64, error) {
	all, err := l.metrics()
	if err != nil {
		return 0, err
	}
	name, number := strings.CutSuffix(name, "_count")
	family := all[name]
	if family == nil {
		return 0, nil // nothing was counted yet
	}
	sum := 0.0
	for _, m := range family.Metric {
		switch {
		case m.Counter != nil:
			sum += m.Counter.GetValue()
		case m.Gauge != nil:
			sum += m.Gauge.GetValue()
		case m.Histogram != nil && number:
			sum += float64(m.Histogram.GetSampleCount())
		case m.Histogram != nil:
			sum += m.Histogram.GetSampleSum()
		default:
			return 0, errors.New("unexpected type of metric " + name)
		}
	}
	return sum, nil
}
