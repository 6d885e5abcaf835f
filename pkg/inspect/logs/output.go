package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"regexp"
	"sync"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
)

// The formats of Output: lines for people, lines as the container wrote them, and a JSON object for each line.
const (
	ForPeople = ""
	Raw       = "raw"
	JSON      = "json"
)

// batchBytes is the size at which collected lines are written even if more input is available.
const batchBytes = 32 << 10

var errWrite = errors.New("write the lines of a log")

// Output writes the lines of many containers. It never interleaves parts of lines.
type Output struct {
	Out, ErrOut io.Writer
	Format      string
	// Timestamps adds the time to lines for people and to raw lines.
	Timestamps bool
	// Only, if set, is a pattern that a line must match to be written.
	Only *regexp.Regexp
	// Paint, if set, colors a text. Texts with the same n have the same color.
	Paint func(n uint32, text string) string

	mu sync.Mutex
}

type entry struct {
	Namespace string    `json:"namespace"`
	Pod       string    `json:"pod"`
	Container string    `json:"container"`
	Node      string    `json:"node"`
	Time      time.Time `json:"time,omitzero"`
	Message   string    `json:"message"`
}

// lines buffers log lines of a container for a single write.
type lines struct {
	output *Output
	of     Container
	// prefix is the label of each line, in the color of the pod.
	prefix string
	text   bytes.Buffer
	// written means that write has written lines.
	written bool
}

func (o *Output) linesOf(c Container) *lines {
	l := &lines{output: o, of: c}
	if o.Format == ForPeople {
		h := fnv.New32a()
		_, _ = io.WriteString(h, c.Pod) // writing to a hash cannot fail
		label := escape.Line(c.label)
		if o.Paint != nil {
			label = o.Paint(h.Sum32(), label)
		}
		l.prefix = label + " | "
	}
	return l
}

func (l *lines) add(line Line) {
	o := l.output
	if o.Only != nil && !o.Only.MatchString(line.Text) {
		return
	}
	if o.Format == JSON {
		e := entry{Namespace: l.of.Namespace, Pod: l.of.Pod, Container: l.of.Name, Node: l.of.node, Time: line.Time, Message: line.Text}
		to := json.NewEncoder(&l.text)
		to.SetEscapeHTML(false)
		_ = to.Encode(e) // encoding strings to memory cannot fail
		return
	}
	l.text.WriteString(l.prefix)
	if o.Timestamps && !line.Time.IsZero() {
		l.text.WriteString(line.Time.Format(time.RFC3339Nano) + " ")
	}
	if o.Format == ForPeople {
		line.Text = escape.Text(line.Text)
	}
	l.text.WriteString(line.Text + "\n")
}

// write writes the collected lines, if any. Any error wraps errWrite.
func (l *lines) write() error {
	l.written = l.written || l.text.Len() > 0
	l.output.mu.Lock()
	defer l.output.mu.Unlock()
	if _, err := l.text.WriteTo(l.output.Out); err != nil {
		return fmt.Errorf("%w: %w", errWrite, err)
	}
	return nil
}

// Say prints a message about the logs to ErrOut.
func (o *Output) Say(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = escape.PrintLine(o.ErrOut, format, args...) // failing to print a message must not stop the logs
}

func (o *Output) sayOf(c Container, format string, args ...any) {
	o.Say("--- %s: %s", c.label, fmt.Sprintf(format, args...))
}
