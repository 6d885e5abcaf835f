package problem

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Problem is a reason why an object or some of its pods are not ready. Before Fold merges equal problems, a problem has
// at most one pod, all events of the affected object with the latest last, and a message that may have several lines.
type Problem struct {
	Code Code `json:"code"`
	// Message describes the problem. It does not name the pods.
	Message string `json:"message"`
	// Hint suggests what to do or where to look. It is often a command.
	Hint string `json:"hint,omitempty"`
	// Fatal is set if the problem is expected to last until a user intervenes.
	Fatal bool `json:"fatal"`
	// Since is when the problem began, or zero if it is unknown. For a pod, it is usually when the pod
	// stopped being ready or was created.
	Since metav1.Time `json:"since,omitzero"`
	// Pods lists the names of the affected pods. The pod that has been affected for the longest time
	// comes first. Pods is empty if the problem affects the object itself.
	Pods []string `json:"pods,omitempty"`
	// Of is the number of pods of the object.
	Of int `json:"of,omitempty"`
	// Container is the affected container.
	Container string `json:"container,omitempty"`
	// LastLogLine is the last line that the first pod's container wrote before it crashed, or "" if it was not read.
	LastLogLine string `json:"lastLogLine,omitempty"`
	// Events lists the latest events of the first pod or, if there are no pods, of the affected object.
	Events []Event `json:"events,omitempty"`
}

// Crash reports whether the problem is an ended pod or a crashed container, which the last line of a log can explain.
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

// finding is a problem that rules look for. A method that looks for a problem sets the fields of the problem, and
// returns true if it finds one.
type finding struct {
	Problem
	in Context
}

// Fold merges equal problems, and sorts them by rank and number of affected pods. pods is the number of all pods.
func Fold(found []Problem, pods int) []Problem {
	groups := map[problemKey][]Problem{}
	for _, p := range found {
		groups[p.key()] = append(groups[p.key()], p)
	}
	problems := []Problem{}
	shown := map[*Event][]Event{} // evidence, by the first event of a list
	for _, group := range groups {
		slices.SortFunc(group, func(a, b Problem) int {
			return cmp.Or(a.Since.Compare(b.Since.Time), slices.CompareFunc(a.Pods, b.Pods, CompareNames))
		})
		p := group[0]
		p.Message, p.Pods = OneLine(p.Message), nil
		for _, equal := range group {
			p.Fatal = p.Fatal || equal.Fatal
			p.Pods = append(p.Pods, equal.Pods...)
		}
		if len(p.Pods) > 0 {
			p.Of = pods
		}
		if events := p.Events; len(events) > 0 {
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

// rank returns the sort order of a problem. Fatal problems of the object come first, followed by fatal
// problems of pods, an exceeded deadline, and problems that are not fatal.
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

// problemKey identifies equal problems. words is the message without digits and without the name of the pod.
type problemKey struct {
	code             Code
	container, words string
	own              bool
}

func (p Problem) key() problemKey {
	words := p.Message
	for _, pod := range p.Pods {
		words = strings.ReplaceAll(words, pod, "")
	}
	return problemKey{p.Code, p.Container, withoutDigits(words), len(p.Pods) == 0}
}

// longObject is the maximum number of bytes of a JSON object in a message.
const longObject = 80

// withoutJSON shortens long JSON objects in a message. Some controllers print the whole pod that they could not create.
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
			return b.String() + "{…" // the message was truncated
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

// Quantity returns a number with a noun: "1 pod", "2 pods".
func Quantity[N int | int32](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Count returns the number of elements that satisfy a predicate.
func Count[T any](all []T, is func(T) bool) int32 {
	n := int32(0)
	for _, element := range all {
		if is(element) {
			n++
		}
	}
	return n
}

// Joined joins the non-empty texts with ": ".
func Joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), ": ")
}

// OneLine joins the lines of a message.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// CompareNames orders names by length, and then alphabetically, so that foo-2 comes before foo-10.
func CompareNames(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) }
