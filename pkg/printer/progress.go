package printer

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// pace is how long two lines of progress are apart at least, and how long a
// wait must last to have any.
const pace = time.Second

// Progress tells how far several objects have come on their way, to a person
// who waits for them. It has no clock: whoever uses it says what time it is.
type Progress struct {
	// Goal is what an object that is done is, such as "ready".
	Goal string

	begun, told time.Time
	objects     map[string]status.Report
	done        map[string]bool
	// last is the object that changed last, and most how many pods there were
	// still to do when that was the most.
	last  string
	most  int
	fresh bool
}

// See takes in an object as it is now, and whether it is done.
func (p *Progress) See(r status.Report, done bool, now time.Time) {
	if p.objects == nil {
		p.objects, p.done = map[string]status.Report{}, map[string]bool{}
		p.begun, p.told = now, now
	}
	p.last = r.Metadata.Type + "/" + r.Metadata.Name
	key := r.Metadata.Namespace + " " + p.last
	p.objects[key], p.done[key] = r, done
	p.most = max(p.most, p.toDo())
	p.fresh = true
}

// Line is what there is to tell now: "" for nothing, or for nothing yet; then
// it is asked again after a while.
func (p *Progress) Line(now time.Time) (line string, again time.Duration) {
	if !p.fresh {
		return "", 0
	}
	if wait := pace - now.Sub(p.told); wait > 0 {
		return "", wait
	}
	p.fresh, p.told = false, now
	return p.state(), 0
}

// state is how it is in a line: of one object its verdict, of several how many
// are done, and what changed last. It can stand in a line.
func (p *Progress) state() string {
	done := 0
	for _, d := range p.done {
		if d {
			done++
		}
	}
	var last status.Report
	for _, r := range p.objects {
		if r.Metadata.Type+"/"+r.Metadata.Name == p.last {
			last = r
		}
	}
	state := fmt.Sprintf("%s: %s: %s", p.last, last.Verdict, last.Reason)
	if len(p.objects) > 1 {
		state = fmt.Sprintf("%d of %d objects are %s; %s", done, len(p.objects), p.Goal, state)
	}
	return escape.Line(state)
}

// toDo is how many pods are still to be made ready or to be removed.
func (p *Progress) toDo() int {
	n := int32(0)
	for _, r := range p.objects {
		n += max(r.Replicas.Desired-r.Replicas.Ready, 0) + max(r.Replicas.Current-r.Replicas.Desired, 0)
	}
	return int(n)
}

// barWidth is how many characters the bar itself has.
const barWidth = 30

// Bar is a line for a terminal of a width: a bar, the count of pods, how many a
// second it were so far, and how long the rest takes if that goes on; or what
// Line tells, where there are no pods to count.
func (p *Progress) Bar(now time.Time, width int) string {
	line := p.state()
	if p.most > 0 {
		done := p.most - p.toDo()
		filled := barWidth * done / p.most
		line = fmt.Sprintf("[%s%s] %d/%d pods", strings.Repeat("#", filled), strings.Repeat("-", barWidth-filled), done, p.most)
		if took := now.Sub(p.begun).Seconds(); done > 0 && took >= pace.Seconds() {
			rate := float64(done) / took
			left := time.Duration(float64(p.toDo()) / rate * float64(time.Second))
			line += fmt.Sprintf(", %.1f/s, %s left", rate, duration.HumanDuration(left))
		}
		line += "  " + p.state()
	}
	return ansi.Truncate(line, width, "…")
}
