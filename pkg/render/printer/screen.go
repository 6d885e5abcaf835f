package printer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// Screen is the content of a terminal: one object in detail, or a table of several objects. It has no
// clock and no terminal; callers pass the time and the size.
type Screen struct {
	// Reports lists the objects. A table sorts them by urgency.
	Reports []status.Report
	// AllPods means that each pod has its own line. Several objects are then shown in detail if they fit.
	AllPods bool
	// Only selects the objects to show, by their states.
	Only status.Only
	// Lost is when the connection to the server was lost, or zero if there is a connection.
	Lost time.Time

	rollouts map[types.UID]rollout
}

// See adds or updates an object. If the screen does not have the object yet, See ignores its deletion.
func (s *Screen) See(r status.Report, now time.Time) {
	i := slices.IndexFunc(s.Reports, func(last status.Report) bool { return sameObject(last, r) })
	switch {
	case i >= 0:
		s.Reports[i] = r
	case r.Verdict == status.Deleted:
		return
	default:
		s.Reports = append(s.Reports, r)
	}
	if s.rollouts == nil {
		s.rollouts = map[types.UID]rollout{}
	}
	s.rollouts[r.Metadata.UID] = s.rollouts[r.Metadata.UID].see(r, now)
}

// Forget removes an object from the screen.
func (s *Screen) Forget(r status.Report) {
	s.Reports = slices.DeleteFunc(s.Reports, func(last status.Report) bool { return sameObject(last, r) })
}

func sameObject(a, b status.Report) bool {
	return a.Metadata.Type == b.Metadata.Type && a.Metadata.Namespace == b.Metadata.Namespace && a.Metadata.Name == b.Metadata.Name
}

type detail struct {
	// alike is the maximum number of pods with the same status that are shown individually.
	alike                           int
	conditions, notes, events, hint bool
	// reason is the maximum number of lines for a reason or a hint.
	reason int
}

// details returns the levels of detail, from the highest to the lowest.
func details() []detail {
	return []detail{
		{alike: few, conditions: true, notes: true, events: true, hint: true, reason: 4},
		{alike: few, notes: true, events: true, hint: true, reason: 4},
		{alike: few, notes: true, hint: true, reason: 3},
		{alike: 3, hint: true, reason: 2},
		{alike: 1, hint: true, reason: 2},
		{alike: 0, hint: true, reason: 1},
		{alike: 0, reason: 1},
	}
}

// few is the maximum number of ready objects, or of pods with the same status, that have their own lines.
const few = 5

// Frame returns the screen as at most height lines, each at most width wide. A height of zero means no limit.
func (s Screen) Frame(width, height int, style Style, now time.Time) []string {
	f := frame{Screen: s, width: width, style: style, now: now}
	f.Reports = slices.DeleteFunc(slices.Clone(s.Reports), func(r status.Report) bool { return !s.Only.Wants(r) })
	if len(f.Reports) == 0 && len(s.Reports) > 0 {
		sign, color := f.style.verdictStyle(status.Ready)
		return f.render([]line{{{color, sign + " "}, {"", s.Only.None(len(s.Reports))}}}, height)
	}
	if s.Lost.IsZero() {
		return f.render(f.fit(height), height)
	}
	lines := []line{{{yellow, "connection lost " + age(s.Lost, now) + " ago, reconnecting; last known state:"}}}
	for _, l := range f.fit(max(height-1, 0)) {
		for i := range l {
			l[i].color = dim
		}
		lines = append(lines, l)
	}
	return f.render(lines, height)
}

type frame struct {
	Screen
	width int
	style Style
	now   time.Time
}

// fit returns the most detailed lines that fit. Several objects become a table, unless AllPods is set and they fit.
func (f frame) fit(height int) []line {
	if len(f.Reports) == 0 {
		return []line{{{dim, "nothing to show yet"}}}
	}
	if len(f.Reports) > 1 && !f.AllPods {
		return f.table(height)
	}
	var lines []line
	for _, d := range details() {
		lines = nil
		for i, r := range f.Reports {
			if i > 0 {
				lines = append(lines, nil)
			}
			lines = append(lines, f.object(r, d)...)
		}
		if height <= 0 || len(lines) <= height {
			return lines
		}
	}
	if len(f.Reports) > 1 {
		return f.table(height)
	}
	return lines
}

// render returns lines as text. If there are too many, the last line contains the number of hidden lines.
func (f frame) render(lines []line, height int) []string {
	if height > 0 && len(lines) > height {
		left := len(lines) - height + 1
		lines = append(lines[:height-1:height-1], line{{dim, fmt.Sprintf("%s %d more lines", f.style.sign("…", "..."), left)}})
	}
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.render(f.width, f.style)
	}
	return texts
}

