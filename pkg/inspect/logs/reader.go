package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Reader reads the logs of containers.
type Reader struct {
	Open Open
	Out  *Output
	// Most is the maximum number of logs that are open at the same time.
	Most int
	// Tail, Since, and Previous are as in Request.
	Tail     int64
	Since    time.Time
	Previous bool
}

// part is one piece of the output of Once: a heading, a log, or a heading with a log.
type part struct {
	of  Container
	say string
	// open opens the log at the first call, and returns the same result at later calls. A heading has an empty log.
	open func() (io.ReadCloser, error)
}

func (p part) close() {
	if body, err := p.open(); err == nil {
		_ = body.Close()
	}
}

// Once writes the logs of containers one after the other, failing pods last, and opens several in advance. It
// continues if a log cannot be read, and stops if writing fails or the context ends.
func (r *Reader) Once(ctx context.Context, containers []Container) []error {
	ctx, stop := context.WithCancel(ctx)
	var parts, last []part // last is about the failing pods, because a terminal shows the end
	for _, c := range containers {
		if c.failing {
			last = append(last, r.parts(ctx, c)...)
		} else {
			parts = append(parts, r.parts(ctx, c)...)
		}
	}
	parts = append(parts, last...)
	opened := 0
	defer func() {
		stop()
		for _, p := range parts[:opened] {
			p.close()
		}
	}()
	var failed []error
	var broken Container
	reported := map[string]bool{} // namespaces
	silent := len(parts) > 0
	for i, p := range parts {
		for ; opened < min(i+r.Most, len(parts)); opened++ {
			next := parts[opened]
			go func() { _, _ = next.open() }() // write gets the error
		}
		if p.of == broken {
			p.close()
			continue
		}
		if p.say != "" {
			r.Out.sayOf(p.of, "%s", p.say)
		}
		came, err := r.write(p)
		silent = silent && p.say == "" && !came && err == nil
		if err == nil {
			continue
		}
		broken = p.of
		switch {
		case errors.Is(err, errWrite):
			return append(failed, err)
		case apierrors.IsForbidden(err):
			if !reported[p.of.Namespace] {
				failed = append(failed, err)
			}
			reported[p.of.Namespace] = true
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
// may explain why the pod is not ready precedes the log. If there is no log, a heading explains why.
func (r *Reader) parts(ctx context.Context, c Container) []part {
	say := func(format string, args ...any) []part {
		empty := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("")), nil }
		return []part{{of: c, say: fmt.Sprintf(format, args...), open: empty}}
	}
	log := func(say string, previous bool) part {
		return part{of: c, say: say, open: sync.OnceValues(func() (io.ReadCloser, error) {
			return r.Open.open(ctx, Request{Container: c, Tail: r.Tail, Since: r.Since, Previous: previous})
		})}
	}
	switch {
	case c.previous && (r.Previous || c.last):
		return []part{log("", true)}
	case r.Previous:
		return say("container %s was never restarted, so it has no previous log", c.Name)
	case !c.started && c.reason != "":
		return say("container %s has not started, so there is no log: %s", c.Name, c.reason)
	case !c.started:
		return say("container %s has not started, so there is no log", c.Name)
	case c.crashed:
		return []part{
			log(fmt.Sprintf("container %s exited (%s); last lines:", c.Name, c.end), true),
			log(fmt.Sprintf("container %s restarted:", c.Name), false),
		}
	}
	return []part{log("", false)}
}

// write writes the log of a part. came reports whether any lines were written.
func (r *Reader) write(p part) (came bool, err error) {
	body, err := p.open()
	if err != nil {
		return false, err
	}
	defer body.Close()
	all := r.Out.linesOf(p.of)
	rest, err := copyLines(body, all, &resume{})
	if err == nil && rest.Text != "" {
		all.add(rest)
		err = all.write()
	}
	return all.written, err
}

// copyLines writes the new lines of a log, and returns the incomplete last line.
func copyLines(body io.Reader, all *lines, known *resume) (rest Line, err error) {
	from := newLineReader(body)
	for {
		text, err := from.next()
		line := parseLine(text)
		if err == nil && known.isNew(line) {
			all.add(line)
		}
		if all.text.Len() > 0 && (err != nil || from.idle() || all.text.Len() >= batchBytes) {
			if err := all.write(); err != nil {
				return Line{}, err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return line, nil
		case err != nil:
			return Line{}, err
		}
	}
}
