package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Reader reads the logs of containers.
type Reader struct {
	Open Open
	Out  *Output
	// Most is how many logs are open at once.
	Most int
	// Tail is how many of the last lines of each are read; negative, all. Since is from
	// when on, and Previous asks for the run before.
	Tail     int64
	Since    time.Time
	Previous bool
}

type chunk struct {
	lines []byte
	say   string
}

// chunksAhead is how much of a log is read ahead while others are written.
const chunksAhead = 2

// Once writes the logs of containers, one container after the other, those of failing
// pods last. It reads several ahead. One that cannot be read does not stop the others.
func (r *Reader) Once(ctx context.Context, containers []Container) []error {
	containers = failingLast(containers)
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	var failed []error
	told := map[string]bool{}
	for i, log := range r.readAhead(ctx, containers, &running) {
		c := containers[i]
		for part := range log.parts {
			if part.say != "" {
				r.Out.sayOf(c, "%s", part.say)
			}
			if err := r.Out.write(part.lines); err != nil {
				return append(failed, err)
			}
		}
		var missing *MissingRightError
		switch err := log.err; {
		case errors.As(err, &missing):
			if !told[missing.Namespace] {
				failed = append(failed, err)
			}
			told[missing.Namespace] = true
		case err != nil && ctx.Err() != nil:
			return append(failed, context.Cause(ctx))
		case err != nil:
			failed = append(failed, fmt.Errorf("read the log of container %s of pod %s: %w", c.Name, c.Pod, err))
		}
	}
	return failed
}

// ahead is a log that is read ahead. err is why it could not be, once all parts came.
type ahead struct {
	parts chan chunk
	err   error
}

// readAhead reads the logs of containers in their order, as many at once as may be.
func (r *Reader) readAhead(ctx context.Context, containers []Container, running *sync.WaitGroup) []*ahead {
	logs := make([]*ahead, len(containers))
	for i := range logs {
		logs[i] = &ahead{parts: make(chan chunk, chunksAhead)}
	}
	slots := make(chan struct{}, r.Most)
	var denied sync.Map // the namespaces whose logs may not be read
	running.Go(func() {
		for i, c := range containers {
			slots <- struct{}{} // those before end with the context
			running.Go(func() {
				defer func() { <-slots }()
				defer close(logs[i].parts)
				if _, is := denied.Load(c.Namespace); is {
					return // it is the same as before
				}
				err := r.readOne(ctx, c, logs[i].parts)
				if missing := (*MissingRightError)(nil); errors.As(err, &missing) {
					denied.Store(c.Namespace, true)
				}
				logs[i].err = err
			})
		}
	})
	return logs
}

// requests are the logs of a container to read: that of the run before, too, where
// that explains why the pod is not ready. Where there is none, why says so.
func (r *Reader) requests(c Container) (all []Request, why string) {
	request := Request{Namespace: c.Namespace, Pod: c.Pod, Container: c.Name, Tail: r.Tail, Since: r.Since}
	before := request
	before.Previous = true
	switch {
	case c.previous && (r.Previous || c.last):
		return []Request{before}, ""
	case r.Previous:
		return nil, "container " + c.Name + " was never restarted, so it has no previous log"
	case c.phase == phaseNotStarted:
		why = "container " + c.Name + " has not started, so there is no log"
		if c.reason != "" {
			why += ": " + c.reason
		}
		return nil, why
	case c.crashed:
		return []Request{before, request}, ""
	}
	return []Request{request}, ""
}

// readOne reads what is wanted of a container.
func (r *Reader) readOne(ctx context.Context, c Container, to chan<- chunk) error {
	send := func(part chunk) error {
		select {
		case to <- part:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	requests, why := r.requests(c)
	if len(requests) == 0 {
		return send(chunk{say: why})
	}
	for _, request := range requests {
		if request.Previous != requests[len(requests)-1].Previous {
			if err := send(chunk{say: fmt.Sprintf("container %s exited (%s); last lines:", c.Name, c.end)}); err != nil {
				return err
			}
		} else if len(requests) > 1 {
			if err := send(chunk{say: fmt.Sprintf("container %s restarted:", c.Name)}); err != nil {
				return err
			}
		}
		body, err := r.Open(ctx, request)
		switch {
		case apierrors.IsForbidden(err):
			return &MissingRightError{Namespace: c.Namespace, Err: err}
		case err != nil:
			return err
		}
		all := r.Out.linesOf(c)
		rest, err := copyLines(body, all, nil, false, func(lines []byte) error { return send(chunk{lines: lines}) })
		_ = body.Close() // it was read to its end
		if err != nil {
			return err
		}
		if rest.Text != "" {
			all.add(rest)
			if err := send(chunk{lines: all.take()}); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyLines passes the lines of a log on until it ends. What was read before is left
// out: known knows, and resumed says that the log was taken up. rest is what came
// after the end of the last line.
func copyLines(body io.Reader, to *lines, known *resume, resumed bool, write func([]byte) error) (rest Line, err error) {
	from := newLineReader(body)
	for {
		text, err := from.next()
		line := parseLine(text)
		if err == nil && (known == nil || known.isNew(line, resumed)) {
			to.add(line)
		}
		if len(to.text) > 0 && (err != nil || from.idle() || len(to.text) >= batchBytes) {
			if err := write(to.take()); err != nil {
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
