package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
	"github.com/imoocpod/kubectl-imoocpod/test/apiserver/play"
	"github.com/imoocpod/kubectl-imoocpod/test/bubble"
)

var update = flag.Bool("update", false, "write what the commands of the transcripts do into testdata")

// TestTranscripts runs the commands of each file in testdata against an in-memory server, and compares
// their output and their changes with the file. "go test -update" rewrites the files, for review.
//
// A line that begins with "$ " is a command. " > " redirects its standard output to a file. After a command come
// its requests ("> ", only after the directive "% requests"), the changes of objects ("~ "), standard output
// ("| "), standard error ("! "), and the exit code if it is not 0. A line that begins with "% " is a directive of
// stage.direct. All other lines are comments.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no transcripts in testdata")
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			bubble.Test(t, func(t *testing.T) { got = perform(t, string(text)) })
			if got == string(text) {
				return
			}
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("%s\nif the new output is intended, run: go test ./cmd/kubectl-imoocpod -run TestTranscripts -update", difference(string(text), got))
		})
	}
}

// difference shows where two texts first differ.
func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	i, command := 0, ""
	for ; i < min(len(a), len(b)) && a[i] == b[i]; i++ {
		if strings.HasPrefix(a[i], "$ ") {
			command = a[i]
		}
	}
	return fmt.Sprintf("line %d, after %q:\ngot\n%.1000s\nwant\n%.1000s", i+1, command, strings.Join(b[i:min(i+8, len(b))], "\n"), strings.Join(a[i:min(i+8, len(a))], "\n"))
}

// stage holds the server and the state of a running transcript.
type stage struct {
	*apiserver.Server
	t   *testing.T
	dir string
	// shown is the argument of the directive "requests".
	shown string

	// background is the context of the running controllers.
	background  context.Context //nolint:containedctx // ends with the test
	controllers sync.WaitGroup

	mu sync.Mutex
	// interrupt ends the running command.
	interrupt context.CancelFunc
	// now contains the fields of each object. If an object has changed since the last call of the method changes,
	// last contains the fields that the object had at that call.
	now, last map[string]map[string]any
}

func newStage(t *testing.T) *stage {
	s := &stage{Server: apiserver.New(t), t: t, dir: t.TempDir(), now: map[string]map[string]any{}, last: map[string]map[string]any{}}
	s.OnWrite(s.note)
	s.CreateCRDs()
	s.changes()
	return s
}

