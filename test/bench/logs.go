package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// follower is a command line that follows the logs of all pods of an object.
type follower struct {
	name string
	line []string
}

// followed is the measured cost of following logs.
type followed struct {
	took, cpu time.Duration
	peak      uint64 // bytes
}

// measureLogs compares kubectl, stern, and this program at following the same
// logs, and prints the results. The logs come from a small server, so that the API
// server does not dominate the measurement.
func measureLogs(ctx context.Context, plugin, stern string, quick bool) error {
	pods, lines, rounds := 10, 100_000, 5
	if quick {
		pods, lines, rounds = 3, 100, 1
	}
	scratch, err := os.MkdirTemp("", "imoocpod-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	server := startLogServer(pods, lines)
	defer server.Close()
	kubeconfig := filepath.Join(scratch, "kubeconfig")
	config := clientcmdapi.NewConfig()
	config.Clusters["logs"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["logs"] = &clientcmdapi.Context{Cluster: "logs", Namespace: "default"}
	config.CurrentContext = "logs"
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		return err
	}
	most := fmt.Sprint("--max-log-requests=", pods)
	all := []follower{
		{"kubectl imoocpod logs -f", []string{plugin, "logs", "foo", "-f", "--tail=-1", most}},
		{"kubectl logs -f", []string{"kubectl", "logs", "-f", "-l", "app=foo", "--tail=-1", "--prefix", most}},
		{"stern", []string{stern, "-l", "app=foo", "--tail=-1", "--color=never", most}},
	}
	came := make([][]followed, len(all))
	for round := range rounds + 1 {
		for i, f := range all {
			one, err := f.follow(ctx, kubeconfig, scratch, pods*lines)
			if err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			if round > 0 { // the first round fills caches
				came[i] = append(came[i], one)
			}
		}
	}
	fmt.Printf("%d pods, %d lines of %d bytes each, the median (and the range) of %d runs:\n\n", pods, lines, len(logLine(0)), rounds)
	fmt.Println("| | lines per second | processor time | peak memory |\n| --- | --- | --- | --- |")
	for i, f := range all {
		fmt.Printf("| `%s` | %s | %s s | %s MiB |\n", f.name,
			figures(came[i], "%.0f", func(one followed) float64 { return float64(pods*lines) / one.took.Seconds() }),
			figures(came[i], "%.1f", func(one followed) float64 { return one.cpu.Seconds() }),
			figures(came[i], "%.0f", func(one followed) float64 { return float64(one.peak) / (1 << 20) }))
	}
	return nil
}

// figures returns the median and the range of a figure.
func figures(all []followed, format string, figure func(followed) float64) string {
	var values []float64
	for _, one := range all {
		values = append(values, figure(one))
	}
	return spreadOf(values).text(format)
}

// follow runs the command until it has printed a number of lines.
func (f follower) follow(ctx context.Context, kubeconfig, scratch string, lines int) (followed, error) {
	cmd := exec.CommandContext(ctx, f.line[0], f.line[1:]...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "KUBECACHEDIR="+filepath.Join(scratch, "cache"), "HOME="+scratch)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return followed{}, err
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return followed{}, err
	}
	from := bufio.NewReaderSize(out, 1<<20)
	for n := range lines {
		if _, err := from.ReadSlice('\n'); err != nil {
			return followed{}, errors.Join(fmt.Errorf("after %d lines: %w: %s", n, err, said.String()), cmd.Wait())
		}
	}
	one := followed{took: time.Since(begun)}
	used, err := (&process{cmd: cmd}).usage()
	if err != nil {
		return one, err
	}
	one.cpu, one.peak = time.Duration(used.cpu*float64(time.Second)), used.peak
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		return one, err
	}
	_ = cmd.Wait() // killed
	return one, nil
}
