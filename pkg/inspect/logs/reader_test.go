package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

// script maps "pod/container" to a log. The key of the previous run ends with " before".
type script map[string]string

func (s script) open(_ context.Context, r Request) (io.ReadCloser, error) {
	key := r.Pod + "/" + r.Name
	if r.Previous {
		key += " before"
	}
	text, is := s[key]
	if !is {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods/log"}, r.Pod, errors.New("no"))
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

const stamp = "2026-11-22T10:00:00.5Z "

func TestOnce(t *testing.T) {
	t.Parallel()
	c := func(pod string, change func(*Container)) Container {
		c := Container{Namespace: "default", Pod: pod, Name: "main", node: "n1", label: pod, started: true}
		if change != nil {
			change(&c)
		}
		return c
	}
	failing := func(c *Container) { c.failing = true }
	logs := script{
		"a/main": stamp + "one\n" + stamp + "two", "b/main": stamp + "\x1b[31mred\x1b[0m\r\n", "b/main before": stamp + "panic\n",
		"c/main": "", "d/main": stamp + "1 < 2\nunable to read\n", "e/main": stamp + "five", "f/main": stamp + "six",
	}
	for name, row := range map[string]struct {
		containers []Container
		reader     Reader
		out        string
		msgs       string
		errs       int
	}{
		"no containers":          {},
		"unterminated last line": {containers: []Container{c("a", nil)}, out: "a | one\na | two\n"},
		"an empty log":           {containers: []Container{c("c", nil)}, msgs: "--- no lines to show\n"},
		"failing pods last":      {containers: []Container{c("b", failing), c("a", nil), c("e", failing), c("f", nil)}, out: "a | one\na | two\nf | six\n" + `b | \x1b[31mred\x1b[0m` + "\ne | five\n"},
		"raw":                    {containers: []Container{c("b", nil)}, reader: Reader{Out: &Output{Format: Raw}}, out: "\x1b[31mred\x1b[0m\n"},
		"timestamps":             {containers: []Container{c("d", nil)}, reader: Reader{Out: &Output{Timestamps: true}}, out: "d | 2026-11-22T10:00:00.5Z 1 < 2\nd | unable to read\n"},
		"raw with timestamps":    {containers: []Container{c("a", nil)}, reader: Reader{Out: &Output{Timestamps: true, Format: Raw}}, out: "2026-11-22T10:00:00.5Z one\n2026-11-22T10:00:00.5Z two\n"},
		"JSON":                   {containers: []Container{c("d", nil)}, reader: Reader{Out: &Output{Format: JSON}}, out: `{"namespace":"default","pod":"d","container":"main","node":"n1","time":"2026-11-22T10:00:00.5Z","message":"1 < 2"}` + "\n" + `{"namespace":"default","pod":"d","container":"main","node":"n1","message":"unable to read"}` + "\n"},
		"colors":                 {containers: []Container{c("a", nil)}, reader: Reader{Out: &Output{Paint: func(n uint32, text string) string { return fmt.Sprintf("<%d %s>", n%10, text) }}}, out: "<0 a> | one\n<0 a> | two\n"},
		"not started":            {containers: []Container{c("a", func(c *Container) { c.started, c.reason = false, "no image" })}, msgs: "--- a: container main has not started, so there is no log: no image\n"},
		"crashed and restarted":  {containers: []Container{c("b", func(c *Container) { c.previous, c.crashed, c.end = true, true, "Error, exit code 3" })}, out: "b | panic\n" + `b | \x1b[31mred\x1b[0m` + "\n", msgs: "--- b: container main exited (Error, exit code 3); last lines:\n--- b: container main restarted:\n"},
		"waits for its restart":  {containers: []Container{c("b", func(c *Container) { c.ended, c.previous, c.last = true, true, true })}, out: "b | panic\n"},
		"the previous run":       {containers: []Container{c("b", func(c *Container) { c.previous = true })}, reader: Reader{Previous: true}, out: "b | panic\n"},
		"no previous run":        {containers: []Container{c("b", nil)}, reader: Reader{Previous: true}, msgs: "--- b: container main was never restarted, so it has no previous log\n"},
		"one error if forbidden": {containers: []Container{c("x", nil), c("y", nil), c("a", func(c *Container) { c.Namespace = "other" })}, out: "a | one\na | two\n", errs: 1},
	} {
		var out, msgs bytes.Buffer
		r := row.reader
		r.Open, r.Most = logs.open, 2
		if r.Out == nil {
			r.Out = &Output{}
		}
		r.Out.Out, r.Out.ErrOut = &out, &msgs
		errs := r.Once(t.Context(), row.containers)
		if out.String() != row.out || msgs.String() != row.msgs || len(errs) != row.errs {
			t.Errorf("%s: output = %q\nmessages = %q, errors %v", name, out.String(), msgs.String(), errs)
		}
	}
}

// Many containers are read with few open logs, and their logs are written in order.
func TestOnceInOrder(t *testing.T) {
	t.Parallel()
	logs := script{}
	var containers []Container
	var want []string
	for i := range 100 {
		pod := fmt.Sprintf("p%03d", i)
		logs[pod+"/main"] = strings.Repeat(stamp+strings.Repeat("x", 1000)+"\n", 20)
		containers = append(containers, Container{Pod: pod, Name: "main", label: pod, started: true})
		want = append(want, pod)
	}
	var out bytes.Buffer
	var opened atomic.Int64
	open := func(ctx context.Context, r Request) (io.ReadCloser, error) {
		if n := opened.Add(1); n > 4 {
			t.Errorf("%d logs are open at the same time, want at most 4", n)
		}
		body, err := logs.open(ctx, r)
		return counted{body, &opened}, err
	}
	r := Reader{Open: open, Out: &Output{Out: &out, ErrOut: io.Discard}, Most: 4}
	if errs := r.Once(t.Context(), containers); len(errs) > 0 {
		t.Fatal(errs)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		label, _, _ := strings.Cut(line, " | ")
		got = append(got, label)
	}
	if len(got) != 100*20 || !slices.Equal(slices.Compact(got), want) {
		t.Errorf("%d lines, of the containers %q", len(got), slices.Compact(got))
	}
}

// counted is a log that decrements open when it is closed.
type counted struct {
	io.ReadCloser
	open *atomic.Int64
}

func (c counted) Close() error { c.open.Add(-1); return c.ReadCloser.Close() }

// If the previous log of a container cannot be read, Once skips the container's current log, and still
// reads the logs of other containers.
func TestOnceSkipsALog(t *testing.T) {
	t.Parallel()
	logs := script{"a/main": stamp + "one\n", "b/main": stamp + "two\n"}
	crashed := Container{Pod: "a", Name: "main", label: "a", started: true, previous: true, crashed: true}
	other := Container{Pod: "b", Name: "main", label: "b", started: true}
	open := func(ctx context.Context, r Request) (io.ReadCloser, error) {
		if r.Previous {
			return nil, errors.New("the log is gone")
		}
		return logs.open(ctx, r)
	}
	bubble.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var out bytes.Buffer
		r := Reader{Open: open, Out: &Output{Out: &out, ErrOut: io.Discard}, Most: 1}
		if errs := r.Once(ctx, []Container{crashed, other}); len(errs) != 1 || out.String() != "b | two\n" {
			t.Errorf("output = %q, errors %v, want the log of b and one error", out.String(), errs)
		}
	})
}
