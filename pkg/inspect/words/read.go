package words

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// Claim is a field, usually in the status, that describes the state of an object.
type Claim struct {
	// Path is the field, such as ".status.health", and Text is its value.
	Path, Text string
	Meaning    Meaning
	// Part is set if the field describes a part of the object, such as a member.
	Part bool
}

// String returns the field and its value, or only the value if there is no path.
func (c Claim) String() string {
	if c.Path == "" {
		return c.Text
	}
	return c.Path + " is " + c.Text
}

// Sum returns the most serious claim. It ignores claims about parts if the object itself is done, or is working,
// because a working object might retry failed parts.
func Sum(all []Claim) Claim {
	var own, parts Claim
	for _, c := range all {
		if c.Part && c.Meaning > parts.Meaning {
			parts = c
		} else if !c.Part && c.Meaning > own.Meaning {
			own = c
		}
	}
	if own.Meaning == Done || own.Meaning == Working || own.Meaning >= parts.Meaning {
		return own
	}
	return parts
}

// Read returns the claims in the status of an object, and in labels that report a fault. From .status.conditions, it
// reads only whether an object that runs to completion is running. From .status.active, it reads the running pods of a Job.
func Read(kind string, obj map[string]any) []Claim {
	r := reader{ends: ends(kind)}
	r.generation, _ = fieldpath.Integer(fieldpath.Object(obj, "metadata")["generation"])
	r.object(".status", fieldpath.Object(obj, "status"), place{})
	for _, c := range Conditions(fieldpath.Object(obj, "status")["conditions"]) {
		if r.ends && c.Status == metav1.ConditionTrue && strings.HasSuffix(c.Type, "Running") && Condition(c) == Ready {
			r.add("", "its condition "+c.Type+" is True", Working, place{})
		}
	}
	if n, _ := fieldpath.Integer(fieldpath.Object(obj, "status")["active"]); r.ends && n > 0 {
		r.add(".status.active", strconv.FormatInt(n, 10), Working, place{}) // a Job
	}
	labels := fieldpath.Object(obj, "metadata", "labels")
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if value, is := labels[name].(string); is && Of(value) >= Broken && isState(name) {
			r.add(".metadata.labels["+name+"]", value, Of(value), place{})
		}
	}
	// A claim with a shorter path comes first, because it describes more of the object.
	slices.SortStableFunc(r.all, func(a, b Claim) int { return strings.Count(a.Path, ".") - strings.Count(b.Path, ".") })
	return r.all
}

// ends reports whether a kind's objects run to completion, judging by its name. They are not ready while they run.
func ends(kind string) bool {
	return slices.Contains([]string{"ActionSet", "BackupSession", "RestoreSession"}, kind) || among(lastOf(Split(kind)),
		"run", "job", "workflow", "experiment", "build", "backup", "restore", "task", "test", "migration", "operation",
		"execution", "import", "export", "upgrade", "request", "promotion")
}

type reader struct {
	ends       bool
	generation int64
	all        []Claim
}

// place describes the position of a field.
type place struct {
	depth  int
	part   bool // inside a list or a map of parts
	listed bool // inside a list
}

// These limits bound the work for any status. An object in the status is read only if it is less than deepest levels
// below .status, its path has at most longestPath bytes, and at most mostClaims claims have been found.
const (
	deepest     = 6
	longestPath = 1024
	mostClaims  = 1000
)

func (r *reader) object(path string, content map[string]any, at place) {
	if at.depth >= deepest || len(path) > longestPath || len(r.all) > mostClaims {
		return
	}
	over := false // an error beside a state such as UpscaleSucceeded is an old one
	for name, value := range content {
		state, _ := value.(string)
		over = over || !r.ends && isState(name) && !remote(Split(name)) && worst(Split(state)) == Done
	}
	for _, name := range slices.Sorted(maps.Keys(content)) {
		if !remote(Split(name)) && (at.depth > 0 || name != "conditions") && (!over || !fault(name)) {
			r.field(path+"."+name, name, content[name], at)
		}
	}
	r.counts(path, content, at)
}

func (r *reader) field(path, name string, value any, at place) {
	below := at
	below.depth++
	switch value := value.(type) {
	case map[string]any:
		if fault(name) && slices.ContainsFunc(slices.Collect(maps.Values(value)), said) {
			r.add(path, "set", Broken, at)
			return
		}
		below.part = at.part || strings.HasSuffix(name, "s") && !isState(name)
		r.object(path, value, below)
	case []any:
		if name == "conditions" {
			r.conditions(path, value)
			return
		}
		below.part, below.listed = true, true
		for i, item := range value {
			if content, is := item.(map[string]any); is {
				r.object(path+"["+strconv.Itoa(i)+"]", content, below)
			}
		}
	case bool:
		r.flag(path, name, value, at)
	case string:
		r.text(path, name, value, at)
	}
}

