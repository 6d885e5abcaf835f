package printer

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// pace is the least time between two lines of progress, and how long a wait
// lasts before it has any.
const pace = time.Second

// Progress tells a person how far the objects that they wait for have come. It
// has no clock: callers pass the time.
type Progress struct {
	// Goal describes an object that is done, such as "ready".
	Goal string
	// Lost is when the connection to the server was lost; zero while there is one.
	Lost time.Time

	begun, told time.Time
	objects     map[types.NamespacedName]waited
	// changed is the object that changed last.
	changed types.NamespacedName
	// line is the last one.
	line string
	// most is the largest number of pods that were left to do.
	most  int32
	fresh bool
}

// waited is an object that somebody waits for, as it was seen last.
type waited struct {
	status.Report
	done bool
	// surplus is the largest number of pods that were to be removed.
	surplus int32
}

// See takes in an object as it is now, and whether it is done.
func (p *Progress) See(r status.Report, done bool, now time.Time) {
	if p.objects == nil {
		p.objects = map[types.NamespacedName]waited{}
		p.begun, p.told = now, now
	}
	p.changed = types.NamespacedName{Namespace: r.Metadata.Namespace, Name: objectName(r)}
	p.objects[p.changed] = waited{r, done, max(p.objects[p.changed].surplus, surplus(r))}
	p.most = max(p.most, p.toDo())
	p.fresh = true
}

// Line is what there is to tell now: "" for nothing, or for nothing yet; then
// callers ask again after a while.
func (p *Progress) Line(now time.Time) (line string, again time.Duration) {
	if !p.fresh {
		return "", 0
	}
	if wait := pace - now.Sub(p.told); wait > 0 {
		return "", wait
	}
	p.fresh, p.told = false, now
	r := p.objects[p.changed]
	line = fmt.Sprintf("%s: %s: %s", p.name(p.changed), r.Verdict, r.Reason)
	if len(p.objects) > 1 {
		line = p.count() + "; " + line
	}
	if line = escape.Line(line); line == p.line {
		return "", 0
	}
	p.line = line
	return line, 0
}

// Told reports whether Line has told anything.
func (p *Progress) Told() bool { return p.line != "" }

// Summary is what came of the wait, "" unless all objects are done and ready.
func (p *Progress) Summary(now time.Time) string {
	if p.done() < len(p.objects) || len(p.objects) == 0 || !strings.HasPrefix(p.Goal, "ready") {
		return ""
	}
	text := p.count()
	if len(p.objects) == 1 {
		text = fmt.Sprintf("%s: ready: %s", p.name(p.changed), p.objects[p.changed].Reason)
	}
	return escape.Line(fmt.Sprintf("%s, took %s", text, duration.HumanDuration(now.Sub(p.begun))))
}

// Frame is the progress as lines for a terminal, each no wider than width: how
// long the wait has lasted and how far it has come. Of an object that does not
// come any further, the reason and what to do about it.
func (p *Progress) Frame(width int, style Style, now time.Time) []string {
	worst := p.worst()
	r := p.objects[worst]
	clock := line{{dim, age(p.begun, now) + "  "}}
	if !p.Lost.IsZero() {
		clock = line{{yellow, connectionLost(p.Lost, now) + "  "}}
	}
	name := func(l line) line { return l.add(bold, p.name(worst)).add("", ": ") }
	var lines []line
	_, color := style.look(r.Verdict)
	stuck := r.Verdict != status.Progressing || len(r.Problems) > 0
	switch {
	case len(p.objects) > 1:
		lines = append(lines, clock.add("", p.count()+"  ").add("", p.bar(style, now)))
		if stuck && !r.done {
			lines = append(lines, name(nil).add(color, string(r.Verdict)+": ").add("", r.Reason))
		}
	case stuck && !r.done:
		lines = append(lines, name(clock).add(color, string(r.Verdict)+": ").add("", r.Reason))
	case p.bar(style, now) != "":
		lines = append(lines, name(clock).add("", p.bar(style, now)))
	default:
		lines = append(lines, name(clock).add("", r.Reason))
	}
	if stuck && !r.done && r.Hint != "" {
		for _, text := range wrapped("hint: "+r.Hint, width, 3) {
			lines = append(lines, line{{cyan, text}})
		}
	}
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.render(width, style)
	}
	return texts
}

// worst is the object that needs somebody most: of those that are not done, the
// one whose verdict is the worst, and of these the one that changed last.
func (p *Progress) worst() types.NamespacedName {
	rank := func(key types.NamespacedName) int {
		if p.objects[key].done {
			return len(p.objects) + 10
		}
		return urgency(p.objects[key].Report)
	}
	worst := p.changed
	for key := range p.objects {
		if c := cmp.Compare(rank(key), rank(worst)); c < 0 || c == 0 && worst != p.changed && key.String() < worst.String() {
			worst = key
		}
	}
	return worst
}

// name names an object, with its namespace where there are objects of several.
func (p *Progress) name(key types.NamespacedName) string {
	for other := range p.objects {
		if other.Namespace != key.Namespace {
			return key.Namespace + "/" + key.Name
		}
	}
	return key.Name
}

func (p *Progress) done() int {
	n := 0
	for _, o := range p.objects {
		if o.done {
			n++
		}
	}
	return n
}

// count says how many of the objects are done.
func (p *Progress) count() string {
	return fmt.Sprintf("%d of %d objects are %s", p.done(), len(p.objects), p.Goal)
}

// surplus is how many pods of an object are still to be removed.
func surplus(r status.Report) int32 { return max(r.Replicas.Current-r.Replicas.Desired, 0) }

// toDo is how many pods are still to be made ready or to be removed.
func (p *Progress) toDo() int32 {
	n := int32(0)
	for _, o := range p.objects {
		n += max(o.Replicas.Desired-o.Replicas.Ready, 0) + surplus(o.Report)
	}
	return n
}

// barWidth is how many characters the bar itself has.
const barWidth = 20

// bar shows how many of the pods that are wanted are ready or, where only pods
// are to be removed, how many of these are: how many a second, and how long the
// rest takes at that rate. It is "" where there are no pods to count.
func (p *Progress) bar(style Style, now time.Time) string {
	var desired, ready, left, before int32
	for _, o := range p.objects {
		desired += o.Replicas.Desired
		ready += min(o.Replicas.Ready, o.Replicas.Desired)
		left += surplus(o.Report)
		before += o.surplus
	}
	if p.most == 0 {
		return ""
	}
	done, all := ready, desired
	text := fmt.Sprintf("%d/%d ready", ready, desired)
	if ready == desired && left > 0 {
		done, all = before-left, before
		text = fmt.Sprintf("removing %d/%d", done, all)
	}
	filled := barWidth
	if all > 0 {
		filled = barWidth * int(done) / int(all)
	}
	bar := strings.Repeat(style.sign("━", "#"), filled) + strings.Repeat(style.sign("─", "-"), barWidth-filled)
	if took, gained := now.Sub(p.begun), p.most-p.toDo(); gained > 0 && p.toDo() > 0 && took >= pace {
		rate := float64(gained) / took.Seconds()
		rest := time.Duration(float64(p.toDo()) / rate * float64(time.Second))
		text += fmt.Sprintf(", %.1f/s, %s left", rate, duration.HumanDuration(rest))
	}
	return bar + " " + text
}
