package printer

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

const (
	// patience is how long a wait lasts before it has a line of progress or a rate.
	patience = time.Second
	// pace is the least time between two lines of progress.
	pace = 3 * time.Second
)

// Progress tells a person how far the objects that they wait for have come. It
// has no clock: callers pass the time.
type Progress struct {
	// Goal describes an object that is done, such as "ready" or "gone".
	Goal string
	// Lost is when the connection to the server was lost; zero while there is one.
	Lost time.Time

	begun time.Time
	// next is when there may be another line.
	next    time.Time
	objects map[types.NamespacedName]waited
	// changed is the object that changed last, and news the last one that had something to
	// tell.
	changed, news types.NamespacedName
	// most is the largest number of pods that were left to do.
	most int32
}

// waited is an object that somebody waits for, as it was seen last.
type waited struct {
	status.Report
	done bool
	// givesUp is when the wait for an object that has failed is over; zero where it is not.
	givesUp time.Time
	// surplus is the largest number of pods that were to be removed.
	surplus int32
	// told are the states of this generation that lines have told.
	told map[state]bool
}

// state is what tells apart what lines say of an object. What ails it is told once for each
// generation, however its words and counts change: a crash loop has many.
type state struct {
	generation            int64
	verdict               status.Verdict
	code                  problem.Code
	desired, ready, extra int32
}

func (w waited) state() state {
	s := state{generation: w.Metadata.Generation, verdict: w.Verdict, code: w.ReasonCode}
	if len(w.Problems) == 0 {
		s.desired, s.ready, s.extra = w.Replicas.Desired, w.Replicas.Ready, surplus(w.Report)
	}
	return s
}

// verdictAt is the verdict and, of an object that has failed, how long it is still waited
// for.
func (w waited) verdictAt(now time.Time) string {
	if w.givesUp.IsZero() {
		return string(w.Verdict)
	}
	return fmt.Sprintf("%s, gives up in %s", w.Verdict, duration.HumanDuration(max(0, w.givesUp.Sub(now).Round(time.Second))))
}

// See takes in an object as it is now, whether it is done, and when the wait for it gives up
// because it has failed; zero, it does not.
func (p *Progress) See(r status.Report, done bool, givesUp, now time.Time) {
	if p.objects == nil {
		p.objects = map[types.NamespacedName]waited{}
		p.begun, p.next = now, now.Add(patience)
	}
	p.changed = types.NamespacedName{Namespace: r.Metadata.Namespace, Name: objectName(r)}
	before := p.objects[p.changed]
	w := waited{r, done, givesUp, max(before.surplus, surplus(r)), before.told}
	if w.told == nil || before.Metadata.Generation != r.Metadata.Generation {
		w.told = map[state]bool{}
	}
	p.objects[p.changed] = w
	p.most = max(p.most, p.toDo())
	if !w.told[w.state()] {
		p.news = p.changed
	}
}

// Line is what there is to tell now: "" for nothing, or for nothing yet; then
// callers ask again after a while. The summary tells that all is done.
func (p *Progress) Line(now time.Time) (line string, again time.Duration) {
	w, found := p.objects[p.news]
	if !found || w.told[w.state()] || p.done() == len(p.objects) {
		return "", 0
	}
	if wait := p.next.Sub(now); wait > 0 {
		return "", wait
	}
	p.next = now.Add(pace)
	w.told[w.state()] = true
	line = fmt.Sprintf("%s: %s: %s", p.name(p.news), w.verdictAt(now), w.Reason)
	if len(p.objects) > 1 {
		line = p.count() + "; " + line
	}
	return escape.Line(line), 0
}

// Summary is what came of the wait, "" unless all objects are done: ready, or gone.
func (p *Progress) Summary(now time.Time) string {
	if p.done() < len(p.objects) || len(p.objects) == 0 || !strings.HasPrefix(p.Goal, "ready") && p.Goal != "gone" {
		return ""
	}
	text := p.count()
	if len(p.objects) == 1 {
		text = p.name(p.changed) + ": gone"
		if p.Goal != "gone" {
			text = fmt.Sprintf("%s: ready: %s", p.name(p.changed), p.objects[p.changed].Reason)
		}
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
			lines = append(lines, name(nil).add(color, r.verdictAt(now)+": ").add("", r.Reason))
		}
	case stuck && !r.done:
		lines = append(lines, name(clock).add(color, r.verdictAt(now)+": ").add("", r.Reason))
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
	if took, gained := now.Sub(p.begun), p.most-p.toDo(); gained > 0 && p.toDo() > 0 && took >= patience {
		rate := float64(gained) / took.Seconds()
		rest := time.Duration(float64(p.toDo()) / rate * float64(time.Second))
		text += fmt.Sprintf(", %.1f/s, %s left", rate, duration.HumanDuration(rest))
	}
	return bar + " " + text
}
