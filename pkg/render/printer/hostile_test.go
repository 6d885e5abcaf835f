package printer

import (
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/test/escapetest"
)

// hostile is text that tries to deceive the user. It contains a window title, a forged line after each kind of line
// break, colors, a cleared screen, right-to-left text, invisible characters, and invalid bytes.
const hostile = "\x1b]0;title\x07\rFORGED\nFORGED\r\nFORGED\u2028FORGED\u0085FORGED\v\f\b\t\x1b[2J\u009b2J\x9b2J\u202eback\u2066\u200b\ufeff\U000e0041\x00\x7f\xff"

// fill sets every string in a value to hostile. Lists and maps get one element, and interfaces get nested JSON values.
func fill(v reflect.Value, depth int) {
	if depth > 12 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(2)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(screenTime().Add(-time.Minute)))
			return
		}
		for _, field := range v.Fields() {
			fill(field, depth+1)
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf(map[string]any{hostile: []any{hostile, []any{hostile}, map[string]any{"a": hostile}}, "b": hostile, "c": nil}))
	}
}

// filled returns a value in which every string is hostile.
func filled[T any]() T {
	var model T
	fill(reflect.ValueOf(&model).Elem(), 0)
	return model
}

func hostileObject() *unstructured.Unstructured {
	words := map[string]any{hostile: hostile}
	content := map[string]any{hostile: []any{hostile, words}}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": hostile, "kind": hostile, "spec": content, "status": content,
		"metadata": map[string]any{"name": hostile, "labels": words, "annotations": words},
	}}
}

// hostileReports returns reports with several verdicts, with individual and grouped pods.
func hostileReports() []status.Report {
	var all []status.Report
	for _, verdict := range []status.Verdict{status.Ready, status.Progressing, status.Failed, status.NotReconciled, status.Deleted, hostile} {
		r := filled[status.Report]()
		r.Verdict = verdict
		r.Replicas.Desired, r.Replicas.Ready = 9, 1
		r.Events = append(r.Events, r.Events[0], r.Events[0])
		r.Events[1].Object, r.Events[2].Type = "Pod/"+hostile, "Normal"
		for i := range 8 {
			pod := r.Pods[0]
			pod.UID, pod.Ready = pod.UID+"x", i == 0
			if i%2 == 0 {
				pod.Code, pod.Reason = "", fmt.Sprint(i, hostile)
			}
			r.Pods = append(r.Pods, pod)
			r.Tree.Children = append(r.Tree.Children, status.Node{Kind: "Pod", Name: pod.Name, UID: pod.UID})
		}
		r.Problems = append(r.Problems, r.Problems[0])
		all = append(all, r)
	}
	return all
}

// ours matches colors, which are the only escape sequences that printers write.
var ours = regexp.MustCompile("\x1b\\[[0-9;]*m")

func TestAllOutputIsEscaped(t *testing.T) {
	t.Parallel()
	prints := map[string]func(w io.Writer) error{}
	say := func(text string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := fmt.Fprintln(w, text)
			return err
		}
	}
	for i, r := range hostileReports() {
		prints[fmt.Sprint("report ", i)] = func(w io.Writer) error { return Report(w, r, screenTime()) }
		for _, template := range []*corev1.PodTemplateSpec{nil, new(filled[corev1.PodTemplateSpec]())} {
			prints[fmt.Sprint("description ", i, template != nil)] = func(w io.Writer) error {
				return Describe(w, r, hostileObject(), template, screenTime())
			}
		}
		prints[fmt.Sprint("failure ", i)] = say(r.Failure(screenTime()))
		for _, style := range []Style{{}, {ASCII: true}, {Color: true}} {
			for _, width := range []int{30, 200, 2000} {
				for _, height := range []int{0, 10} {
					for _, s := range []Screen{{}, {AllPods: true, Only: status.Only{status.OnlyNotReady}}} {
						if s.Reports = []status.Report{r}; s.Only != nil && r.Verdict == status.Ready {
							continue // the screen is empty except for a message
						}
						prints[fmt.Sprint("screen ", i, style, width, height, s.AllPods)] = say(strings.Join(s.Frame(width, height, style, screenTime()), "\n"))
					}
				}
			}
		}
		p := Progress{Goal: hostile}
		p.See(r, false, time.Time{}, screenTime())
		prints[fmt.Sprint("bar ", i)] = say(strings.Join(p.Frame(400, Style{Color: true}, screenTime().Add(pace)), "\n"))
		line, _ := p.Line(screenTime().Add(pace))
		prints[fmt.Sprint("line of progress ", i)] = say(line)
		r.Metadata.Name += "2"
		p.See(r, false, time.Time{}, screenTime())
		line, _ = p.Line(screenTime().Add(2 * pace))
		prints[fmt.Sprint("line of progress of two ", i)] = say(line)
	}
	for _, wide := range []bool{false, true} {
		table := Table{Namespaces: true, Wide: wide}
		prints[fmt.Sprint("table ", wide)] = func(w io.Writer) error { return table.Print(w, hostileReports(), screenTime()) }
		kind := filled[Kind]()
		unknown := kind
		unknown.Field = ""
		prints[fmt.Sprint("kinds ", wide)] = func(w io.Writer) error { return Kinds(w, []*Kind{&kind, &unknown}, wide) }
	}
	for _, height := range []int{0, 2, 6} {
		prints[fmt.Sprint("screen of several ", height)] = say(strings.Join(Screen{Reports: hostileReports()}.Frame(200, height, Style{}, screenTime()), "\n"))
	}
	for _, state := range []check.State{check.Passed, check.Failed, check.Unknown} {
		result := filled[check.Result]()
		result.State = state
		prints["check "+string(state)] = func(w io.Writer) error { return Checks(w, []check.Result{result}, Style{Color: true}) }
	}
	columns, err := ParseCustomColumns(hostile + ":.metadata.name,ALL:.")
	if err == nil {
		t.Error("ParseCustomColumns accepts the invalid path \".\"")
	}
	if columns, err = ParseCustomColumns(hostile + ":.metadata.name,ALL:.metadata"); err != nil {
		t.Fatal(err)
	}
	prints["custom columns"] = func(w io.Writer) error { return columns.PrintObj(hostileObject(), w) }

	for what, write := range prints {
		var w strings.Builder
		if err := write(&w); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		escapetest.MustBeHarmless(t, what, ours.ReplaceAllString(w.String(), ""))
	}
}

// Printers truncate very long messages to keep the output readable.
func TestLongTextsAreCut(t *testing.T) {
	t.Parallel()
	r := ready()
	r.Reason = strings.Repeat("a", 1<<20)
	r.Conditions[0].Message, r.Pods[0].Status = r.Reason, r.Reason
	for what, write := range map[string]func(w io.Writer) error{
		"report": func(w io.Writer) error { return Report(w, r, now) },
		"description": func(w io.Writer) error {
			object := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"a": r.Reason}}}
			return Describe(w, r, object, nil, now)
		},
		"table":  func(w io.Writer) error { return (&Table{Wide: true}).Print(w, []status.Report{r}, now) },
		"checks": func(w io.Writer) error { return Checks(w, []check.Result{{Name: "a", Message: r.Reason}}, Style{}) },
	} {
		var w strings.Builder
		if err := write(&w); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(w.String(), "…") {
			t.Errorf("the %s does not mark the cut with …", what)
		}
		for line := range strings.Lines(w.String()) {
			if len(line) > 8192 {
				t.Errorf("the %s has a line of %d bytes, want at most 8192", what, len(line))
			}
		}
	}
}
