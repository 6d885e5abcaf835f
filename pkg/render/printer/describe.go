package printer

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/budget"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/competing"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// Describe writes a report and its object in the layout of kubectl describe. template is the pod template for the
// strategy "pods", or nil. It replaces the spec and the status of the object.
func Describe(w io.Writer, r status.Report, obj *unstructured.Unstructured, template *corev1.PodTemplateSpec, now time.Time) error {
	t := newText(w)
	rows := [][]string{
		{"Name:", r.Metadata.Name},
		{"Namespace:", r.Metadata.Namespace},
	}
	rows = append(rows, pairs("Labels:", obj.GetLabels())...)
	rows = append(rows, pairs("Annotations:", obj.GetAnnotations())...)
	rows = append(rows,
		[]string{"API Version:", obj.GetAPIVersion()},
		[]string{"Kind:", obj.GetKind()},
		[]string{"Created:", r.Metadata.CreationTimestamp.Format(time.RFC1123Z)},
		[]string{"Generation:", strings.TrimSuffix(fmt.Sprintf("%d (observed %d)", r.Metadata.Generation, r.Metadata.ObservedGeneration), " (observed 0)")},
		[]string{"Verdict:", fmt.Sprintf("%s: %s", r.Verdict, r.Reason)},
	)
	if said := lastLogLine(r); said != "" {
		rows = append(rows, []string{"", said})
	}
	if r.Hint != "" {
		rows = append(rows, []string{"Hint:", r.Hint})
	}
	if r.Pause != nil {
		rows = append(rows, []string{"Paused:", pauseRow(*r.Pause, now)})
	}
	rows = append(rows, reconcilerRows(r.Reconciler, now)...)
	rows = append(rows, listed("Reverted By:", r.Reverts, func(v competing.Writer) string { return v.Message })...)
	rows = append(rows, listed("Budgets:", r.Budgets, budget.Budget.String)...)
	if len(r.Unread) > 0 {
		rows = append(rows, []string{"Not Read:", strings.Join(r.Unread, ", ") + " (forbidden)"})
	}
	rows = append(rows,
		[]string{"Replicas:", fmt.Sprintf("%s desired | %d current | %d ready", desired(r.Replicas), r.Replicas.Current, r.Replicas.Ready)},
		[]string{"Pods Status:", phases(r.Pods)},
	)
	t.table(rows)
	if len(r.Problems) > 0 {
		t.section("Problems:", problemRows(r, now))
	}
	if template != nil {
		t.template(template)
	} else {
		t.content("Spec", obj.Object["spec"], "")
		obj = obj.DeepCopy()
		unstructured.RemoveNestedField(obj.Object, "status", "conditions") // they have their own section
		t.content("Status", obj.Object["status"], "")
	}
	t.section("Conditions:", conditionRows(r.Conditions, now))
	t.tree(r.Tree)
	t.section("Pods:", podRows(r.Pods, now))
	t.section("Events:", eventRows(r.Events, false, now))
	if rows := eventRows(r.Events, true, now); len(rows) > 1 {
		t.section("Events of pods that are not ready:", rows)
	}
	return t.Flush()
}

func pauseRow(p apis.Pause, now time.Time) string {
	text := strings.TrimPrefix(p.Text(now), "paused ")
	if p.Forever {
		return text
	}
	return text + " (" + duration.HumanDuration(p.Until.Sub(now)) + " left)"
}

func reconcilerRows(r status.Reconciler, now time.Time) [][]string {
	var rows [][]string
	if w := r.Status; w != nil {
		rows = append(rows, []string{"Status By:", fmt.Sprintf("%s, %s ago", w.Manager, age(w.Time.Time, now))})
	}
	loops := r.Loops
	if live := slices.DeleteFunc(slices.Clone(loops), func(l status.Loop) bool { return !l.Live }); len(live) > 0 {
		loops = live // stopped controllers are shown only if none are live
	}
	return append(rows, listed("Controller:", loops, func(l status.Loop) string {
		who := l.Who + ": " + l.Scope
		if !l.Live {
			who += fmt.Sprintf(" (last heard of %s ago)", age(l.Renewed.Time, now))
		}
		return who
	})...)
}

