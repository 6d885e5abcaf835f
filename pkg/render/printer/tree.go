package printer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// branch is a line of the tree and what hangs below it.
type branch struct {
	text line
	// more are lines that belong to the text.
	more  []line
	below []branch
}

// tree shows what stands below an object, down to its pods.
func (f frame) tree(r status.Report, d detail) []line {
	t := podTree{frame: f, detail: d, pods: make(map[types.UID]*status.Pod, len(r.Pods)), fatal: map[string]bool{}}
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

// podTree makes the branches of an object.
type podTree struct {
	frame
	detail detail
	pods   map[types.UID]*status.Pod
	// fatal are the pods that will not become ready without help.
	fatal map[string]bool
}

// branches are what stands directly below a node, which is so deep.
func (t podTree) branches(of status.Node, depth int) []branch {
	var all []branch
	var pods []*status.Pod
	for _, n := range of.Children {
		if pod, is := t.pods[n.UID]; is && n.Kind == "Pod" {
			pods = append(pods, pod)
			continue
		}
		text := plain(n.Kind + "/" + n.Name)
		if n.Desired != nil && n.Ready != nil {
			text = text.add(dim, fmt.Sprintf("  %d/%d ready", *n.Ready, *n.Desired))
		}
		all = append(all, branch{text: text, below: t.branches(n, depth+1)})
	}
	return append(all, t.podBranches(pods, depth)...)
}

// kindOfPod puts pods together that are alike: those that will not become ready
// without help come first, those that are ready last.
type kindOfPod struct {
	rank   int
	status string
}

func (t podTree) kindOf(pod *status.Pod) kindOfPod {
	switch {
	case pod.Ready:
		return kindOfPod{3, "ready"}
	case t.fatal[pod.Name]:
		return kindOfPod{0, pod.Status}
	case pod.Code != "":
		return kindOfPod{1, pod.Status}
	}
	return kindOfPod{2, pod.Status}
}

func (k kindOfPod) verdict() status.Verdict {
	return []status.Verdict{status.Failed, status.Progressing, status.Progressing, status.Ready}[k.rank]
}

// podBranches shows pods: of those that are alike only so many by themselves.
func (t podTree) podBranches(pods []*status.Pod, depth int) []branch {
	alike := map[kindOfPod][]*status.Pod{}
	for _, pod := range pods {
		k := t.kindOf(pod)
		alike[k] = append(alike[k], pod)
	}
	kinds := make([]kindOfPod, 0, len(alike))
	for k := range alike {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b kindOfPod) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.status, b.status))
	})
	shown := map[kindOfPod]int{}
	var alone []*status.Pod
	for _, k := range kinds {
		shown[k] = t.byThemselves(k, len(alike[k]))
		alone = append(alone, alike[k][:shown[k]]...)
	}
	columns := t.columns(alone, depth)
	var all []branch
	for _, k := range kinds {
		said := ""
		for _, pod := range alike[k][:shown[k]] {
			reason := pod.Reason
			if reason == said {
				reason = ""
			} else {
				said = reason
			}
			all = append(all, t.pod(pod, reason, k, columns))
		}
		if rest := len(alike[k]) - shown[k]; rest > 0 {
			sign, color := t.style.look(k.verdict())
			more := ""
			if shown[k] > 0 {
				more = "more "
			}
			all = append(all, branch{text: line{{color, sign + " "}, {"", fmt.Sprintf("%d %s%s", rest, more, trimmed(k.status))}}})
		}
	}
	return all
}

// byThemselves is how many of n pods that are alike are shown by themselves.
func (t podTree) byThemselves(k kindOfPod, n int) int {
	most := t.detail.alike
	switch {
	case t.AllPods:
		return n
	case n <= most || n == 1 && k.rank < 3:
		return n
	case k.rank == 3:
		return 0 // nobody asks which of many pods are the ones that are ready
	}
	return min(most, 3)
}

// podColumns are how wide the columns of pods are; 0: there is no room.
type podColumns struct {
	left, name, status, containers, restarts, age, node int
}

// columns finds what there is room for in lines of pods at a depth.
func (t podTree) columns(pods []*status.Pod, depth int) podColumns {
	c := podColumns{left: t.width - 2 - 3*depth - 2}
	wide := func(to *int, text string) { *to = max(*to, plain(text).width()) }
	for _, pod := range pods {
		wide(&c.name, pod.Name)
		wide(&c.status, trimmed(pod.Status))
		wide(&c.containers, containers(pod))
		if pod.Restarts > 0 {
			wide(&c.restarts, restarts(pod))
		}
		wide(&c.age, age(pod.Created, t.now))
		wide(&c.node, pod.Node)
	}
	c.name = min(c.name, max(8, c.left/2))
	c.left -= c.name
	c.status = min(c.status, max(0, c.left-2)) // cut rather than left out
	for _, column := range []*int{&c.status, &c.containers, &c.age, &c.restarts, &c.node} {
		if *column > 0 && *column+2 > c.left {
			*column = 0
		}
		if *column > 0 {
			c.left -= *column + 2
		}
	}
	return c
}

// shortened cuts a name in the middle: pods of one owner differ at the end.
func (f frame) shortened(name string, width int) string {
	name = oneLine(name)
	whole, end := ansi.StringWidth(name), width/2
	if whole <= width || end < 3 {
		return name
	}
	return ansi.Truncate(name, width-end-1, "") + f.style.sign("…", "~") + ansi.TruncateLeft(name, whole-end, "")
}

func containers(pod *status.Pod) string {
	return fmt.Sprintf("%d/%d", pod.ReadyContainers, pod.Containers)
}

func restarts(pod *status.Pod) string { return problem.Quantity(pod.Restarts, "restart") }

// leastReason is how much of a line there must be left for a reason to begin in it.
const leastReason = 40

func (t podTree) pod(pod *status.Pod, reason string, k kindOfPod, c podColumns) branch {
	sign, color := t.style.look(k.verdict())
	text := line{{color, sign + " "}}
	end := 2
	put := func(color, word string, width int) {
		if width > 0 {
			text = append(text, piece{color, plain(word).render(width, Style{ASCII: t.style.ASCII})})
			end += width
			text = text.pad(end).add("", "  ")
			end += 2
		}
	}
	put("", t.shortened(pod.Name, c.name), c.name)
	put(color, trimmed(pod.Status), c.status)
	put("", containers(pod), c.containers)
	words := ""
	if pod.Restarts > 0 {
		words = restarts(pod)
	}
	put(yellow, words, c.restarts)
	put(dim, age(pod.Created, t.now), c.age)
	put(dim, pod.Node, c.node)
	b := branch{text: text}
	switch {
	case reason == "":
	case c.left >= leastReason:
		b.text = b.text.add("", trimmed(reason))
	default:
		b.more = []line{plain("  " + trimmed(reason))}
	}
	return b
}
