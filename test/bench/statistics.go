package main

import (
	"cmp"
	"fmt"
	"slices"
)

// spread is the median, minimum, and maximum of some measurements.
type spread struct {
	median, least, most float64
	n                   int
}

func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	s := spread{median: sorted[middle], least: sorted[0], most: sorted[len(sorted)-1], n: len(sorted)}
	if len(sorted)%2 == 0 {
		s.median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return s
}

// text returns the median and, for several measurements, the range.
func (s spread) text(format string) string {
	switch s.n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(format, s.median)
	}
	return fmt.Sprintf(format+" ("+format+"–"+format+")", s.median, s.least, s.most)
}

// results holds all measurements.
type results struct {
	agenda   agenda
	machine  machine
	rules    []rule
	commands []compared
	runs     []sample
	idle     idle

	followings []following
	endings    []float64 // milliseconds after the last pod was ready
	rested     []resting
	many       following

	// parts holds the parts of the report on the loop, by name.
	parts map[string]part
}

// followed returns the runs in which a caller followed an object of a kind and a size.
func (r *results) followed(kind string, size followedSize, by caller) (runs []following) {
	for _, f := range r.followings {
		if f.kind == kind && f.pods == size.pods && f.others == size.others && f.by == by {
			runs = append(runs, f)
		}
	}
	return runs
}

// followedSpread returns the spread of a value in the runs that followed returns.
func (r *results) followedSpread(kind string, size followedSize, by caller, value func(following) float64) spread {
	var values []float64
	for _, f := range r.followed(kind, size, by) {
		values = append(values, value(f))
	}
	return spreadOf(values)
}

// of returns the runs of a subject at a size.
func (r *results) of(subject string, pods, concurrency int) []sample {
	var list []sample
	for _, s := range r.runs {
		if s.subject == subject && s.pods == pods && s.concurrency == concurrency {
			list = append(list, s)
		}
	}
	return list
}

// compared returns the runs of a subject at a size. For raw requests, it returns those
// with the concurrency that has the lowest median of value.
func (r *results) compared(subject string, pods int, value func(sample) float64) []sample {
	concurrency := 0
	if subject == nameFloor {
		concurrency = r.best(pods, value)
	}
	return r.of(subject, pods, concurrency)
}

// spread returns the spread of a value in the runs that compared returns.
func (r *results) spread(subject string, pods int, value func(sample) float64) spread {
	var values []float64
	for _, s := range r.compared(subject, pods, value) {
		values = append(values, value(s))
	}
	return spreadOf(values)
}

// best returns the concurrency of raw requests with the lowest median of value, or 0.
func (r *results) best(pods int, value func(sample) float64) int {
	medians := map[int]float64{}
	for _, c := range r.agenda.concurrencies {
		var values []float64
		for _, s := range r.of(nameFloor, pods, c) {
			values = append(values, value(s))
		}
		if len(values) > 0 {
			medians[c] = spreadOf(values).median
		}
	}
	best := 0
	for c, median := range medians {
		if best == 0 || cmp.Or(cmp.Compare(median, medians[best]), cmp.Compare(c, best)) < 0 {
			best = c
		}
	}
	return best
}

func created(s sample) float64 { return s.up.done.Seconds() }
func gone(s sample) float64    { return s.down.done.Seconds() }

// statusWrites returns the number of writes of a status.
func (c counts) statusWrites() int {
	n := 0
	for what, times := range c {
		switch what {
		case "patch imoocpods/status", "update imoocpods/status", "patch replicasets/status", "update replicasets/status":
			n += times
		}
	}
	return n
}

// command returns the milliseconds, peak MiB, and requests of a task with one caller.
func (r *results) command(task string, by caller) (wall, peak spread, requests int) {
	for _, c := range r.commands {
		if c.task != task || c.by != by {
			continue
		}
		var walls, peaks []float64
		for _, t := range c.timings {
			walls, peaks = append(walls, t.Wall.Seconds()*1000), append(peaks, float64(t.Peak)/(1<<20))
		}
		for _, n := range c.requests {
			requests += n
		}
		return spreadOf(walls), spreadOf(peaks), requests
	}
	return spread{}, spread{}, 0
}

// received returns the megabytes that the server sent.
func received(f following) float64 { return float64(f.received) / 1e6 }

// most returns the largest number of pods.
func (r *results) most() int { return r.agenda.sizes[len(r.agenda.sizes)-1].pods }
