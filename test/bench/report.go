package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// report is what a part of the benchmark has measured.
type report struct {
	machine machine
	took    time.Duration
	goals   []goal
	tables  []heading
}

// heading is a table under its heading.
type heading struct{ name, table string }

// write replaces the section of a part in a document with the goals, and writes the
// tables to a file of the part in the directory details.
func (r report) write(part, document, details string) error {
	if err := writeSection(document, part, r.machine.text(r.took)+"\n\n"+goalTable(r.goals)); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.machine.text(r.took))
	for _, h := range r.tables {
		fmt.Fprintf(&b, "\n## %s\n\n%s", h.name, h.table)
	}
	file := filepath.Join(details, "benchmarks-"+part+".md")
	say("the tables are in %s", file)
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

// writeSection replaces the text between the two comments that enclose a section of
// a document.
func writeSection(document, section, text string) error {
	old, err := os.ReadFile(document)
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	begin, end := "<!-- "+section+" -->\n", "<!-- /"+section+" -->\n"
	before, rest, begins := strings.Cut(string(old), begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return fmt.Errorf("%s has no section %q", filepath.Base(document), section)
	}
	return os.WriteFile(document, []byte(before+begin+"\n"+text+"\n"+end+after), 0o644)
}

// text describes the machine, the programs, and the time of the measurement.
func (m machine) text(took time.Duration) string {
	text := fmt.Sprintf("%s, %d cores, %.0f GiB, %s; %s, %s, kubectl-imoocpod %s; %s, in %s.",
		m.processor, m.cores, float64(m.memory)/(1<<30), m.system, m.server, m.goVersion, strings.TrimPrefix(m.program, "Client Version: "),
		time.Now().UTC().Format(time.DateOnly), took.Round(time.Second))
	if m.spare < 80 {
		text += fmt.Sprintf(" **Only %.0f %% of the processors were idle: read the counts, not the times.**", m.spare)
	}
	return text
}

// table returns a Markdown table. Columns from index numbers on are right-aligned.
func table(numbers int, header []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(header)
	rule := make([]string, len(header))
	for i := range rule {
		rule[i] = "---"
		if i >= numbers {
			rule[i] = "---:"
		}
	}
	line(rule)
	for _, row := range rows {
		line(row)
	}
	return b.String()
}

func goalTable(goals []goal) string {
	var rows [][]string
	for _, g := range goals {
		verdict := "held"
		if !g.held {
			verdict = "**missed**"
		}
		rows = append(rows, []string{g.what, g.wanted, g.measured, verdict})
	}
	return table(4, []string{"", "goal", "measured", ""}, rows)
}

// commandTables returns the tables of the part that compares commands and loops.
func (r *results) commandTables() []heading {
	return []heading{
		{"Seconds from 0 to N pods, and back", r.timeTable()},
		{fmt.Sprintf("Requests with %d pods", r.curveSize()), r.requestTable()},
		{"Resources of the controllers", r.loopTable()},
		{fmt.Sprintf("CPU seconds by process with %d pods", r.most()), r.usedTable()},
		{"Idle", r.idleTable()},
		{"Commands", r.commandTable()},
		{"Rules alone", r.ruleTable()},
	}
}

// followingTables returns the tables of the part that compares commands that follow
// an object.
func (r *results) followingTables() []heading {
	return []heading{
		{"While the pods come up", r.followingTable()},
		{"Milliseconds from the last ready pod to the end", r.endingTable()},
		{"A single look", r.lookTable()},
		{"At rest", r.restTable()},
	}
}

// subjects returns the compared subjects, in the order of the report.
func subjects() []string { return []string{nameFloor, nameLifted, nameShipped, nameOurs} }

func (r *results) timeTable() string {
	seconds := func(value func(sample) time.Duration) func(sample) float64 {
		return func(s sample) float64 { return value(s).Seconds() }
	}
	columns := []func(sample) float64{
		seconds(func(s sample) time.Duration { return s.first }), created,
		seconds(func(s sample) time.Duration { return s.ready }),
		seconds(func(s sample) time.Duration { return s.status }), gone,
	}
	var rows [][]string
	for _, size := range r.agenda.sizes {
		for _, subject := range subjects() {
			row := []string{fmt.Sprint(size.pods), subject}
			for i, value := range columns {
				cell := r.spread(subject, size.pods, value).text("%.2f")
				if i == 3 && subject == nameFloor {
					cell = "" // no status
				}
				row = append(row, cell)
			}
			if row[2] != "" {
				rows = append(rows, row)
			}
		}
	}
	return table(2, []string{"N", "", "first", "created", "ready", "status", "gone"}, rows)
}

// curveSize returns the number of pods for the curve: the largest up to 1,000 that
// all subjects but the ReplicaSet as shipped have in common.
func (r *results) curveSize() int {
	most := 0
	for _, s := range r.agenda.sizes {
		if !s.growth && s.pods <= 1000 {
			most = max(most, s.pods)
		}
	}
	return most
}

