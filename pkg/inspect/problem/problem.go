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

// Problem is one thing that keeps an object from being ready, of however many
// pods.
type Problem struct {
	Code Code `json:"code"`
	// Message is the sentence, without the pods.
	Message string `json:"message"`
	// Hint is what to do or where to look, often a command.
	Hint string `json:"hint,omitempty"`
	// Fatal says that it does not end without help.
	Fatal bool `json:"fatal"`
	// Since is when it began, as far as can be known: of a pod, when it was last
	// ready or was created.
	Since metav1.Time `json:"since,omitzero"`
	// Pods are the names of the pods that have the problem, the one that has had
	// it for longest first. None: it is the object's own problem.
	Pods []string `json:"pods,omitempty"`
	// Of is how many pods the object has.
	Of int `json:"of,omitempty"`
	// Container is the one that has the problem.
	Container string `json:"container,omitempty"`
	// LastLogLine is the last line that the container of the first pod wrote before it
	// crashed, where that was read.
	LastLogLine string `json:"lastLogLine,omitempty"`
	// Events are the last ones of the first pod, or of what has the problem.
	Events []Event `json:"events,omitempty"`
}

// Crash reports whether a container ended as it should not, so that the last line of
// its log may say why.
func (p Problem) Crash() bool {
	return len(p.Pods) > 0 && slices.Contains([]Code{CodeCrashLoop, CodeOutOfMemory, CodePodEnded}, p.Code)
}

// String is the problem in one line: "3 of 10 pods: …", "pod foo-1: …".
func (p Problem) String() string {
	switch len(p.Pods) {
	case 0:
		return p.Message
	case 1:
		return fmt.Sprintf("pod %s: %s", p.Pods[0], p.Message)
	}
	return fmt.Sprintf("%d of %d pods: %s", len(p.Pods), p.Of, p.Message)
}

// Finding is a problem of one pod, or of the object and what stands between.
type Finding struct {
	Code      Code
	Message   string // a sentence that may have several lines
	Hint      string // what to do or where to look
	Fatal     bool   // it does not end without help
	Since     time.Time
	Pod       string // empty: it is the object's own
	Container string
	Events    []corev1.Event // about what has the problem, the latest last
	// logs is the command that shows the logs of all pods of the object, and commands
	// makes hints of commands.
	logs     commandline.Command
	commands commandline.Context
}

// Fold makes one problem of the same findings on many pods. What comes first
// will not end without help, or else affects the most pods.
func Fold(findings []Finding, pods int) []Problem {
	groups := map[findingKey][]*Finding{}
	for i := range findings {
		key := findings[i].key()
		groups[key] = append(groups[key], &findings[i])
	}
	problems := []Problem{}
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
		p.Events = evidence(first.Events)
		problems = append(problems, p)
	}
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(rank(a)-rank(b), len(b.Pods)-len(a.Pods), a.Since.Compare(b.Since.Time), strings.Compare(a.String(), b.String()))
	})
	return problems
}

// rank puts what does not end without help first, and of that, what is the
// object's own. That a deadline has passed says less than any reason for it.
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

// findingKey is the same for what is folded: the same words, whatever numbers and pod are
// in them.
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

// longObject is how long an object in a message may be: shorter ones are words
// of it.
const longObject = 80

// withoutJSON cuts long JSON objects out of a message: some controllers tell the
// whole pod that they could not create.
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

// OneLine puts what a server or a container said into one line.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// CompareNames puts pods in the order of their slots: names differ in the
// number at their end, and the shorter number comes first.
func CompareNames(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) }
