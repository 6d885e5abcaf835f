// Command screenshots runs commands in a terminal, and writes the resulting screens to SVG files
// for the README. "make screenshots" starts a control plane and runs this command:
//
//	screenshots -out DIR
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

// shot is a screenshot of a terminal after a command has exited. cols and rows are the size of the
// terminal. words is a text that must be on the screen.
type shot struct {
	name       string
	cols, rows int
	command    string
	words      string
	// first holds the commands to run before command. Commands that end in "&" continue in the background.
	first []string
}

// shots returns the screenshots. Each of them starts with the cluster state that the previous one leaves.
func shots() []shot {
	return []shot{
		{name: "status-not-reconciled", cols: 90, rows: 8, command: "kubectl imoocpod status foo", words: "hint:",
			first: []string{"kubectl imoocpod install", "kubectl imoocpod create foo --replicas 3"}},
		{name: "status-failed", cols: 120, rows: 20, command: "kubectl imoocpod status foo", words: "exceeded quota",
			first: []string{"kubectl imoocpod run-controller &", "kubectl imoocpod wait foo", "kubectl create quota few --hard=pods=47", "kubectl imoocpod scale foo --replicas 50 --timeout 2m --fail-after 1s"}},
		{name: "check", cols: 130, rows: 30, command: "kubectl imoocpod check", words: "checks failed"},
	}
}

func main() {
	out := flag.String("out", ".", "the directory to write to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *out)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string) error {
	ctx, stop := context.WithCancel(ctx)
	var behind sync.WaitGroup
	defer behind.Wait()
	defer stop()
	for _, s := range shots() {
		for _, line := range s.first {
			if line, is := strings.CutSuffix(line, " &"); is {
				cmd := shell(ctx, line)
				cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
				behind.Go(func() { _ = cmd.Run() })
				continue
			}
			// Some commands are expected to fail.
			var exit *exec.ExitError
			if text, err := shell(ctx, line).CombinedOutput(); err != nil && !errors.As(err, &exit) {
				return fmt.Errorf("%s: %w\n%s", line, err, text)
			}
		}
		screen, err := s.take(ctx)
		if err != nil {
			return fmt.Errorf("take %s: %w", s.name, err)
		}
		if err := os.WriteFile(filepath.Join(out, s.name+".svg"), []byte(picture(s, screen)), 0o644); err != nil {
			return err
		}
		fmt.Println(filepath.Join(out, s.name+".svg"))
	}
	return nil
}

func shell(ctx context.Context, line string) *exec.Cmd {
	return exec.CommandContext(ctx, "bash", "-c", "exec "+line)
}

// take runs the command, and returns the terminal after the command has exited.
func (s shot) take(ctx context.Context) (vt10x.Terminal, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := shell(ctx, s.command)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(s.cols), Rows: uint16(s.rows)}) //nolint:gosec // small numbers
	if err != nil {
		return nil, err
	}
	defer tty.Close()
	screen := vt10x.New(vt10x.WithSize(s.cols, s.rows))
	_, _ = io.Copy(screen, tty) // fails when the terminal is closed
	_ = cmd.Wait()              // some commands are expected to fail
	if !strings.Contains(screen.String(), s.words) {
		return nil, fmt.Errorf("there is no %q on the screen:\n%s", s.words, screen)
	}
	return screen, nil
}

// The sizes in pixels and the colors of an image.
const (
	charWidth, lineHeight = 8.4, 18.0
	margin                = 14.0
	background, text      = "#16181d", "#d5d8de"
	faint                 = "#7d8590"
)

// color returns the SVG color for a terminal color. Unknown colors become the default text color.
func color(c vt10x.Color) string {
	colors := map[vt10x.Color]string{1: "#ff7b72", 2: "#56d364", 3: "#e3b341", 6: "#76e3ea", 9: "#ff7b72", 10: "#56d364", 11: "#e3b341", 14: "#76e3ea"}
	if found, ok := colors[c]; ok {
		return found
	}
	return text
}

// picture draws the command and the screen below it.
func picture(s shot, screen vt10x.Terminal) string {
	lines := strings.Split(strings.TrimRight(screen.String(), " \n"), "\n")
	width := 2*margin + charWidth*float64(s.cols)
	height := 2*margin + lineHeight*float64(len(lines)+1)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f">
<rect width="100%%" height="100%%" rx="8" fill="%s"/>
<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" xml:space="preserve">
<text x="%.1f" y="%.1f" fill="%s">$ %s</text>
`, width, height, width, height, background, margin, margin+lineHeight*0.75, faint, html.EscapeString(s.command))
	for y := range lines {
		row(&b, s.cols, y, screen)
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// row draws a line of the screen, with one element for adjacent cells of the same color.
func row(b *strings.Builder, cols, y int, screen vt10x.Terminal) {
	from := 0
	for x := 1; x <= cols; x++ {
		if x < cols && screen.Cell(x, y).FG == screen.Cell(from, y).FG {
			continue
		}
		var run strings.Builder
		for at := from; at < x; at++ {
			run.WriteRune(max(screen.Cell(at, y).Char, ' '))
		}
		words := strings.TrimLeft(run.String(), " ")
		left := margin + charWidth*float64(x-len([]rune(words)))
		if words = strings.TrimRight(words, " "); words != "" {
			fmt.Fprintf(b, `<text x="%.1f" y="%.1f" fill="%s" textLength="%.1f">%s</text>`+"\n", left,
				margin+lineHeight*(float64(y)+1.75), color(screen.Cell(from, y).FG), charWidth*float64(len([]rune(words))), html.EscapeString(words))
		}
		from = x
	}
}
