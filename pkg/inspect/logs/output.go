package logs

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"sync"
	"time"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
)

// Format is how lines are written.
type Format string

// The formats: for a person, each line as the container wrote it, and an object of
// JSON for each line.
const (
	ForPeople Format = ""
	Raw       Format = "raw"
	JSON      Format = "json"
)

// batchBytes is how much is written at a time where lines come faster than that.
const batchBytes = 32 << 10

// Output writes the lines of many containers, each as a whole.
type Output struct {
	Out, ErrOut io.Writer
	Format      Format
	// Timestamps has the time put before each line that is for a person, or raw.
	Timestamps bool
	// Paint, if it is set, colors a text. Texts of the same number have the same color.
	Paint func(n uint32, text string) string

	mu sync.Mutex
}

// entry is a line in JSON.
type entry struct {
	Namespace string     `json:"namespace"`
	Pod       string     `json:"pod"`
	Container string     `json:"container"`
	Node      string     `json:"node"`
	Time      *time.Time `json:"time,omitempty"`
	Message   string     `json:"message"`
}

// lines are lines of a container that are to be written together.
type lines struct {
	output *Output
	of     Container
	// prefix is what each of them begins with, in the color of the pod.
	prefix string
	text   []byte
}

func (o *Output) linesOf(c Container) *lines {
	l := &lines{output: o, of: c}
	if o.Format == ForPeople {
		h := fnv.New32a()
		_, _ = io.WriteString(h, c.Pod) // it writes to memory
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
	if o.Format == JSON {
		e := entry{Namespace: l.of.Namespace, Pod: l.of.Pod, Container: l.of.Name, Node: l.of.node, Message: line.Text}
		if !line.Time.IsZero() {
			e.Time = &line.Time
		}
		to := json.NewEncoder(l)
		to.SetEscapeHTML(false)
		_ = to.Encode(e) // strings can be encoded, and memory written to
		return
	}
	l.text = append(l.text, l.prefix...)
	if o.Timestamps && !line.Time.IsZero() {
		l.text = append(line.Time.AppendFormat(l.text, time.RFC3339Nano), ' ')
	}
	if o.Format == ForPeople {
		line.Text = escape.Text(line.Text)
	}
	l.text = append(append(l.text, line.Text...), '\n')
}

// Write adds text as it is.
func (l *lines) Write(text []byte) (int, error) {
	l.text = append(l.text, text...)
	return len(text), nil
}

func (l *lines) take() []byte {
	text := l.text
	l.text = nil
	return text
}

func (o *Output) write(lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err := o.Out.Write(lines)
	return err
}

// Say tells a person something about the logs, between lines and apart from them.
func (o *Output) Say(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = escape.PrintLine(o.ErrOut, format, args...) // the lines matter more
}

// sayOf tells a person something about the log of a container.
func (o *Output) sayOf(c Container, format string, args ...any) {
	o.Say("--- %s: %s", c.label, fmt.Sprintf(format, args...))
}
