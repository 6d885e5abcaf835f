package printer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// table shows several objects, one in a row, those that need somebody first. What
// is ready folds where there is no room, and in the last frame.
func (f frame) table(height int) []line {
	reports := slices.Clone(f.Reports)
	slices.SortStableFunc(reports, func(a, b status.Report) int { return cmp.Compare(urgency(a), urgency(b)) })
	firstReady := slices.IndexFunc(reports, func(r status.Report) bool { return r.Verdict == status.Ready })
	if firstReady < 0 {
		firstReady = len(reports)
	}
	shown := f.readyShown(firstReady, len(reports)-firstReady, height)
	rows := reports[:firstReady+shown]
	c := f.tableColumns(reports, rows)
	var all []line
	if height <= 0 || height > 3 {
		all = append(all, f.row(c, dim, "", "NAMESPACE", "NAME", "READY", "VERDICT", "AGE", "REASON"))
	}
	hints := height <= 0 || 2*firstReady+shown+2 <= height
	for _, r := range rows {
		sign, color := f.style.look(r.Verdict)
		reason := trimmed(r.Reason)
		if r.Verdict == status.Ready {
			reason = f.rollouts[r.Metadata.UID].text(r.Replicas.Ready, f.now)
		}
		all = append(all, f.row(c, color, sign, r.Metadata.Namespace, objectName(r), counted(r), string(r.Verdict), age(r.Metadata.CreationTimestamp.Time, f.now), reason))
		if hints && r.Hint != "" && !r.Verdict.Settled() {
			all = append(all, line{{cyan, "    hint: " + r.Hint}})
		}
	}
	if folded := len(reports) - firstReady - shown; folded > 0 {
		sign, color := f.style.look(status.Ready)
		more := ""
		if shown > 0 {
			more = "more "
		}
		all = append(all, line{{color, sign + " "}, {"", fmt.Sprintf("%d %sready", folded, more)}})
	}
	return all
}

// readyShown is for how many of the objects that are ready there is a row, after
// those of objects that are not.
func (f frame) readyShown(notReady, ready, height int) int {
	room := height - notReady - 1 // below the header
	switch {
	case height <= 0 && ready <= few, height > 0 && ready <= room:
		return ready
	case height <= 0:
		return 0
	}
	return max(0, room-1) // above the line that says how many more
}

// tableColumns are how wide the columns are; 0: it is left out.
type tableColumns struct{ namespace, name, ready, verdict, age int }

func (f frame) tableColumns(all, rows []status.Report) tableColumns {
	c := tableColumns{name: len("NAME"), ready: len("READY"), verdict: len("VERDICT"), age: len("AGE")}
	wide := func(to *int, text string) { *to = max(*to, plain(text).width()) }
	if slices.ContainsFunc(all, func(r status.Report) bool { return r.Metadata.Namespace != all[0].Metadata.Namespace }) {
		c.namespace = len("NAMESPACE")
	}
	for _, r := range rows {
		if c.namespace > 0 {
			wide(&c.namespace, r.Metadata.Namespace)
		}
		wide(&c.name, objectName(r))
		wide(&c.ready, counted(r))
		wide(&c.verdict, string(r.Verdict))
		wide(&c.age, age(r.Metadata.CreationTimestamp.Time, f.now))
	}
	c.name = min(c.name, max(8, f.width/3))
	c.namespace = min(c.namespace, f.width/5)
	if f.width < c.namespace+c.name+c.ready+c.verdict+c.age+30 {
		c.age = 0
	}
	return c
}

// row puts cells below each other. The reason has what is left of the line.
func (f frame) row(c tableColumns, color, sign, namespace, name, ready, verdict, age, reason string) line {
	l := line{{color, sign}}.pad(2)
	end := 2
	put := func(color, text string, width int) {
		if width > 0 {
			l = l.add(color, f.shortened(text, width))
			end += width + 2
			l = l.pad(end)
		}
	}
	nameColor := bold
	if sign == "" {
		nameColor = color
	}
	put(dim, namespace, c.namespace)
	put(nameColor, name, c.name)
	put("", ready, c.ready)
	put(color, verdict, c.verdict)
	put(dim, age, c.age)
	return l.add(dim, reason)
}

// counted is how many pods of an object are ready.
func counted(r status.Report) string { return fmt.Sprintf("%d/%d", readyNow(r), r.Replicas.Desired) }