// perform runs the commands of a transcript, and returns the transcript with the new results.
func perform(t *testing.T, text string) string {
	t.Helper()
	s := newStage(t)
	ctx, stop := context.WithCancel(t.Context())
	s.background = ctx
	defer func() {
		stop()
		s.controllers.Wait()
	}()
	var b strings.Builder
	for line := range strings.Lines(text) {
		switch line = strings.TrimSuffix(line, "\n"); {
		case strings.HasPrefix(line, "$ "):
			b.WriteString(line + "\n" + s.run(line[2:]))
		case strings.HasPrefix(line, "% "):
			b.WriteString(line + "\n")
			s.follow(line)
		case strings.HasPrefix(line, "exit code "), line != "" && strings.Contains(">~|!", line[:1]):
			// a result of an earlier run
		default:
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func (s *stage) follow(line string) {
	word, rest, _ := strings.Cut(line[2:], " ")
	if err := s.direct(word, rest); err != nil {
		s.t.Errorf("directive %q: %v", line, err)
	}
	s.changes()
}

// direct executes a directive:
//
//	crds NAME...              installs CRDs from test/e2e/testdata/crds
//	create YAML               creates an object
//	file NAME YAML            writes DIR/NAME
//	play [IMAGE]              starts simulated controllers; IMAGE decides how all pods behave
//	operator TYPE KIND        starts a simulated controller of a kind
//	controller [ARG...]       starts "run-controller", which runs until the end of the transcript
//	pass DURATION             lets time pass
//	busy VERBS TYPE           rejects the next matching request with code 503
//	slow DURATION PREFIX      delays all requests whose path begins with PREFIX
//	forbid USER VERBS TYPE... takes permissions from USER; "anyone" means all users
//	permit                    restores all permissions
//	set TYPE NAME PATH YAML   changes a field as another client
//	delete TYPE NAME          deletes an object immediately
//	in DURATION DIRECTIVE     executes DIRECTIVE after DURATION, during a later command
//	interrupt                 interrupts the running command, like Ctrl-C
//	requests PART             shows the requests for objects whose path contains PART, from the next command on
func (s *stage) direct(word, rest string) error {
	args := strings.Fields(rest)
	switch word {
	case "crds":
		for _, name := range args {
			text, err := os.ReadFile("../../test/e2e/testdata/crds/" + name + ".yaml")
			if err != nil {
				return err
			}
			s.CreateYAML(string(text))
		}
	case "create":
		s.CreateYAML(rest)
	case "file":
		return os.WriteFile(filepath.Join(s.dir, args[0]), []byte(rest[len(args[0]):]), 0o600)
	case "play":
		if s.Get("nodes", "", "node-1") == nil {
			play.Cluster(s.Server)
			play.Operator(s.Server, "imoocpods", "ImoocPod")
		}
		play.SetFate(s.Server, rest)
	case "operator":
		play.Operator(s.Server, args[0], args[1])
	case "controller":
		if s.Get("nodes", "", "node-1") == nil {
			play.Cluster(s.Server)
		}
		s.controllers.Go(func() {
			if result := runOn(s.background, s.Server, "run-controller "+rest); result.code != exitDone {
				s.t.Errorf("run-controller failed: %+v", result)
			}
		})
	case "pass":
		d, err := time.ParseDuration(rest)
		if err != nil {
			return err
		}
		<-time.After(d)
		synctest.Wait()
	case "busy":
		s.Fail(apiserver.On(args[0], args[1]), apiserver.Fault{Err: apierrors.NewServiceUnavailable("busy"), Times: 1})
	case "slow":
		d, err := time.ParseDuration(args[0])
		s.Fail(apiserver.Path(args[1]), apiserver.Fault{Delay: d})
		return err
	case "forbid":
		for _, resource := range args[2:] {
			match := apiserver.On(args[1], resource)
			s.Forbid(func(r apiserver.Request) bool { return (r.User == args[0] || args[0] == "anyone") && match(r) })
		}
	case "permit":
		s.Permit()
	case "set":
		var value any
		if err := yaml.Unmarshal([]byte(strings.Join(args[3:], " ")), &value); err != nil {
			return err
		}
		if n, is := value.(float64); is {
			value = int64(n)
		}
		namespace := metav1.NamespaceDefault
		if s.Get(args[0], namespace, args[1]) == nil {
			namespace = ""
		}
		var err error
		if s.As("rival").Update(args[0], namespace, args[1], func(obj *unstructured.Unstructured) {
			err = unstructured.SetNestedField(obj.Object, value, strings.Split(args[2], ".")...)
		}) == nil {
			err = errors.New("no such object")
		}
		return err
	case "delete":
		s.Remove(args[0], "default", args[1])
	case "in":
		d, err := time.ParseDuration(args[0])
		s.After(d, func() {
			if err := s.direct(args[1], strings.Join(args[2:], " ")); err != nil {
				s.t.Errorf("directive %q: %v", rest, err)
			}
		})
		return err
	case "interrupt":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.interrupt()
	case "requests":
		s.shown = rest
	default:
		return errors.New("unknown directive")
	}
	return nil
}

// run runs a command, and returns the lines that follow it in the transcript.
func (s *stage) run(line string) string {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Hour)
	defer cancel()
	s.mu.Lock()
	s.interrupt = cancel
	s.mu.Unlock()
	s.Forget()
	command, file, redirected := strings.Cut(strings.ReplaceAll(line, "DIR", s.dir), " > ")
	result := runOn(ctx, s.Server, command)
	if redirected {
		if err := os.WriteFile(file, []byte(result.stdout), 0o600); err != nil {
			s.t.Error(err)
		}
		result.stdout = ""
	}
	checkHints(s.t, strings.Fields(line), result.stdout+"\n"+result.stderr)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		s.t.Errorf("%s: still running after an hour", line)
	}
	var b strings.Builder
	for _, request := range s.sent() {
		b.WriteString("> " + request + "\n")
	}
	for _, change := range s.changes() {
		fmt.Fprintf(&b, "~ %.600s\n", change) // a CRD can have 70,000 characters
	}
	mark := func(sign, text string) {
		for line := range strings.Lines(strings.ReplaceAll(text, s.dir, "DIR")) {
			if !strings.HasPrefix(line, "Completion ended with directive: ") {
				b.WriteString(strings.TrimRight(sign+" "+line, " \n") + "\n")
			}
		}
	}
	mark("|", result.stdout)
	if at := strings.IndexFunc(result.stdout+result.stderr, func(r rune) bool { return !unicode.IsGraphic(r) && r != '\t' && r != '\n' }); at >= 0 {
		s.t.Errorf("%s prints a control character: %.20q", line, (result.stdout + result.stderr)[at:])
	}
	stderr, usage := strings.CutSuffix(result.stderr, " --help' for usage.\n")
	if usage {
		stderr = stderr[:strings.LastIndex(stderr, "\n")+1]
	}
	if usage != (result.code == exitUsage) {
		s.t.Errorf("%s: exit code %d, stderr %q: a usage error, and no other error, must refer to the help", line, result.code, result.stderr)
	}
	mark("!", stderr)
	if result.code != exitDone {
		fmt.Fprintln(&b, "exit code", result.code)
	}
	return b.String()
}

// sent returns the last command's requests that the directive "requests" selects. Commands send reads in
// parallel, so the reads between two writes are sorted.
func (s *stage) sent() []string {
	if s.shown == "" {
		return nil
	}
	var all []string
	begin := 0
	for _, r := range s.Requests(func(r apiserver.Request) bool { return r.Resource != "" && strings.Contains(r.Path, s.shown) }) {
		all = append(all, r.Verb+" "+r.Path)
		if r.Method != http.MethodGet {
			slices.Sort(all[begin : len(all)-1])
			begin = len(all)
		}
	}
	slices.Sort(all[begin:])
	return all
}

// note records the fields of a changed object. It ignores what controllers write: objects that have a
// controller, events, leases, and the revision annotation.
func (s *stage) note(c apiserver.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	obj := c.Object()
	if c.Resource.Resource == "events" || c.Resource.Resource == "leases" {
		return
	}
	key := c.Resource.Resource + "/" + obj.GetName()
	if _, changed := s.last[key]; !changed {
		s.last[key] = s.now[key]
	}
	if metav1.GetControllerOf(obj) != nil || c.After == nil {
		delete(s.now, key)
		return
	}
	annotations := maps.Clone(obj.GetAnnotations())
	delete(annotations, "deployment.kubernetes.io/revision")
	s.now[key] = map[string]any{
		"spec": obj.Object["spec"], "labels": obj.GetLabels(), "annotations": annotations, "finalizers": obj.GetFinalizers(),
		"ownerReferences": obj.GetOwnerReferences(),
	}
}

// changes returns the changes of objects since its last call, sorted.
func (s *stage) changes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for key, last := range s.last {
		switch now := s.now[key]; {
		case now == nil && last != nil:
			list = append(list, key+" deleted")
		case now != nil && last == nil:
			list = append(list, key+" created "+inJSON(now["spec"]))
		default:
			compare(key+" ", normal(last), normal(now), &list)
		}
	}
	clear(s.last)
	slices.Sort(list)
	return list
}

// normal returns a value after a round trip through JSON.
func normal(value any) (decoded any) {
	if err := json.Unmarshal([]byte(inJSON(value)), &decoded); err != nil {
		panic(err)
	}
	return decoded
}

func inJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// compare appends the differences between two values to a list.
func compare(path string, before, after any, list *[]string) {
	if a, is := before.(map[string]any); is {
		if b, is := after.(map[string]any); is {
			both := maps.Clone(a)
			maps.Copy(both, b)
			for name := range both {
				compare(path+"."+name, a[name], b[name], list)
			}
			return
		}
	}
	if a, is := before.([]any); is {
		if b, is := after.([]any); is && len(a) == len(b) {
			for i := range a {
				compare(fmt.Sprintf("%s[%d]", path, i), a[i], b[i], list)
			}
			return
		}
	}
	if !reflect.DeepEqual(before, after) {
		*list = append(*list, fmt.Sprintf("%s: %s → %s", path, inJSON(before), inJSON(after)))
	}
}
