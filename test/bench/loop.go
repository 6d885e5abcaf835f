package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// loop is the process of a subject, or empty for a subject without a program.
type loop struct {
	*process
	address string // of its metrics endpoint
	stopped bool
}

// startLoop starts the program of a subject, and waits until the status of the owner
// shows that the program has observed it.
func (b *bench) startLoop(ctx context.Context, s subject, w *witness) (*loop, error) {
	l, err := b.launch(ctx, s)
	if err != nil || s.program == nil {
		return l, err
	}
	if _, err := w.until(ctx, "the owner is observed", func() bool { return w.says(0) }); err != nil {
		defer l.stop()
		return nil, fmt.Errorf("%w; output: %s", err, l.words())
	}
	return l, nil
}

// launch starts the program of a subject.
func (b *bench) launch(ctx context.Context, s subject) (*loop, error) {
	return b.launchBeside(ctx, s, "loop")
}

// launchBeside is launch with another log file, so that several programs can run at a
// time.
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

// stop stops the process, if it runs.
func (l *loop) stop() {
	if l.process != nil && !l.stopped {
		l.stopped = true
		l.process.stop()
	}
}

// kill sends SIGKILL to the process.
func (l *loop) kill() {
	l.stopped = true
	_ = l.cmd.Process.Kill() // fails if it has exited
	<-l.done
}

func (l *loop) words() string {
	if l.process == nil {
		return ""
	}
	return l.process.words()
}

// metrics reads the metrics of the loop.
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

// reconciles returns the number of finished reconciles, including those that failed.
func (l *loop) reconciles() (float64, error) {
	all, err := l.metrics()
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, m := range all["imoocpod_reconciles_total"].GetMetric() {
		sum += m.GetCounter().GetValue()
	}
	return sum, nil
}