// listed returns a row for each item. Only the first row has the title.
func listed[T any](title string, items []T, line func(T) string) [][]string {
	var rows [][]string
	for _, item := range items {
		rows = append(rows, []string{title, line(item)})
		title = ""
	}
	return rows
}

// pairs returns a row with key=value for each entry of a map, sorted as in kubectl describe, or a row with <none>.
func pairs(title string, m map[string]string) [][]string {
	var lines []string
	for k, v := range m {
		if k != corev1.LastAppliedConfigAnnotation { // kubectl apply's copy of the object
			lines = append(lines, k+"="+v)
		}
	}
	if len(lines) == 0 {
		lines = []string{"<none>"}
	}
	slices.Sort(lines)
	return listed(title, lines, func(line string) string { return line })
}

// phases formats the number of pods in each phase as kubectl describe does.
func phases(pods []problem.Pod) string {
	count := map[corev1.PodPhase]int{}
	for _, pod := range pods {
		count[pod.Phase]++
	}
	return fmt.Sprintf("%d Running / %d Waiting / %d Succeeded / %d Failed",
		count[corev1.PodRunning], count[corev1.PodPending], count[corev1.PodSucceeded], count[corev1.PodFailed])
}

func (t *text) template(template *corev1.PodTemplateSpec) {
	t.line("Pod Template:")
	for i, row := range pairs("Labels:", template.Labels) {
		if i > 0 || len(template.Labels) > 0 {
			t.line("  %-9s%s", row[0], row[1])
		}
	}
	t.line("  Containers:")
	for _, c := range template.Spec.Containers {
		t.line("   %s:", c.Name)
		t.line("    Image:    %s", c.Image)
		if len(c.Command) > 0 {
			t.line("    Command:  %s", strings.Join(c.Command, " "))
		}
		if len(c.Args) > 0 {
			t.line("    Args:     %s", strings.Join(c.Args, " "))
		}
	}
}

// section writes a title and an indented table, or <none> if the table has only headers.
func (t *text) section(title string, rows [][]string) {
	if len(rows) < 2 {
		t.line("%s  <none>", title)
		return
	}
	t.line("%s", title)
	under := make([]string, len(rows[0]))
	for i, header := range rows[0] {
		under[i] = strings.Repeat("-", len(header))
	}
	rows = slices.Insert(rows, 1, under)
	for _, row := range rows {
		row[0] = "  " + row[0]
	}
	t.table(rows)
}

// tree writes the descendants of an object, unless all its children are pods.
func (t *text) tree(root status.Node) {
	if slices.ContainsFunc(root.Children, func(n status.Node) bool { return n.Kind != "Pod" }) {
		t.line("Children:")
		t.nodes(root.Children, "  ")
	}
}

func (t *text) nodes(nodes []status.Node, indent string) {
	for _, n := range nodes {
		t.line("%s%s/%s", indent, n.Kind, n.Name)
		t.nodes(n.Children, indent+"  ")
	}
}

// eventRows returns a header and the events of pods with the pod names or, if ofPods is false, all other events.
func eventRows(events []problem.Event, ofPods bool, now time.Time) [][]string {
	rows := [][]string{{"Pod", "Type", "Reason", "Age", "From", "Message"}}
	for _, e := range events {
		pod, isPod := strings.CutPrefix(e.Object, "Pod/")
		if isPod != ofPods {
			continue
		}
		seen := age(e.Last.Time, now)
		if e.Count > 1 {
			seen = fmt.Sprintf("%s (x%d over %s)", seen, e.Count, age(e.First.Time, now))
		}
		rows = append(rows, []string{pod, e.Type, e.Reason, seen, e.Source, e.Message})
	}
	for i := range rows {
		if !ofPods {
			rows[i] = rows[i][1:]
		}
	}
	return rows
}
