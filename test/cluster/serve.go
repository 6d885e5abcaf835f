package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

var errStdinEnded = errors.New("stdin has ended")

func serveCommand(ctx context.Context, args []string) error {
	var o options
	flags := o.flagSet("serve")
	detached := flags.Bool("detached", false, "do not read stdin, run until a signal comes; \"up\" uses it")
	if err := parseAll(flags, args); err != nil {
		return err
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lines := make(chan string)
	if *detached {
		// Do not let components inherit the lock.
		syscall.CloseOnExec(inheritedLock)
	} else {
		// The end of stdin means that the client is gone, so even an unfinished start is canceled.
		go func() { cancel(readLines(ctx, os.Stdin, lines)) }()
	}
	return withCluster(ctx, o, func(ctx context.Context, c *cluster) error {
		if err := json.NewEncoder(os.Stdout).Encode(c.endpoint()); err != nil {
			return fmt.Errorf("print the endpoint of the control plane: %w", err)
		}
		return c.obey(ctx, lines)
	})
}

// endpoint describes how to connect to a running control plane.
type endpoint struct {
	Kubeconfig string `json:"kubeconfig"`
	Bin        string `json:"bin"`
	Dir        string `json:"dir"`
	AuditLog   string `json:"auditLog"`
}

// readLines sends the lines of the input to a channel. At the end of the input, it returns errStdinEnded.
func readLines(ctx context.Context, input io.Reader, lines chan<- string) error {
	scanner := bufio.NewScanner(input)
	for scanner.Scan() {
		// Clients wait for the response to each command. If a client does not wait, the end of the
		// input is detected only after its commands were executed.
		select {
		case lines <- scanner.Text():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("read stdin: %w", err)
	}
	return errStdinEnded
}

// obey executes commands, and prints a response to each, until ctx is done. It returns an error if
// a response cannot be printed.
func (c *cluster) obey(ctx context.Context, lines <-chan string) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case line := <-lines:
			answer := "ok"
			if err := c.execute(ctx, line); err != nil {
				answer = "error: " + strings.ReplaceAll(err.Error(), "\n", " ")
			}
			if _, err := fmt.Println(answer); err != nil {
				return fmt.Errorf("answer a command: %w", err)
			}
		}
	}
}

func (c *cluster) execute(ctx context.Context, line string) error {
	words := strings.Fields(line)
	if len(words) != 2 {
		return fmt.Errorf("command %q is not of the form VERB COMPONENT", line)
	}
	verb, name := words[0], words[1]
	if _, known := c.components[name]; !known {
		return fmt.Errorf("unknown component %q", name)
	}
	switch verb {
	case "stop":
		return c.supervisor.stop(ctx, name, syscall.SIGTERM)
	case "kill":
		return c.supervisor.stop(ctx, name, syscall.SIGKILL)
	case "start":
		return c.startComponent(ctx, name)
	default:
		return fmt.Errorf("unknown command %q", verb)
	}
}
