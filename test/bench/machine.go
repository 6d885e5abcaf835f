package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// machine describes the machine and the measured programs.
type machine struct {
	processor string
	cores     int
	memory    uint64 // bytes
	system    string
	goVersion string
	server    string // version of Kubernetes
	program   string // version of the plugin
	binary    int64  // bytes
	// spare is the idle share of the processors before the measurement, in percent.
	spare float64
}

// describe describes the machine and the programs.
func (b *bench) describe(ctx context.Context) (machine, error) {
	m := machine{cores: runtime.NumCPU(), goVersion: runtime.Version(), processor: processor()}
	info, err := os.Stat(b.plugin)
	if err != nil {
		return m, fmt.Errorf("stat the program: %w", err)
	}
	m.binary = info.Size()
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return m, err
	}
	memory, err := proc.Meminfo()
	if err != nil {
		return m, err
	}
	if memory.MemTotalBytes != nil {
		m.memory = *memory.MemTotalBytes
	}
	if m.spare, err = spare(ctx, proc); err != nil {
		return m, err
	}
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return m, err
	}
	m.system = "Linux " + strings.TrimSpace(string(release)) + " " + runtime.GOARCH
	for line, version := range map[string]*string{"kube-apiserver --version": &m.server, b.plugin + " version --client": &m.program} {
		words := strings.Fields(line)
		out, err := exec.CommandContext(ctx, words[0], words[1:]...).Output()
		if err != nil {
			return m, fmt.Errorf("%s: %w", line, err)
		}
		*version = strings.TrimSpace(string(out))
	}
	return m, nil
}

// spare measures the idle share of the processors for a few seconds, in percent.
func spare(ctx context.Context, proc procfs.FS) (float64, error) {
	times := func() (idle, all float64, err error) {
		stat, err := proc.Stat()
		t := stat.CPUTotal
		return t.Idle + t.Iowait, t.User + t.Nice + t.System + t.Idle + t.Iowait + t.IRQ + t.SoftIRQ + t.Steal, err
	}
	idle, all, err := times()
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, 3*time.Second); err != nil {
		return 0, err
	}
	idleThen, allThen, err := times()
	return 100 * (idleThen - idle) / (allThen - all), err
}

// processor returns the model of the first processor, or "unknown".
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, found := strings.CutPrefix(lines.Text(), "model name\t: "); found {
			return name
		}
	}
	return "unknown"
}
