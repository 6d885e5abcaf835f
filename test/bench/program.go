package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// measureProgram measures the size of the program. It also runs the Go benchmarks, which measure
// the heap that a cached pod uses.
func (b *bench) measureProgram(ctx context.Context) []goal {
	cmd := b.command(ctx, "go", "test", "-run", "^$", "-bench", ".", "-benchmem",
		"-benchtime", sized(b, "0.2s", "1x"), "-p", "1", "./pkg/inspect/status", "./pkg/controller/...")
	cmd.Dir = b.source
	out, err := cmd.CombinedOutput()
	if err != nil {
		check(fmt.Errorf("go test -bench: %w\n%s", err, out))
	}
	heap := 0.0 // bytes
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		for i, unit := range fields {
			if strings.HasPrefix(line, "Benchmark") && unit == "B/pod" {
				heap = max(heap, must(strconv.ParseFloat(fields[i-1], 64)))
			}
		}
	}
	if heap == 0 {
		check(errors.New("go test -bench did not measure the heap of a pod"))
	}
	size := float64(must(os.Stat(b.plugin)).Size()) / 1e6
	return []goal{
		{what: "heap of a cached pod", wanted: "≤ 1.2 kB", measured: fmt.Sprintf("%.2f kB", heap/1000), held: heap <= 1200},
		{what: "the stripped program", wanted: "≤ 62 MB", measured: fmt.Sprintf("%.1f MB", size), held: size <= 62},
	}
}
