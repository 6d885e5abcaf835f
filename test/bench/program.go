package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// rule is a result line of "go test -bench".
type rule struct {
	name string
	// values are keyed by unit, such as "ns/op".
	values map[string]float64
}

// benchmarkRules runs the Go benchmarks of the rules, and returns the results.
func (b *bench) benchmarkRules(ctx context.Context, benchtime string) ([]rule, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", ".", "-benchmem", "-benchtime", benchtime, "-p", "1",
		"./pkg/inspect/status", "./pkg/controller/...")
	cmd.Dir = b.source
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go test -bench: %w\n%s", err, out)
	}
	var rules []rule
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 3 && strings.HasPrefix(fields[0], "Benchmark") {
			name, _, _ := strings.Cut(strings.TrimPrefix(fields[0], "Benchmark"), "-")
			r := rule{name: name, values: map[string]float64{}}
			for i := 2; i+1 < len(fields); i += 2 {
				if r.values[fields[i+1]], err = strconv.ParseFloat(fields[i], 64); err != nil {
					return nil, fmt.Errorf("read the output of go test -bench: %w", err)
				}
			}
			rules = append(rules, r)
		}
	}
	if len(rules) == 0 {
		return nil, errors.New("go test -bench printed no results")
	}
	say("measured the rules")
	return rules, nil
}
