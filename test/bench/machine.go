package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// describe returns a new report that names the machine and the programs.
func (b *bench) describe(ctx context.Context) report {
	proc := must(procfs.NewDefaultFS())
	r := report{spare: spare(ctx, proc), began: time.Now()}
	server := strings.TrimSpace(b.run(ctx, "kube-apiserver", "--version"))
	program := strings.TrimPrefix(strings.TrimSpace(b.run(ctx, b.plugin, "version", "--client")), "Client Version: ")
	var memory uint64
	if bytes := must(proc.Meminfo()).MemTotalBytes; bytes != nil {
		memory = *bytes
	}
	release := must(proc.SysctlStrings("kernel.osrelease"))[0]
	r.machine = fmt.Sprintf("%s, %d cores, %.0f GiB, Linux %s %s; %s, %s, kubectl-imoocpod %s",
		processor(proc), runtime.NumCPU(), float64(memory)/(1<<30), release, runtime.GOARCH,
		server, runtime.Version(), program)
	return r
}

// spare measures the idle share of the processors over a few seconds, in percent.
func spare(ctx context.Context, proc procfs.FS) float64 {
	times := func() (idle, all float64) {
		t := must(proc.Stat()).CPUTotal
		return t.Idle + t.Iowait, t.User + t.Nice + t.System + t.Idle + t.Iowait + t.IRQ + t.SoftIRQ + t.Steal
	}
	idle, all := times()
	pause(ctx, 3*time.Second)
	idleThen, allThen := times()
	return 100 * (idleThen - idle) / (allThen - all)
}

func processor(proc procfs.FS) string {
	all, err := proc.CPUInfo()
	if err != nil || len(all) == 0 {
		return "unknown"
	}
	return cmp.Or(all[0].ModelName, "unknown")
}
