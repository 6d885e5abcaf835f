package problem

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
)

// Problem is something that keeps an object, or any number of its pods, from being ready.
type Problem struct {
	Code Code `json:"code"`
	// Message describes the problem without the pods.
	Message string `json:"message"`
	// Hint is what to do or where to look, often a command.
	Hint string `json:"hint,omitempty"`
	// Fatal is set if the problem lasts until someone acts.
	Fatal bool `json:"fatal"`
	// Since is when the problem began, as far as known. For a pod, it is when the pod was last
	// ready or was created.
	Since metav1.Time `json:"since,omitzero"`
	// Pods lists the names of the affected pods, the one affected for longest first. It is empty if
	// the problem is the object's own.
	Pods []string `json:"pods,omitempty"`
	// Of is the number of pods of the object.
	Of int `json:"of,omitempty"`
	// Container is the affected container.
	Container string `json:"container,omitempty"`
	// LastLogLine is the last line that the container of the first pod wrote before it crashed, or
	// "" if the log was not read.
	LastLogLine string `json:"lastLogLine,omitempty"`
	// Events lists the latest events of the first pod or, without pods, of the affected object.
	Events []Event `json:"events,omitempty"`
}

// Crash reports whether a pod ended or a container crashed, so that the last line of a log may
// explain why.
func (p Problem) Crash() bool {
	return len(p.Pods) > 0 && slices.Contains([]Code{CodeCrashLoop, CodeOutOfMemory, CodePodEnded}, p.Code)
}

// String returns the problem in one line: "3 of 10 pods: …", "pod foo-1: …".
func (p Problem) String() string {
	switch len(p.Pods) {
	case 0:
		return p.Message
	case 1:
		return fmt.Sprintf("pod %s: %s", p.Pods[0], p.Message)
	}
	return fmt.Sprintf("%d of %d pods: %s", len(p.Pods), p.Of, p.Message)
}

// Finding is a problem of one pod, of the object, or of an object between them. Its methods set it,
// and return true if they found a problem.
type Finding struct {
	Code      Code
	Message   string // may have several lines
	Hint      string // what to do or where to look
	Fatal     bool   // lasts until someone acts
	Since     time.Time
	Pod       string // "" if the finding is about an object
	Container string
	Events    []corev1.Event // the events of the affected object, latest last
	// logs is the command that shows the logs of all pods of the object. commands formats
	// commands for hints.
	logs     commandline.Command
	commands commandline.Context
}

// Fold merges equal findings about different pods into one problem. It sorts the problems by rank,
// and problems of the same rank by the number of affected pods. pods is the number of all pods.
func Fold(findings []Finding, pods int) []Problem {
	groups := map[findingKey][]*Finding{}
	for i := range findings {
		key := findings[i].key()
		groups[key] = append(groups[key], &findings[i])
	}
	problems := []Problem{}
	shown := map[*corev1.Event][]Event{} // the evidence of each list of events, by its first event
	for _, group := range groups {
		slices.SortFunc(group, func(a, b *Finding) int {
			return cmp.Or(a.Since.Compare(b.Since), CompareNames(a.Pod, b.Pod))
		})
		first := group[0]
		p := Problem{
			Code: first.Code, Message: OneLine(first.Message), Hint: first.Hint, Container: first.Container,
			Since: metav1.NewTime(first.Since),
			Fatal: slices.ContainsFunc(group, func(f *Finding) bool { return f.Fatal }),
		}
		for _, f := range group {
			if f.Pod != "" {
				p.Pods, p.Of = append(p.Pods, f.Pod), pods
			}
		}
		if events := first.Events; len(events) > 0 {
			if shown[&events[0]] == nil {
				shown[&events[0]] = evidence(events)
			}
			p.Events = shown[&events[0]]
		}
		problems = append(problems, p)
	}
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(rank(a)-rank(b), len(b.Pods)-len(a.Pods), a.Since.Compare(b.Since.Time), strings.Compare(a.String(), b.String()))
	})
	return problems
}

// rank is lower for fatal problems, and lowest for fatal problems of the object itself. A passed
// deadline comes after all other fatal problems.
func rank(p Problem) int {
	switch {
	case !p.Fatal:
		return 3
	case p.Code == CodeDeadlineExceeded:
		return 2
	case len(p.Pods) > 0:
		return 1
	}
	return 0
}

// findingKey is the key under which findings are folded. It has no numbers and no pod names.
type findingKey struct {
	code             Code
	container, words string
	own              bool
}

func (f *Finding) key() findingKey {
	words := f.Message
	if f.Pod != "" {
		words = strings.ReplaceAll(words, f.Pod, "")
	}
	return findingKey{f.Code, f.Container, withoutDigits(words), f.Pod == ""}
}

// longObject is the length up to which a JSON object stays in a message.
const longObject = 80

// withoutJSON shortens long JSON objects in a message, because some controllers print the whole pod
// that they could not create.
func withoutJSON(s string) string {
	var b strings.Builder
	for {
		begin := strings.Index(s, `{"`)
		if begin < 0 {
			return b.String() + s
		}
		b.WriteString(s[:begin])
		s = s[begin:]
		decoder := json.NewDecoder(strings.NewReader(s))
		var object json.RawMessage
		switch err := decoder.Decode(&object); {
		case err != nil && len(s) > longObject:
			return b.String() + "{…" // it was cut off
		case err != nil:
			return b.String() + s
		case len(object) > longObject:
			b.WriteString("{…}")
		default:
			b.Write(object)
		}
		s = s[len(object):]
	}
}

// Quantity returns a number of things: "1 pod", "2 pods".
func Quantity[N int | int32](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// OneLine joins the lines of a message.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// CompareNames orders names by length, and equally long names alphabetically. This is the order of
// the slots if the names differ only in the number at their end.
func CompareNames(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) }