// curveRuns returns the runs of a subject at that size; for raw requests, those
// with the best concurrency.
func (r *results) curveRuns(subject string) []sample {
	return r.compared(subject, r.curveSize(), created)
}

func (r *results) requestTable() string {
	var rows [][]string
	for _, subject := range subjects() {
		runs := r.curveRuns(subject)
		if len(runs) == 0 {
			continue
		}
		for _, way := range []struct {
			name string
			of   func(sample) (counts, int)
		}{
			{"up", func(s sample) (counts, int) { return s.up, s.eventsUp }},
			{"down", func(s sample) (counts, int) { return s.down, s.eventsDown }},
		} {
			names := map[string]bool{}
			for _, s := range runs {
				c, _ := way.of(s)
				for what := range c {
					names[what] = true
				}
			}
			median := func(value func(sample) int) int {
				var values []float64
				for _, s := range runs {
					values = append(values, float64(value(s)))
				}
				return int(spreadOf(values).median)
			}
			var said []string
			for _, what := range slices.Sorted(maps.Keys(names)) {
				said = append(said, fmt.Sprintf("%d %s", median(func(s sample) int { c, _ := way.of(s); return c[what] }), what))
			}
			events := median(func(s sample) int { _, n := way.of(s); return n })
			rows = append(rows, []string{subject, way.name, strings.Join(said, ", "), fmt.Sprint(events)})
		}
	}
	return table(3, []string{"", "", "requests", "event writes"}, rows)
}

func (r *results) loopTable() string {
	var rows [][]string
	for _, size := range r.agenda.sizes {
		for _, subject := range []string{nameLifted, nameOurs} {
			if r.spread(subject, size.pods, created).n == 0 {
				continue
			}
			row := []string{fmt.Sprint(size.pods), subject,
				r.spread(subject, size.pods, func(s sample) float64 { return s.cpu }).text("%.2f"),
				r.spread(subject, size.pods, func(s sample) float64 { return float64(s.peak) / (1 << 20) }).text("%.0f"),
				r.spread(subject, size.pods, func(s sample) float64 { return float64(s.up.statusWrites()) }).text("%.0f"),
				r.spread(subject, size.pods, func(s sample) float64 { return float64(s.down.statusWrites()) }).text("%.0f"), "", "",
			}
			if subject == nameOurs {
				row[6] = r.spread(subject, size.pods, func(s sample) float64 { return s.reconcilesUp }).text("%.0f")
				row[7] = r.spread(subject, size.pods, func(s sample) float64 { return s.reconcilesDown }).text("%.0f")
			}
			rows = append(rows, row)
		}
	}
	return table(2, []string{"N", "", "CPU seconds", "peak MiB", "status writes up", "down", "reconciles up", "down"}, rows)
}

// most returns the largest number of pods.
func (r *results) most() int { return r.agenda.sizes[len(r.agenda.sizes)-1].pods }

// usedTable returns the CPU time by program while each subject created and deleted
// the most pods.
func (r *results) usedTable() string {
	programs := map[string]float64{} // the most CPU time of each
	for _, s := range r.runs {
		if s.pods == r.most() {
			for _, used := range []map[string]float64{s.usedUp, s.usedDown} {
				for name, seconds := range used {
					programs[name] = max(programs[name], seconds)
				}
			}
		}
	}
	maps.DeleteFunc(programs, func(_ string, seconds float64) bool { return seconds < 0.1 })
	names := slices.SortedFunc(maps.Keys(programs), func(a, b string) int { return cmp.Compare(programs[b], programs[a]) })
	var rows [][]string
	for _, subject := range subjects() {
		if r.spread(subject, r.most(), created).n == 0 {
			continue
		}
		for _, way := range []struct {
			name   string
			value  func(sample) float64
			usedOf func(sample) map[string]float64
		}{
			{"up, until ready", func(s sample) float64 { return s.ready.Seconds() }, func(s sample) map[string]float64 { return s.usedUp }},
			{"down, until gone", gone, func(s sample) map[string]float64 { return s.usedDown }},
		} {
			row := []string{subject, way.name, r.spread(subject, r.most(), way.value).text("%.1f")}
			runs := r.compared(subject, r.most(), way.value)
			for _, name := range names {
				var used []float64
				for _, s := range runs {
					used = append(used, way.usedOf(s)[name])
				}
				row = append(row, fmt.Sprintf("%.1f", spreadOf(used).median))
			}
			rows = append(rows, row)
		}
	}
	return table(2, append([]string{"", "", "seconds"}, names...), rows)
}

