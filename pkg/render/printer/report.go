package printer

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// Report writes a report on one object: verdict, last log line, hint, notes, counts, problems, pods, and conditions.
func Report(w io.Writer, r status.Report, now time.Time) error {
	t := newText(w)
	t.line("%s: %s: %s", objectName(r), r.Verdict, r.Reason)
	if said := lastLogLine(r); said != "" {
		t.line("%s", said)
	}
	if r.Hint != "" {
		t.line("hint: %s", r.Hint)
	}
	for _, note := range slices.Concat(unread(r), guards(r)) {
		t.line("note: %s", note)
	}
	t.line("%s", counts(r.Replicas))
	tables := [][][]string{problemRows(r, now), podRows(r.Pods, now), conditionRows(r.Conditions, now)}
	if len(r.Problems) == 1 && r.ReasonCode == r.Problems[0].Code {
		tables[0] = nil // the first line already contains the problem
	}
	for _, rows := range tables {
		if len(rows) > 1 {
			t.line("")
			t.table(rows)
		}
	}
	return t.Flush()
}

// lastLogLine formats the last log line of a crashing container, or returns "" if no log was read.
func lastLogLine(r status.Report) string {
	for _, p := range r.Problems {
		if p.LastLogLine != "" {
			return fmt.Sprintf("last log line of pod %s: %s", p.Pods[0], p.LastLogLine)
		}
	}
	return ""
}

// unread returns a note about the types of objects that the user may not read, unless the verdict is settled.
func unread(r status.Report) []string {
	if len(r.Unread) == 0 || r.Verdict.Settled() {
		return nil
	}
	return []string{"no permission to read " + strings.Join(r.Unread, ", ") + "; the reason may be incomplete"}
}

// guards returns notes about writers that may revert the count, and budgets that may prevent the removal of pods.
func guards(r status.Report) []string {
	var notes []string
	for _, revert := range r.Reverts {
		notes = append(notes, revert.Message)
	}
	for _, b := range r.Budgets {
		notes = append(notes, "PodDisruptionBudget/"+b.String())
	}
	return notes
}

func desired(r status.Replicas) string {
	if r.Unknown {
		return "unknown"
	}
	return strconv.Itoa(int(r.Desired))
}

func counts(r status.Replicas) string {
	line := fmt.Sprintf("desired %s, current %d, ready %d", desired(r), r.Current, r.Ready)
	if r.Updated != nil && *r.Updated != r.Desired {
		line += fmt.Sprintf(", updated %d", *r.Updated)
	}
	return line
}

func problemRows(r status.Report, now time.Time) [][]string {
	rows := [][]string{{"PROBLEM", "SINCE", "PODS", "MESSAGE"}}
	for _, p := range r.Problems {
		pods := ""
		if len(p.Pods) > 0 {
			pods = fmt.Sprintf("%d of %d", len(p.Pods), p.Of)
		}
		rows = append(rows, []string{string(p.Code), age(p.Since.Time, now), orNone(pods), p.Message})
	}
	return rows
}

func podRows(pods []problem.Pod, now time.Time) [][]string {
	rows := [][]string{{"POD", "READY", "STATUS", "RESTARTS", "AGE", "NODE", "REASON"}}
	for _, pod := range pods {
		rows = append(rows, []string{
			pod.Name, fmt.Sprintf("%d/%d", pod.ReadyContainers, pod.Containers), pod.Status,
			fmt.Sprint(pod.Restarts), age(pod.Created, now), orNone(pod.Node), pod.Reason,
		})
	}
	return rows
}

func conditionRows(conditions []metav1.Condition, now time.Time) [][]string {
	rows := [][]string{{"CONDITION", "STATUS", "SINCE", "REASON", "MESSAGE"}}
	for _, c := range conditions {
		rows = append(rows, []string{c.Type, string(c.Status), age(c.LastTransitionTime.Time, now), c.Reason, c.Message})
	}
	return rows
}

// objectName returns the name of an object in the form of kubectl, such as "imoocpod/foo".
func objectName(r status.Report) string {
	return status.ShortType(r.Metadata.Type) + "/" + r.Metadata.Name
}
