package run

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/report"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// Log writes the messages of a loop as lines for people or as records for log collectors.
type Log struct {
	Format string // human, text, or json
	// qualified means that lines for people include the namespace, because there may be several namespaces.
	qualified bool

	outputs []*output
	lines   io.Writer
	records *slog.Logger // nil if Format is human
}

// Open starts the log. Lines go to standard output, or to standard error if linesToErr is set. Records and client-go's
// log go to standard error. The loop never waits for a slow reader. errOut is for all other output to standard error.
func (l *Log) Open(verbosity int, streams genericiooptions.IOStreams, linesToErr bool) (errOut io.Writer) {
	toErr := l.output(streams.ErrOut, verbosity)
	if l.Format != "human" {
		l.records = slog.New(l.handler(toErr, verbosity))
		klog.SetSlogLogger(l.records)
		return toErr
	}
	if l.lines = toErr; !linesToErr {
		l.lines = l.output(streams.Out, verbosity)
	}
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(verbosity), textlogger.Output(escape.Writer(toErr))))
	options := []klog.LoggerOption{klog.ContextualLogger(true)}
	if sink, ok := logger.GetSink().(textlogger.KlogBufferWriter); ok {
		options = append(options, klog.WriteKlogBuffer(sink.WriteKlogBuffer))
	}
	klog.SetLoggerWithOptions(logger, options...)
	return toErr
}

// output starts an output to a stream. Close ends all outputs.
func (l *Log) output(to io.Writer, verbosity int) *output {
	o := newOutput(to, func(lines int) []byte {
		text := fmt.Sprintf("%d lines were dropped because the output was blocked", lines)
		if l.Format == "human" {
			return []byte(text + "\n")
		}
		var b bytes.Buffer
		slog.New(l.handler(&b, verbosity)).Warn(text)
		return b.Bytes()
	})
	l.outputs = append(l.outputs, o)
	return o
}

// Close waits until the remaining output is written, for at most flushTimeout per stream.
func (l *Log) Close() {
	for _, o := range l.outputs {
		o.close()
	}
}

// handler returns a handler of records. Messages that -v adds are DEBUG, because log collectors do not know DEBUG+2.
func (l *Log) handler(records io.Writer, verbosity int) slog.Handler {
	options := &slog.HandlerOptions{
		Level: slog.Level(-verbosity), // as go-logr converts -v to a level
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch v := a.Value.Any().(type) {
			case string:
				a.Value = slog.StringValue(escape.Text(v))
			case error:
				a.Value = slog.StringValue(escape.Text(v.Error()))
			case slog.Level:
				if v < slog.LevelInfo {
					a.Value = slog.StringValue(slog.LevelDebug.String())
				}
			case []string:
				harmless := make([]string, len(v))
				for i := range v {
					harmless[i] = escape.Text(v[i])
				}
				a.Value = slog.AnyValue(harmless)
				if l.Format == "text" {
					a.Value = slog.StringValue(strings.Join(harmless, "; "))
				}
			}
			return a
		},
	}
	if l.Format == "json" {
		return slog.NewJSONHandler(records, options)
	}
	return slog.NewTextHandler(records, options)
}

func (l *Log) say(format string, args ...any) {
	l.line(report.Line{Text: fmt.Sprintf(format, args...)})
}

func (l *Log) line(line report.Line) {
	if l.records != nil {
		var about []any
		for _, field := range []struct{ name, value string }{{"kind", line.Kind}, {"namespace", line.Namespace}, {"name", line.Name}} {
			if field.value != "" {
				about = append(about, field.name, field.value)
			}
		}
		if line.Reconcile > 0 {
			about = append(about, "reconcile", line.Reconcile)
		}
		l.records.Info(line.Text, about...)
		return
	}
	text := line.Text
	switch {
	case line.Name != "" && l.qualified:
		text = line.Namespace + "/" + nameInLine(line) + ": " + text
	case line.Name != "":
		text = nameInLine(line) + ": " + text
	case line.Namespace != metav1.NamespaceAll && l.qualified:
		text = "namespace " + line.Namespace + ": " + text
	}
	_ = escape.PrintLine(l.lines, "%s %s", time.Now().Format(time.TimeOnly), text) // an output never fails
}

// nameInLine returns the type and name of an object as users type them. It omits the type of an ImoocPod.
func nameInLine(line report.Line) string {
	if line.Kind == kinds.ImoocPod().CRD() {
		return line.Name
	}
	for _, kind := range kinds.Shipped() {
		if kind.CRD() == line.Kind {
			return kind.Singular + "/" + line.Name
		}
	}
	return line.Kind + "/" + line.Name // the singular of a kind that is not shipped is unknown here
}
