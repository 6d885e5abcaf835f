package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Reader reads the logs of containers.
type Reader struct {
	Open Open
	Out  *Output
	// Most is the maximum number of logs that are open at the same time.
	Most int
	// Tail is the number of last lines to read from each log; negative means all lines. Since is the
	// start time, if set. Previous selects the previous run.
	Tail     int64
	Since    time.Time
	Previous bool
}

// part is one piece of the output of Once: a heading, a log, or a heading with a log.
type part struct {
	of      Container
	say     string
	request *Request
	// from and to are the ends of a pipe for the lines of the log.
	from *io.PipeReader
	to   *io.PipeWriter
}

// Once writes the logs of containers one after the other, failing pods last, and opens several in advance. If
// a log cannot be read, Once records an error and continues. It stops if writing fails or the context ends.
func (r *Reader) Once(ctx context.Context, containers []Container) []error {
	var parts []part
	for _, c := range failingLast(containers) {
		parts = append(parts, r.parts(c)...)
	}
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer func() {
		stop()
		for _, p := range parts {
			p.from.CloseWithError(context.Canceled)
		}
	}()
	running.Go(func() { r.readAhead(ctx, parts, &running) })
	var failed []error
	var broken Container
	reported := map[string]bool{} // namespaces
	silent := len(parts) > 0
	for _, p := range parts {
		if p.of == broken {
			_ = p.from.Close() // ends its read, which may wait to be written; it never fails
			continue
		}
		if p.say != "" {
			silent = false
			r.Out.sayOf(p.of, "%s", p.say)
		}
		n, err := io.Copy(r.Out, p.from)
		silent = silent && n == 0 && err == nil
		if err == nil {
			continue
		}
		broken = p.of
		var missing *MissingRightError
		switch {
		case errors.Is(err, errWrite):
			return append(failed, err)
		case errors.As(err, &missing):
			if !reported[missing.Namespace] {
				failed = append(failed, err)
			}
			reported[missing.Namespace] = true
		case ctx.Err() != nil:
			return append(failed, context.Cause(ctx))
		default:
			failed = append(failed, fmt.Errorf("read the log of container %s of pod %s: %w", p.of.Name, p.of.Pod, err))
		}
	}
	if silent {
		r.Out.Say("--- no lines to show")
	}
	return failed
}

// parts returns the output for a container: its log or, on request, its previous log. A previous log that
// explains why the pod is not ready precedes the log. If there is no log, a heading explains why.
func (r *Reader) parts(c Container) []part {
	say := func(format string, args ...any) part {
		p := part{of: c, say: fmt.Sprintf(format, args...)}
		p.from, p.to = io.Pipe()
		return p
	}
	current, before := say(""), say("")
	current.request = &Request{Namespace: c.Namespace, Pod: c.Pod, Container: c.Name, Tail: r.Tail, Since: r.Since}
	before.request = &Request{Namespace: c.Namespace, Pod: c.Pod, Container: c.Name, Tail: r.Tail, Since: r.Since, Previous: true}
	switch {
	case c.previous && (r.Previous || c.last):
		return []part{before}
	case r.Previous:
		return []part{say("container %s was never restarted, so it has no previous log", c.Name)}
	case c.phase == phaseNotStarted && c.reason != "":
		return []part{say("container %s has not started, so there is no log: %s", c.Name, c.reason)}
	case c.phase == phaseNotStarted:
		return []part{say("container %s has not started, so there is no log", c.Name)}
	case c.crashed:
		before.say = fmt.Sprintf("container %s exited (%s); last lines:", c.Name, c.end)
		current.say = fmt.Sprintf("container %s restarted:", c.Name)
		return []part{before, current}
	}
	return []part{current}
}

// readAhead starts to read the logs in order, at most r.Most at the same time. Each read blocks until
// Once has written the previous logs.
func (r *Reader) readAhead(ctx context.Context, parts []part, running *sync.WaitGroup) {
	slots := make(chan struct{}, r.Most)
	for _, p := range parts {
		slots <- struct{}{} // this does not block after the context ends, because reads end with the context
		running.Go(func() {
			defer func() { <-slots }()
			p.to.CloseWithError(r.read(ctx, p))
		})
	}
}

// read writes the log of a part to its pipe.
func (r *Reader) read(ctx context.Context, p part) error {
	if p.request == nil {
		return nil
	}
	body, err := r.Open.open(ctx, *p.request)
	if err != nil {
		return err
	}
	defer body.Close()
	all := r.Out.linesOf(p.of)
	rest, _, err := copyLines(body, all, &resume{}, p.to)
	if err == nil && rest.Text != "" {
		all.add(rest)
		_, err = all.text.WriteTo(p.to)
	}
	return err
}

// copyLines writes the new lines of a log until the log ends. rest is the incomplete last line. came reports
// whether any lines were written.
func copyLines(body io.Reader, all *lines, known *resume, to io.Writer) (rest Line, came bool, err error) {
	from := newLineReader(body)
	for {
		text, err := from.next()
		line := parseLine(text)
		if err == nil && known.isNew(line) {
			all.add(line)
		}
		if all.text.Len() > 0 && (err != nil || from.idle() || all.text.Len() >= batchBytes) {
			came = true
			if _, err := all.text.WriteTo(to); err != nil {
				return Line{}, came, err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return line, came, nil
		case err != nil:
			return Line{}, came, err
		}
	}
}
