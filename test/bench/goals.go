package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// goal is a target and the measured value.
type goal struct {
	what, wanted, measured string
	held                   bool
	// lenient means that a miss is not an error, because the goal depends on the speed and load of
	// the machine, or because docs/benchmarks.md explains the miss.
	lenient bool
}

// add adds a measurement. held reports whether the measurement meets the goal.
func (g *goal) add(measured string, held bool) {
	if g.measured != "" {
		g.measured += ", "
	}
	g.measured += measured
	g.held = g.held && held
}

// missed returns an error that lists the missed goals, except lenient ones.
func missed(goals []goal) error {
	var all []string
	for _, g := range goals {
		if !g.held && !g.lenient {
			all = append(all, fmt.Sprintf("%s: %s, not %s", g.what, g.measured, g.wanted))
		}
	}
	if len(all) > 0 {
		return fmt.Errorf("missed: %s", strings.Join(all, "; "))
	}
	return nil
}

// ratio is a measured ratio with its text format.
type ratio struct {
	format string
	value  float64
}

// beside returns the ratio of our median to their median.
func beside(format string, ours, theirs []float64) ratio {
	return ratio{format, spreadOf(ours).median / spreadOf(theirs).median}
}

// ratioGoal returns a lenient goal that is met if no ratio, rounded to two decimals, exceeds most.
func ratioGoal(what string, most float64, all ...ratio) goal {
	g := goal{what: what, wanted: fmt.Sprintf("≤ %.2f ×", most), held: true, lenient: true}
	for _, r := range all {
		g.add(fmt.Sprintf(r.format, r.value), round(r.value) <= most)
	}
	return g
}

// medianGoal returns a lenient goal that is met if the median of values, rounded to two decimals,
// does not exceed most. format is the format of a value, and unit follows the value.
func medianGoal(what string, most float64, format, unit string, values ...float64) goal {
	s := spreadOf(values)
	return goal{
		what: what, wanted: "≤ " + fmt.Sprintf(format, most) + unit, measured: s.text(format) + unit,
		held: round(s.median) <= most, lenient: true,
	}
}

func round(x float64) float64 { return math.Round(100*x) / 100 }

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

// text returns the median and, for several measurements, the range. It returns "" for none.
func (s spread) text(format string) string {
	switch s.n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(format, s.median)
	}
	return fmt.Sprintf(format+" ("+format+"–"+format+")", s.median, s.least, s.most)
}

func valuesOf[T any](measurements []T, value func(T) float64) []float64 {
	var all []float64
	for _, m := range measurements {
		all = append(all, value(m))
	}
	return all
}
