package printer

import (
	"fmt"
	"slices"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// table returns a row for each object, the most urgent first. Ready objects that do not fit share one
// line. With an unlimited height, all ready objects share one line if their number exceeds the constant few.
func (f frame) table(height int) []line {
	reports := byUrgency(f.Reports)
	ready := int(problem.Count(reports, func(r status.Report) bool { return r.Verdict == status.Ready }))
	notReady := len(reports) - ready
	shown := f.readyShown(notReady, ready, height)
	rows := reports[:notReady+shown]
	header := []piece{{dim, "NAMESPACE"}, {dim, "NAME"}, {"", "READY"}, {dim, "VERDICT"}, {dim, "AGE"}}
	several := slices.ContainsFunc(reports, func(r status.Report) bool { return r.Metadata.Namespace != reports[0].Metadata.Namespace })
	widths := f.tableWidths(header, rows, several)
	row := func(l line, cells []piece, reason string) line {
		for i := range cells {
			cells[i].text = f.shortened(cells[i].text, widths[i])
		}
		return l.columns(cells, widths, f.style).add(dim, reason)
	}
	var all []line
	if height <= 0 || height > 3 {
		all = append(all, row(plain("  "), header, "REASON"))
	}
	hints := height <= 0 || 2*notReady+shown+2 <= height
	for _, r := range rows {
		sign, color := f.style.verdictStyle(r.Verdict)
		reason := trimmed(r.Reason)
		if r.Verdict == status.Ready {
			reason = f.rollouts[r.Metadata.UID].text(f.now)
		}
		all = append(all, row(line{{color, sign}}.pad(2), f.tableCells(r), reason))
		if hints && r.Hint != "" && !r.Verdict.Settled() {
			all = append(all, line{{cyan, "    hint: " + r.Hint}})
		}
	}
	if shown < ready {
		all = append(all, f.others(status.Ready, ready-shown, shown, "ready"))
	}
	return all
}

// readyShown returns the number of ready objects that get their own rows.
func (f frame) readyShown(notReady, ready, height int) int {
	room := height - notReady - 1 // one line is the header
	switch {
	case height <= 0 && ready <= few, height > 0 && ready <= room:
		return ready
	case height <= 0:
		return 0
	}
	return max(0, room-1) // one line shows the number of hidden objects
}

func (f frame) tableCells(r status.Report) []piece {
	_, color := f.style.verdictStyle(r.Verdict)
	ready := fmt.Sprintf("%d/%d", readyNow(r), r.Replicas.Desired)
	return []piece{{dim, r.Metadata.Namespace}, {bold, objectName(r)}, {"", ready}, {color, string(r.Verdict)}, {dim, age(r.Metadata.CreationTimestamp.Time, f.now)}}
}

// tableWidths returns the column widths, with zero for omitted columns. The reason takes the rest of the line.
func (f frame) tableWidths(header []piece, rows []status.Report, namespaces bool) []int {
	widths := make([]int, len(header))
	widen(widths, header)
	for _, r := range rows {
		widen(widths, f.tableCells(r))
	}
	widths[1] = min(widths[1], max(8, f.width/3))
	widths[0] = min(widths[0], f.width/5)
	if !namespaces {
		widths[0] = 0
	}
	if all := widths[0] + widths[1] + widths[2] + widths[3] + widths[4]; f.width < all+30 {
		widths[4] = 0
	}
	return widths
}