func (r *reader) text(path, name, value string, at place) {
	switch meaning := Of(value); {
	case value == "", fault(name) && !said(value):
	case fault(name):
		r.add(path, value, Broken, at)
	case strings.EqualFold(value, "true"), strings.EqualFold(value, "false"):
		r.flag(path, name, strings.EqualFold(value, "true"), at)
	case !isState(name):
		r.ratio(path, name, value, at)
	case (r.ends || strings.HasSuffix(path, ".operationState."+name)) && strings.EqualFold(value, "running"):
		r.add(path, value, Working, at)
	case at.part && strings.EqualFold(value, "unknown"):
	case meaning == Done && len(Split(name)) > 1:
		r.add(path, value, Ready, at)
	default:
		r.add(path, value, meaning, at)
	}
}

// ratio adds a claim about a field with two counts, such as "2/3".
func (r *reader) ratio(path, name, value string, at place) {
	if !among(Split(name), "ready", "available", "replicas", "pods", "instances", "members", "nodes") {
		return
	}
	before, after, _ := strings.Cut(value, "/")
	ready, err := strconv.ParseInt(before, 10, 64)
	all, failed := strconv.ParseInt(after, 10, 64)
	if err == nil && failed == nil {
		r.compare(path, value, ready, all, at)
	}
}

// counts adds claims about pairs of counts such as readyMembers and members. It ignores amounts such as bytesAvailable.
func (r *reader) counts(path string, content map[string]any, at place) {
	totals := map[string][]string{} // from names without words such as "total" to full names
	for _, name := range slices.Sorted(maps.Keys(content)) {
		key := strings.Join(without(Split(name), "desired", "expected", "total", "number", "scheduled"), " ")
		if _, is := fieldpath.Integer(content[name]); is && len(totals[key]) < mostTotals {
			totals[key] = append(totals[key], name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(content)) {
		ready, is := fieldpath.Integer(content[name])
		words := Split(name)
		of := without(words, "ready", "available", "number")
		amount := among(lastOf(of), "bytes", "storage", "capacity", "memory", "space", "ips", "ps") // Split turns IPs into "i" and "ps"
		if !is || len(of) == len(words) || amount {
			continue
		}
		others := totals[strings.Join(of, " ")]
		if len(of) == 0 {
			others = slices.Concat(others, totals["size"], totals["replicas"], totals["members"], totals["instances"], totals["nodes"])
		}
		for _, other := range others {
			if all, _ := fieldpath.Integer(content[other]); other != name {
				r.compare(path+"."+name, strconv.FormatInt(ready, 10)+" of "+strconv.FormatInt(all, 10), ready, all, at)
			}
		}
	}
}

// mostTotals is the maximum number of totals for one count. Anyone who can write a status can add fields.
const mostTotals = 10

func without(words []string, drop ...string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(drop, w) })
}

// compare adds a claim about two counts of parts. It ignores a total of zero.
func (r *reader) compare(path, text string, ready, all int64, at place) {
	at.part = true
	switch {
	case ready < all:
		r.add(path, text, Working, at)
	case all > 0:
		r.add(path, text, Ready, at)
	}
}

// conditions adds the conditions of a part. A condition of an older generation means Working.
func (r *reader) conditions(path string, list []any) {
	for _, item := range list {
		content, _ := item.(map[string]any)
		seen, tracked := fieldpath.Integer(content["observedGeneration"])
		for _, c := range Conditions([]any{item}) {
			meaning := Condition(c)
			if tracked && seen < r.generation {
				meaning = Working
			}
			r.add(path, c.Type+"="+string(c.Status), meaning, place{part: true})
		}
	}
}

// flag adds a claim about a boolean field. The field has the meaning of a condition with its name.
func (r *reader) flag(path, name string, value bool, at place) {
	status := metav1.ConditionFalse
	if value {
		status = metav1.ConditionTrue
	}
	r.add(path, strconv.FormatBool(value), Condition(metav1.Condition{Type: name, Status: status}), at)
}

// add adds a claim with a meaning. It ignores a ready or done member of a list, because other members may be missing.
func (r *reader) add(path, text string, meaning Meaning, at place) {
	if meaning > Nothing && (!at.listed || meaning > Done) {
		r.all = append(r.all, Claim{path, text, meaning, at.part})
	}
}

// isState reports whether a field with this name contains a state.
func isState(name string) bool {
	return among(lastOf(Split(name)), "phase", "state", "status", "health", "compliant", "compliance", "result", "outcome",
		"stage", "condition", "robustness")
}

// fault reports whether a field with this name is set only after a fault.
func fault(name string) bool {
	words := Split(name)
	return len(words) > 0 && slices.Contains([]string{"error", "errors", "failure"}, words[0]) &&
		(len(words) == 1 || slices.Contains([]string{"message", "description", "reason", "msg"}, words[1]))
}

// said reports whether the value of a field such as "error" names a fault.
func said(value any) bool {
	none := []string{"", "0", "<nil>", "map[]", "[]", "false", "none", "nil", "null", "n/a", "ok", "no error", "no errors"}
	return !slices.Contains(none, strings.ToLower(fmt.Sprint(value)))
}

// remote reports whether the words of a name refer to a past or desired state.
func remote(words []string) bool {
	return among(words, "history", "transition", "transitions", "last", "previous", "prior", "old", "measurements",
		"events", "desired", "target", "expected", "wanted", "template", "initial", "spec")
}
