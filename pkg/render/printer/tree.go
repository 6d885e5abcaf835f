package printer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

type branch struct {
	text line
	// more contains additional lines of the text.
	more  []line
	below []branch
}

func (f frame) tree(r status.Report, d detail) []line {
	t := podTree{frame: f, detail: d, pods: make(map[types.UID]*problem.Pod, len(r.Pods)), fatal: map[string]bool{}}
	for i := range r.Pods {
		t.pods[r.Pods[i].UID] = &r.Pods[i]
	}
	for _, p := range r.Problems {
		for _, name := range p.Pods {
			t.fatal[name] = t.fatal[name] || p.Fatal
		}
	}
	return f.draw(t.branches(r.Tree, 1), "  ")
}

func (f frame) draw(all []branch, indent string) []line {
	var lines []line
	for i, b := range all {
		mark, next := f.style.sign("├─ ", "|- "), f.style.sign("│  ", "|  ")
		if i == len(all)-1 {
			mark, next = f.style.sign("└─ ", "`- "), "   "
		}
		lines = append(lines, append(line{{dim, indent + mark}}, b.text...))
		for _, l := range b.more {
			lines = append(lines, append(line{{dim, indent + next}}, l...))
		}
		lines = append(lines, f.draw(b.below, indent+next)...)
	}
	return lines
}

type podTree struct {
	frame
	detail detail
	pods   map[types.UID]*problem.Pod
	// fatal is true for the names of pods with a fatal problem.
	fatal map[string]bool
}

func (t podTree) branches(of status.Node, depth int) []branch {
	var all []branch
	var pods []*problem.Pod
	for _, n := range of.Children {
		text := plain(n.Kind + "/" + n.Name)
		if pod, is := t.pods[n.UID]; is && n.Kind == "Pod" {
			if len(n.Children) == 0 {
				pods = append(pods, pod)
				continue
			}
			text = text.add(dim, "  "+pod.Status)
		}
		if n.Desired != nil && n.Ready != nil {
			text = text.add(dim, fmt.Sprintf("  %d/%d ready", *n.Ready, *n.Desired))
		}
		all = append(all, branch{text: text, below: t.branches(n, depth+1)})
	}
	return append(all, t.podBranches(pods, depth)...)
}

// kindOfPod identifies a group of pods with the same status. Groups are sorted by rank, from fatal problems to ready.
type kindOfPod struct {
	rank    int
	verdict status.Verdict
	status  string
}

func (t podTree) kindOf(pod *problem.Pod) kindOfPod {
	switch {
	case pod.Ready:
		return kindOfPod{3, status.Ready, "ready"}
	case t.fatal[pod.Name]:
		return kindOfPod{0, status.Failed, pod.Status}
	case pod.Code != "":
		return kindOfPod{1, status.Progressing, pod.Status}
	}
	return kindOfPod{2, status.Progressing, pod.Status}
}

// podBranches returns a branch for each shown pod, and a branch for the hidden pods of each status.
func (t podTree) podBranches(pods []*problem.Pod, depth int) []branch {
	alike := map[kindOfPod][]*problem.Pod{}
	for _, pod := range pods {
		k := t.kindOf(pod)
		alike[k] = append(alike[k], pod)
	}
	kinds := slices.SortedFunc(maps.Keys(alike), func(a, b kindOfPod) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.status, b.status))
	})
	shown := map[kindOfPod][]*problem.Pod{}
	for _, k := range kinds {
		shown[k] = alike[k][:t.byThemselves(k, len(alike[k]))]
	}
	widths, left := t.podWidths(slices.Concat(slices.Collect(maps.Values(shown))...), depth)
	var all []branch
	for _, k := range kinds {
		for i, pod := range shown[k] {
			reason := pod.Reason
			if i > 0 && reason == shown[k][i-1].Reason {
				reason = ""
			}
			all = append(all, t.pod(pod, reason, k, widths, left))
		}
		if rest := len(alike[k]) - len(shown[k]); rest > 0 {
			all = append(all, branch{text: t.others(k.verdict, rest, len(shown[k]), trimmed(k.status))})
		}
	}
	return all
}

// others returns the line about hidden objects or pods, such as "197 ready" or "2 more CrashLoopBackOff".
func (f frame) others(v status.Verdict, hidden, shown int, what string) line {
	sign, color := f.style.verdictStyle(v)
	if shown > 0 {
		what = "more " + what
	}
	return line{{color, sign + " "}, {"", fmt.Sprintf("%d %s", hidden, what)}}
}

// byThemselves returns how many of n pods with the same status are shown individually.
func (t podTree) byThemselves(k kindOfPod, n int) int {
	most := t.detail.alike
	switch {
	case t.AllPods || n <= most || n == 1 && k.rank < 3:
		return n
	case k.rank == 3:
		return 0 // only count the ready pods
	}
	return min(most, 3)
}

func (t podTree) podCells(pod *problem.Pod, color string) []piece {
	restarts := ""
	if pod.Restarts > 0 {
		restarts = problem.Quantity(pod.Restarts, "restart")
	}
	containers := fmt.Sprintf("%d/%d", pod.ReadyContainers, pod.Containers)
	return []piece{{"", pod.Name}, {color, trimmed(pod.Status)}, {"", containers}, {yellow, restarts}, {dim, age(pod.Created, t.now)}, {dim, pod.Node}}
}

// podWidths returns the column widths, which are zero for columns that do not fit, and the width left for the reason.
func (t podTree) podWidths(pods []*problem.Pod, depth int) (widths []int, left int) {
	widths = make([]int, 6)
	for _, pod := range pods {
		widen(widths, t.podCells(pod, ""))
	}
	left = t.width - 2 - 3*depth - 2
	widths[0] = min(widths[0], max(8, left/2))
	left -= widths[0]
	widths[1] = min(widths[1], max(0, left-2))    // truncate the status instead of omitting it
	for _, column := range []int{1, 2, 4, 3, 5} { // the most important first
		if widths[column]+2 > left {
			widths[column] = 0
		}
		if widths[column] > 0 {
			left -= widths[column] + 2
		}
	}
	return widths, left
}

// shortened removes the middle of a wide name, because names of similar pods differ at the end.
func (f frame) shortened(name string, width int) string {
	name = oneLine(name)
	full, end := ansi.StringWidth(name), width/2
	if full <= width || end < 3 {
		return name
	}
	return ansi.Truncate(name, width-end-1, "") + f.style.sign("…", "~") + ansi.TruncateLeft(name, full-end, "")
}

// leastReason is the minimum width for a reason on the same line as its pod.
const leastReason = 40

func (t podTree) pod(pod *problem.Pod, reason string, k kindOfPod, widths []int, left int) branch {
	sign, color := t.style.verdictStyle(k.verdict)
	cells := t.podCells(pod, color)
	cells[0].text = t.shortened(pod.Name, widths[0])
	b := branch{text: line{{color, sign + " "}}.columns(cells, widths, t.style)}
	switch {
	case reason == "":
	case left >= leastReason:
		b.text = b.text.add("", trimmed(reason))
	default:
		b.more = []line{plain("  " + trimmed(reason))}
	}
	return b
}
