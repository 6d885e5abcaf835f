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
	// patience is the minimum time from the start of a wait to its first line of progress.
	patience = time.Second
	// pace is the minimum time between two lines of progress.
	pace = 3 * time.Second
)

// Progress is the state of a wait for objects. It has no clock; callers pass the time.
type Progress struct {
	// Goal describes a finished object, such as "ready" or "gone".
	Goal string
	// Lost is when the connection to the server was lost, or zero if there is a connection.
	Lost time.Time

	begun time.Time
	// next is the earliest time for the next line.
	next    time.Time
	objects map[types.NamespacedName]waited
	// changed is the object in the last call to See. news is the object with the newest unprinted state.
	changed, news types.NamespacedName
}

type waited struct {
	status.Report
	done bool
	// givesUp is when the wait ends because the object has failed, or zero.
	givesUp time.Time
	rollout rollout
	// shown contains the printed states of the current generation.
	shown map[state]bool
}

// state identifies a line about an object. For each generation and verdict, a problem is printed only
// once, because its message and counts change often in a crash loop.
type state struct {
	verdict                 status.Verdict
	code                    problem.Code
	desired, current, ready int32
}

func (w waited) state() state {
	s := state{verdict: w.Verdict, code: w.ReasonCode}
	if len(w.Problems) == 0 {
		s.desired, s.current, s.ready = w.Replicas.Desired, w.Replicas.Current, w.Replicas.Ready
	}
	return s
}

// verdictAt returns the verdict and, for a failed object, the time until the wait gives up.
func (w waited) verdictAt(now time.Time) string {
	if w.givesUp.IsZero() {
		return string(w.Verdict)
	}
	return fmt.Sprintf("%s, gives up in %s", w.Verdict, duration.HumanDuration(max(0, w.givesUp.Sub(now).Round(time.Second))))
}

// See updates the state of an object. done means that the object has reached the goal. givesUp is
// when the wait ends because the object has failed, or zero.
func (p *Progress) See(r status.Report, done bool, givesUp, now time.Time) {
	if p.objects == nil {
		p.objects = map[types.NamespacedName]waited{}
		p.begun, p.next = now, now.Add(patience)
	}
	p.changed = types.NamespacedName{Namespace: r.Metadata.Namespace, Name: objectName(r)}
	before := p.objects[p.changed]
	w := waited{r, done, givesUp, before.rollout.see(r, now), before.shown}
	if w.shown == nil || before.Metadata.Generation != r.Metadata.Generation {
		w.shown = map[state]bool{}
	}
	p.objects[p.changed] = w
	if !w.shown[w.state()] {
		p.news = p.changed
	}
}

// Line returns the next line of progress. It returns "" if nothing is new, if it is too early for a line, or if all
// objects are done. again is the delay after which to call Line for a pending line, or zero if no line is pending.
func (p *Progress) Line(now time.Time) (line string, again time.Duration) {
	w, found := p.objects[p.news]
	if !found || w.shown[w.state()] || p.done() == len(p.objects) {
		return "", 0
	}
	if wait := p.next.Sub(now); wait > 0 {
		return "", wait
	}
	p.next = now.Add(pace)
	w.shown[w.state()] = true
	line = fmt.Sprintf("%s: %s: %s", p.name(p.news), w.verdictAt(now), w.Reason)
	if w.Verdict == status.Deleted {
		line = fmt.Sprintf("%s: %s", p.name(p.news), w.Reason)
	}
	if len(p.objects) > 1 {
		line = p.count() + "; " + line
	}
	return escape.Line(line), 0
}

// Summary returns the outcome of a completed wait for ready or gone objects, or "" for any other wait.
func (p *Progress) Summary(now time.Time) string {
	if p.done() < len(p.objects) || len(p.objects) == 0 || !strings.HasPrefix(p.Goal, "ready") && p.Goal != "gone" {
		return ""
	}
	text := p.count()
	if len(p.objects) == 1 {
		w := p.objects[p.changed]
		switch {
		case p.Goal == "gone":
			text = p.name(p.changed) + ": gone"
		case w.Verdict == status.Parked:
			text = fmt.Sprintf("%s: parked: %s", p.name(p.changed), w.Reason)
		default:
			text = fmt.Sprintf("%s: ready: %s", p.name(p.changed), w.Reason)
		}
	}
	return escape.Line(fmt.Sprintf("%s, took %s", text, duration.HumanDuration(now.Sub(p.begun))))
}

// Frame returns the progress as lines for a terminal, each at most width wide. The lines contain the time since the
// wait began or the connection was lost, and the progress or, for a stuck object, the reason and a hint.
func (p *Progress) Frame(width int, style Style, now time.Time) []string {
	worst := p.worst()
	r := p.objects[worst]
	clock := line{{dim, age(p.begun, now) + "  "}}
	if !p.Lost.IsZero() {
		clock = line{{yellow, "connection lost " + age(p.Lost, now) + " ago  "}}
	}
	var lines []line
	if len(p.objects) > 1 {
		lines = append(lines, clock.add("", p.count()))
		clock = nil
	}
	name := clock.add(bold, p.name(worst)).add("", ": ")
	_, color := style.verdictStyle(r.Verdict)
	stuck := !r.done && (r.Verdict != status.Progressing || len(r.Problems) > 0)
	switch {
	case stuck:
		lines = append(lines, name.add(color, r.verdictAt(now)+": ").add("", r.Reason))
	case r.Replicas.Desired == 0 && r.Replicas.Current == 0:
		lines = append(lines, name.add("", r.Reason))
	default:
		lines = append(lines, append(name, podBar(r.Report, r.rollout.rate(now), 20, width-name.width(), style)...))
	}
	if stuck && r.Hint != "" {
		for _, text := range wrapped("hint: "+r.Hint, width, 3) {
			lines = append(lines, line{{cyan, text}})
		}
	}
	return frame{width: width, style: style}.render(lines, 0)
}

// worst returns the unfinished object with the worst verdict. Among several such objects, it prefers the
// object in the last call to See, and then the first object by namespace and name.
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

// name returns the name of an object. If there are several namespaces, it adds the namespace, if any.
func (p *Progress) name(key types.NamespacedName) string {
	for other := range p.objects {
		if other.Namespace != key.Namespace && key.Namespace != "" {
			return key.Namespace + "/" + key.Name
		}
	}
	return key.Name
}

func (p *Progress) count() string {
	return fmt.Sprintf("%d of %d objects are %s", p.done(), len(p.objects), p.Goal)
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

// Connection returns the line about a lost connection or, if lost is zero, about a restored connection.
func Connection(lost time.Time) string {
	if lost.IsZero() {
		return "connected to the server again"
	}
	return "connection to the server lost, reconnecting"
}