func (r *results) idleTable() string {
	i := r.idle
	row := func(what, format string, args ...any) []string { return []string{what, fmt.Sprintf(format, args...)} }
	still := func(s stillness, window time.Duration) string {
		return fmt.Sprintf("%.0f reconciles, %d writes, %d of the lease; %.2f s of CPU in %.0f s; %d MiB resident, %d at the most",
			s.reconciles, s.writes, s.leases, s.cpu, window.Seconds(), s.resident>>20, s.peak>>20)
	}
	cost := func(c reconcileCost) string {
		return fmt.Sprintf("%.2f ms of CPU, %.2f ms with the server's answers, %.1f requests (of %.0f)",
			c.cpu.Seconds()*1000, c.work.Seconds()*1000, c.requests, c.reconciles)
	}
	return table(2, []string{fmt.Sprintf("%d ImoocPods of %d pods", i.objects, i.pods/max(1, i.objects)), ""}, [][]string{
		row("from the first create until all pods are ready", "%.1f s", i.ready.Seconds()),
		row("converged", "%s", still(i.still, i.window)),
		row("started again: until the first plan", "%.2f s", i.began.Seconds()),
		row("started again: looks at the start, and writes", "%.0f, %d", i.looked, i.rewrites),
		row("started again, converged", "%s", still(i.restarted, i.window/2)),
		row("a reconcile with 1 other object", "%s", cost(i.one)),
		row(fmt.Sprintf("a reconcile with %d other objects", i.objects+1), "%s", cost(i.many)),
	})
}

func (r *results) commandTable() string {
	var rows [][]string
	for _, c := range r.commands {
		wall, cpu, peak, requests := r.command(c.task, c.by)
		rows = append(rows, []string{"`" + c.line + "`", wall.text("%.0f"), cpu.text("%.0f"), peak.text("%.0f"), fmt.Sprint(requests)})
	}
	return table(1, []string{"", "ms", "ms of CPU", "MiB", "requests"}, rows)
}

// lookTable is commandTable with a list of the requests.
func (r *results) lookTable() string {
	var rows [][]string
	for _, c := range r.commands {
		wall, cpu, peak, requests := r.command(c.task, c.by)
		rows = append(rows, []string{"`" + c.line + "`", wall.text("%.0f"), cpu.text("%.0f"), peak.text("%.0f"), fmt.Sprint(requests), c.requests.String()})
	}
	return table(1, []string{"", "ms", "ms of CPU", "MiB", "requests", ""}, rows)
}

func (r *results) followingTable() string {
	var rows [][]string
	for _, size := range r.agenda.followed {
		for _, kind := range r.followedKinds() {
			for _, by := range []caller{direct, kubectl, itsPlugin} {
				runs := r.followed(kind, size, by)
				if len(runs) == 0 {
					continue // a kind without a plugin
				}
				cell := func(format string, value func(following) float64) string {
					return r.followedSpread(kind, size, by, value).text(format)
				}
				words := strings.Fields(runs[0].line)
				requests := ""
				if kind != "ImoocPod" {
					requests = runs[0].requests.String()
				}
				rows = append(rows, []string{fmt.Sprint(size.pods), fmt.Sprint(size.others), kind, "`" + strings.Join(words[:3], " ") + " …`",
					cell("%.1f", received), cell("%.2f", func(f following) float64 { return f.used.cpu }),
					cell("%.0f", func(f following) float64 { return float64(f.used.peak) / (1 << 20) }), requests})
			}
		}
	}
	return table(4, []string{"pods", "of others", "", "", "MB received", "CPU seconds", "peak MiB", "requests"}, rows)
}

// received returns the megabytes that the server sent.
func received(f following) float64 { return float64(f.received) / 1e6 }

func (r *results) endingTable() string {
	var rows [][]string
	for _, e := range r.endings {
		what := e.line
		if what != floorOfEndings {
			what = "`" + strings.ReplaceAll(what, "%d", "N") + "`"
		}
		rows = append(rows, []string{what, e.spread().text("%.0f")})
	}
	return table(1, []string{"", "ms"}, rows)
}

func (r *results) restTable() string {
	var rows [][]string
	for _, rest := range r.rested {
		watches := 0
		for _, n := range rest.watches {
			watches += n
		}
		rows = append(rows, []string{fmt.Sprint(rest.objects), rest.state, rest.requests.String(), fmt.Sprint(watches), rest.watches.String()})
	}
	return table(3, []string{"ImoocPods", "", "requests at rest", "watches", ""}, rows)
}

func (r *results) ruleTable() string {
	var rows [][]string
	for _, rule := range r.rules {
		heap := ""
		if value, measured := rule.values["B/pod"]; measured {
			heap = fmt.Sprintf("%.0f", value)
		}
		rows = append(rows, []string{rule.name, time.Duration(rule.values["ns/op"]).Round(time.Microsecond / 10).String(),
			fmt.Sprintf("%.0f", rule.values["allocs/op"]), fmt.Sprintf("%.0f", rule.values["B/op"]), heap})
	}
	return table(1, []string{"", "time", "allocations", "bytes", "bytes per pod"}, rows)
}
