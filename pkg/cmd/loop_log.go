package cmd

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/replica"
)

// loopLog takes what a loop says: as lines for a person, or as records for a
// program that collects them.
type loopLog struct {
	format string // human, text or json
	// qualified makes lines for a person name the namespace.
	qualified bool

	mu      sync.Mutex
	lines   io.Writer
	records *slog.Logger // nil: lines
}

func (l *loopLog) addFlag(cmd *cobra.Command) {
	l.format = "human"
	cmd.Flags().Var(choice[string]{&l.format, `"human", "text" or "json"`}, "log-format", `How to say what is done: "human" is a line for each thing, on standard output; "text" and "json" are records with time, kind, namespace, name and the number of the reconcile, on standard error, together with what -v asks for.`)
}

// open begins the log. Records take in what client-go logs.
func (l *loopLog) open(cmd *cobra.Command, lines, records io.Writer) error {
	l.lines = lines
	if l.format == "human" {
		return nil
	}
	verbosity, err := strconv.Atoi(cmd.Flags().Lookup("v").Value.String())
	if err != nil {
		return err
	}
	l.records = slog.New(l.handler(records, verbosity))
	klog.SetSlogLogger(l.records)
	return nil
}

// handler writes records. What -v adds is of the level DEBUG, however far down it
// is, as programs that read logs know no DEBUG+2.
func (l *loopLog) handler(records io.Writer, verbosity int) slog.Handler {
	options := &slog.HandlerOptions{
		Level: slog.Level(-verbosity), // as go-logr maps them
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
				if l.format == "text" { // or one could not tell where the next begins
					a.Value = slog.StringValue(strings.Join(harmless, "; "))
				}
			}
			return a
		},
	}
	if l.format == "json" {
		return slog.NewJSONHandler(records, options)
	}
	return slog.NewTextHandler(records, options)
}

// say says something of the program itself.
func (l *loopLog) say(format string, args ...any) {
	l.line(controller.Line{Text: fmt.Sprintf(format, args...)})
}

// line says what a loop says.
func (l *loopLog) line(line controller.Line) {
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
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = say(l.lines, "%s", text) // a closed terminal must not stop the loop
}

// nameInLine is the object of a line as it can be typed: a bare name is an
// ImoocPod's.
func nameInLine(line controller.Line) string {
	if line.Kind == replica.ImoocPod().CRD() {
		return line.Name
	}
	singular := line.Kind // of kinds that are not shipped, what there is
	for _, kind := range replica.Shipped() {
		if kind.CRD() == line.Kind {
			singular = kind.Singular
		}
	}
	return singular + "/" + line.Name
}
