// Command container is the only binary in the images that MakeImages creates. Its name
// selects one of several programs, each reduced to what the samples and tests need. The
// program act behaves as its flags describe.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

func main() {
	name, args := filepath.Base(os.Args[0]), os.Args[1:]
	if name == "busybox" && len(args) > 0 {
		name, args = args[0], args[1:]
	}
	if err := run(name, args); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func run(name string, args []string) error {
	switch name {
	case "true":
		return nil
	case "false":
		os.Exit(1)
	case "sleep":
		return sleep(args)
	case "uptime":
		if err := cat([]string{"/proc/uptime"}); err != nil {
			return err
		}
		os.Exit(1)
	case "cat":
		return cat(args)
	case "httpd":
		return act(append([]string{"-http=:80"}, args...))
	case "act":
		return act(args)
	case "pause": // keeps the namespaces of a pod alive
		ended := make(chan os.Signal, 1)
		signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
		<-ended
		return nil
	}
	return errors.New("there is no such program in this image")
}

// forever is longer than any container runs.
const forever = 1 << 62

func sleep(args []string) error {
	if len(args) != 1 {
		return errors.New("want a number of seconds")
	}
	duration := time.Duration(forever)
	if args[0] != "infinity" {
		seconds, err := strconv.ParseFloat(args[0], 64)
		if err != nil {
			return err
		}
		duration = time.Duration(seconds * float64(time.Second))
	}
	// The kernel drops signals that process 1 does not handle, such as SIGTERM for the sleep
	// command of busybox. A Go program handles SIGTERM by default, so ignore it.
	if os.Getpid() == 1 {
		signal.Ignore(syscall.SIGTERM)
	}
	time.Sleep(duration)
	return nil
}

func cat(args []string) error {
	for _, name := range args {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := os.Stdout.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// role is the behavior of a container in a test.
type role struct {
	web, tcp            string
	readyAfter, okFor   time.Duration
	exitAfter, termTime time.Duration
	exitCode            int
	ignoreTerm          bool
	eat, fill           int
	into, touch         string
	print               time.Duration
}

func act(args []string) error {
	var r role
	flags := flag.NewFlagSet("act", flag.ContinueOnError)
	flags.StringVar(&r.web, "http", "", "serve HTTP on this `address`: /ready and /live are 200 or 503, all else is 200")
	flags.StringVar(&r.tcp, "tcp", "", "accept connections on this `address`")
	flags.DurationVar(&r.readyAfter, "ready-after", 0, "from when on /ready is 200, the TCP port is open and the file is there")
	flags.DurationVar(&r.okFor, "ok-for", forever, "until when /live is 200")
	flags.DurationVar(&r.exitAfter, "exit-after", forever, "end after this time")
	flags.IntVar(&r.exitCode, "exit-code", 0, "with this code")
	flags.BoolVar(&r.ignoreTerm, "ignore-term", false, "ignore SIGTERM")
	flags.DurationVar(&r.termTime, "term-time", 0, "how long to go on after SIGTERM")
	flags.IntVar(&r.eat, "eat", 0, "take this many MiB of memory")
	flags.IntVar(&r.fill, "fill", 0, "write a file of this many MiB")
	flags.StringVar(&r.into, "into", "/tmp/big", "the `file` to write")
	flags.StringVar(&r.touch, "touch", "", "make this `file` when it is ready")
	flags.DurationVar(&r.print, "print", 0, "write a line with the time of the start and a number, at once and then every so often, and a last one at the end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return r.play()
}

func (r role) play() error {
	terminated := make(chan os.Signal, 1)
	if signal.Notify(terminated, syscall.SIGTERM, syscall.SIGINT); r.ignoreTerm {
		terminated = nil
		signal.Ignore(syscall.SIGTERM)
	}
	begin := time.Now()
	failed := make(chan error, 2)
	if r.web != "" {
		go func() { failed <- r.serve(begin) }()
	}
	go func() {
		if err := r.becomeReady(); err != nil {
			failed <- err
		}
	}()
	lastWords := r.count(begin)
	if r.fill > 0 {
		if err := os.WriteFile(r.into, make([]byte, r.fill<<20), 0o600); err != nil {
			return err
		}
	}
	memory := make([]byte, r.eat<<20)
	for i := 0; i < len(memory); i += os.Getpagesize() {
		memory[i] = 1
	}
	select {
	case err := <-failed:
		return err
	case <-terminated:
		time.Sleep(r.termTime)
		lastWords()
	case <-time.After(r.exitAfter):
		lastWords()
		os.Exit(r.exitCode)
	}
	return nil
}

// count prints a numbered line immediately, and another one every r.print. If r.print is zero, it
// prints nothing. The returned function prints a final line, and waits until it is printed.
func (r role) count(begin time.Time) (last func()) {
	if r.print == 0 {
		return func() {}
	}
	fmt.Println(begin.UnixNano(), 1)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticks := time.Tick(r.print)
		for n := 2; ; n++ {
			select {
			case <-ticks:
				fmt.Println(begin.UnixNano(), n)
			case <-stop:
				fmt.Println(begin.UnixNano(), n, "last")
				return
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
	}
}

// becomeReady waits for r.readyAfter, creates the file r.touch, and then accepts connections at
// r.tcp. It skips fields that are not set. If r.tcp is set, it returns only on an error.
func (r role) becomeReady() error {
	time.Sleep(r.readyAfter)
	if r.touch != "" {
		if err := os.WriteFile(r.touch, nil, 0o600); err != nil {
			return err
		}
	}
	if r.tcp == "" {
		return nil
	}
	listener, err := net.Listen("tcp", r.tcp)
	if err != nil {
		return err
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		_ = connection.Close() // a connection is enough for a probe
	}
}

func (r role) serve(begin time.Time) error {
	status := func(ok bool) int {
		if ok {
			return http.StatusOK
		}
		return http.StatusServiceUnavailable
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status(time.Since(begin) >= r.readyAfter)) })
	mux.HandleFunc("/live", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status(time.Since(begin) < r.okFor)) })
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "It works.\n") })
	server := http.Server{Addr: r.web, Handler: mux, ReadHeaderTimeout: time.Minute}
	return server.ListenAndServe()
}