func byUrgency(reports []status.Report) []status.Report {
	return slices.SortedStableFunc(slices.Values(reports), func(a, b status.Report) int { return cmp.Compare(urgency(a), urgency(b)) })
}

// urgency returns the rank of a report. The most urgent reports have the lowest rank.
func urgency(r status.Report) int {
	return slices.Index([]status.Verdict{status.Failed, status.Paused, status.NotReconciled, status.Unknown, status.Progressing, status.Deleted, status.Parked, status.Ready}, r.Verdict)
}

func (f frame) object(r status.Report, d detail) []line {
	sign, color := f.style.verdictStyle(r.Verdict)
	title := line{{color, sign + " "}, {bold, objectName(r)}}
	if r.Metadata.Namespace != "" {
		title = title.add(dim, " in "+r.Metadata.Namespace)
	}
	all := []line{title.add("", ": ").add(color, string(r.Verdict))}
	all = append(all, f.paragraph("", r.Reason, d.reason)...)
	if said := lastLogLine(r); said != "" {
		all = append(all, f.paragraph(dim, said, d.reason)...)
	}
	if r.Hint != "" && d.hint {
		all = append(all, f.paragraph(cyan, "hint: "+r.Hint, d.reason)...)
	}
	rollout := f.rollouts[r.Metadata.UID].text(f.now)
	all = append(all, append(plain("  "), podBar(r, rollout, 40, f.width-2, f.style)...))
	all = append(all, f.tree(r, d)...)
	if d.notes {
		for _, note := range slices.Concat(guards(r), unread(r)) {
			all = append(all, f.paragraph("", "note: "+note, 2)...)
		}
	}
	if d.conditions && len(r.Conditions) > 0 {
		all = append(all, f.conditions(r.Conditions)...)
	}
	if d.events && len(r.Events) > 0 {
		all = append(all, f.events(r.Events)...)
	}
	return all
}

func (f frame) paragraph(color, text string, most int) []line {
	var all []line
	for _, part := range wrapped(text, f.width-2, most) {
		all = append(all, line{{color, "  " + part}})
	}
	return all
}

// podBar returns a line with a bar, the numbers of pods, and the text about the rollout. most is the
// maximum width of the bar. If there is not enough space, the bar is omitted.
func podBar(r status.Report, rollout string, most, width int, style Style) line {
	replicas := r.Replicas
	ready := readyNow(r)
	text := fmt.Sprintf("%d/%d ready", ready, replicas.Desired)
	if replicas.Current != replicas.Desired {
		text += fmt.Sprintf(", %d there", replicas.Current)
	}
	if replicas.Updated != nil && *replicas.Updated != replicas.Desired {
		text += fmt.Sprintf(", %d updated", *replicas.Updated)
	}
	text = trimmed(text + "  " + rollout)
	width = min(most, width-4-plain(text).width())
	if width < 5 {
		return plain(text)
	}
	_, color := style.verdictStyle(r.Verdict)
	filled := width
	if replicas.Desired > 0 {
		filled = min(width, width*int(ready)/int(replicas.Desired))
	}
	full, empty := strings.Repeat(style.sign("━", "#"), filled), strings.Repeat(style.sign("─", "-"), width-filled)
	return line{{color, full}, {dim, empty}, {"", "  " + text}}
}

func (f frame) conditions(conditions []metav1.Condition) []line {
	cells := func(c metav1.Condition) []piece {
		return []piece{{"", c.Type}, {"", string(c.Status)}, {dim, age(c.LastTransitionTime.Time, f.now)}}
	}
	widths := make([]int, 3)
	for _, c := range conditions {
		widen(widths, cells(c))
	}
	all := []line{nil}
	for _, c := range conditions {
		all = append(all, plain("  ").columns(cells(c), widths, f.style).add("", c.Reason+"  ").add(dim, trimmed(c.Message)))
	}
	return all
}

const lastEvents = 4

func (f frame) events(events []problem.Event) []line {
	color := ""
	warnings := slices.DeleteFunc(slices.Clone(events), func(e problem.Event) bool { return e.Type == "Normal" })
	if len(warnings) > 0 {
		events, color = warnings, yellow
	}
	all := []line{nil}
	for _, e := range events[max(0, len(events)-lastEvents):] {
		l := line{{dim, "  " + age(e.Last.Time, f.now) + " "}}.pad(8).add(color, e.Reason+" ").add("", e.Object+": ")
		all = append(all, l.add(dim, trimmed(e.Message)))
	}
	return all
}
