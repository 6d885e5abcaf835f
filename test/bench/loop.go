package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// loop is the process of a subject. It is empty for a subject without a program.
type loop struct {
	*process

	address string // of its metrics endpoint
}

func (b *bench) launch(ctx context.Context, s subject) *loop {
	if s.program == nil {
		return &loop{}
	}
	address := freeAddress()
	return &loop{process: b.start(s.program(ctx, address)), address: address}
}

// freeAddress returns an unused loopback address.
func freeAddress() string {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	return l.Addr().String()
}

// reconciles returns the number of finished reconciles, including failed ones.
func (l *loop) reconciles() (float64, error) {
	client := http.Client{Timeout: 10 * time.Second}
	resp, err := client.Get("http://" + l.address + "/metrics")
	if err != nil {
		return 0, fmt.Errorf("read the metrics of the loop: %w", err)
	}
	defer resp.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(resp.Body)
	sum := 0.0
	for _, m := range all["imoocpod_reconciles_total"].GetMetric() {
		sum += m.GetCounter().GetValue()
	}
	return sum, err
}

func (l *loop) untilReconciled(ctx context.Context, n int) {
	await(ctx, 10*time.Millisecond, fmt.Sprintf("the loop has finished %d reconciles", n), func() bool {
		done, err := l.reconciles() // fails until the loop serves metrics
		return err == nil && done >= float64(n)
	})
}

// untilStill waits until a loop has reconciled nothing for the time veryQuiet.
func (l *loop) untilStill(ctx context.Context) {
	for before := -1.0; ; {
		now := must(l.reconciles())
		if now == before {
			return
		}
		before = now
		pause(ctx, veryQuiet)
	}
}
