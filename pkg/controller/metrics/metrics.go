// Package metrics provides the metrics of all loops in this process.
package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/util/workqueue"
)

// Metrics holds the metrics of all loops in this process. Metrics of client-go have the same names as in Kubernetes.
type Metrics struct {
	*prometheus.Registry

	// Created and Deleted count pods. Refusals counts refused creates and applies. CacheWaits counts the reconciles
	// that were postponed because a cache lacked a write. All are labeled by kind, and Refusals also by reason.
	Created, Deleted, Refusals, CacheWaits *prometheus.CounterVec
	// Convergence observes how long objects take to converge, by kind.
	Convergence *prometheus.HistogramVec

	reconciles *prometheus.CounterVec
	leading    *prometheus.GaugeVec

	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec

	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	queued, worked             *prometheus.HistogramVec
}

var _ workqueue.MetricsProvider = (*Metrics)(nil)

// New returns metrics, including the version and the metrics of the Go runtime and the process.
func New(version string) *Metrics {
	m := &Metrics{Registry: prometheus.NewRegistry()}
	registered := promauto.With(m.Registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return registered.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return registered.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return registered.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	m.reconciles = counter("imoocpod_reconciles_total", "Reconciles of an object, by kind and result: done, error.", "kind", "result")
	m.Created = counter("imoocpod_pods_created_total", "Pods created, by kind of their owner.", "kind")
	m.Deleted = counter("imoocpod_pods_deleted_total", "Pods deleted, by kind of their owner.", "kind")
	m.Refusals = counter("imoocpod_refusals_total", "Pods whose creation was refused, by kind of their owner and reason.", "kind", "reason")
	m.CacheWaits = counter("imoocpod_cache_waits_total", "Reconciles postponed until a cache contains the controller's own writes.", "kind")
	m.Convergence = histogram("imoocpod_convergence_duration_seconds", "Time to bring an object to its desired state.",
		prometheus.ExponentialBuckets(0.05, 2, 15), "kind")
	m.leading = gauge("leader_election_master_status", "1 while this process holds the lease, 0 while it waits for it.", "name")

	m.requests = counter("rest_client_requests_total", "Number of HTTP requests, partitioned by status code, method, and host.", "code", "method", "host")
	m.latency = histogram("rest_client_request_duration_seconds", "Request latency in seconds. Broken down by verb, and host.",
		[]float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60}, "verb", "host")

	times := prometheus.ExponentialBuckets(10e-9, 10, 10)
	m.depth = gauge("workqueue_depth", "Current depth of workqueue", "name")
	m.adds = counter("workqueue_adds_total", "Total number of adds handled by workqueue", "name")
	m.queued = histogram("workqueue_queue_duration_seconds", "How long in seconds an item stays in workqueue before being requested.", times, "name")
	m.worked = histogram("workqueue_work_duration_seconds", "How long in seconds processing an item from workqueue takes.", times, "name")
	m.unfinished = gauge("workqueue_unfinished_work_seconds", "How many seconds of work is in progress that work_duration has not observed. Large values indicate stuck threads.", "name")
	m.longest = gauge("workqueue_longest_running_processor_seconds", "How many seconds has the longest running processor for workqueue been running.", "name")
	m.retries = counter("workqueue_retries_total", "Total number of retries handled by workqueue", "name")

	m.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	gauge("imoocpod_build_info", "1, with the version of the program.", "version").WithLabelValues(version).Set(1)
	return m
}

// Know creates the metrics that are labeled only by kind, so that they are reported as zero, not missing.
func (m *Metrics) Know(kind string) {
	for _, c := range []*prometheus.CounterVec{m.Created, m.Deleted, m.CacheWaits} {
		c.WithLabelValues(kind)
	}
	m.Convergence.WithLabelValues(kind)
}

// Reconciled counts a reconcile for a kind. The result is "error" if err is set, or else "done".
func (m *Metrics) Reconciled(kind string, err error) {
	result := "done"
	if err != nil {
		result = "error"
	}
	m.reconciles.WithLabelValues(kind, result).Inc()
}

// Lead records whether this process holds a lease, given as namespace/name.
func (m *Metrics) Lead(lease string, held bool) {
	value := 0.0
	if held {
		value = 1
	}
	m.leading.WithLabelValues(lease).Set(value)
}

// Count returns a RoundTripper that counts requests, and measures the time until the response headers arrive.
func (m *Metrics) Count(next http.RoundTripper) http.RoundTripper {
	return promhttp.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		start := time.Now()
		resp, err := next.RoundTrip(r)
		code := "<error>" // the code that client-go uses
		if err == nil {
			code = strconv.Itoa(resp.StatusCode)
		}
		m.requests.WithLabelValues(code, r.Method, r.URL.Host).Inc()
		m.latency.WithLabelValues(r.Method, r.URL.Host).Observe(time.Since(start).Seconds())
		return resp, err
	})
}

// NewDepthMetric returns a gauge of the number of items in a queue.
func (m *Metrics) NewDepthMetric(name string) workqueue.GaugeMetric {
	return m.depth.WithLabelValues(name)
}

// NewAddsMetric returns a counter of the items that were added to a queue.
func (m *Metrics) NewAddsMetric(name string) workqueue.CounterMetric {
	return m.adds.WithLabelValues(name)
}

// NewLatencyMetric returns a histogram of how long items wait in a queue.
func (m *Metrics) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return m.queued.WithLabelValues(name)
}

// NewWorkDurationMetric returns a histogram of how long it takes to process an item.
func (m *Metrics) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return m.worked.WithLabelValues(name)
}

// NewUnfinishedWorkSecondsMetric returns a gauge of the total duration of the work in progress.
func (m *Metrics) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return m.unfinished.WithLabelValues(name)
}

// NewLongestRunningProcessorSecondsMetric returns a gauge of how long the oldest work has been running.
func (m *Metrics) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return m.longest.WithLabelValues(name)
}

// NewRetriesMetric returns a counter of the retries.
func (m *Metrics) NewRetriesMetric(name string) workqueue.CounterMetric {
	return m.retries.WithLabelValues(name)
}
