package revision

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
)

// Limits of the description of a change.
const (
	maxChanges = 4
	maxValue   = 120 // runes
)

// Change describes in one line the difference between from and to, such as "image nginx:1.29 → nginx:1.30,
// env LOG=debug added". Both must have the same paths. It returns "" if both result in the same pods.
func Change(from, to []Field) string {
	if Same(from, to) {
		return ""
	}
	var all []string
	for i := range min(len(from), len(to)) {
		all = append(all, changeOf(to[i].Path, from[i].Value, to[i].Value)...)
	}
	return cmp.Or(listed(all), "changed")
}

func listed(all []string) string {
	if more := len(all) - maxChanges; more > 0 {
		all = append(all[:maxChanges], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, ", ")
}

// Summary lists the images in the fields, such as "image nginx:1.29".
func Summary(fields []Field) string {
	var all []string
	for _, f := range fields {
		if image, is := f.Value.(string); is && f.Path.Last().Name == "image" {
			all = append(all, "image "+image)
		}
		template, _ := f.Value.(map[string]any)
		for _, c := range fieldpath.Objects(fieldpath.Object(template, "spec")["containers"]) {
			if image, is := c["image"].(string); is {
				all = append(all, "image "+short(image))
			}
		}
	}
	return listed(all)
}

func changeOf(at fieldpath.Path, from, to any) []string {
	if sameValue(from, to) {
		return nil
	}
	was, wasObject := from.(map[string]any)
	is, isObject := to.(map[string]any)
	switch name := at.Last().Name; {
	case wasObject && isObject:
		return changeOfTemplate(was, is)
	case name == apis.AnnotationRestartedAt:
		return []string{"restarted"}
	case name == "env":
		return changeOfEnv("", from, to)
	default:
		return []string{changeOfValue(name, from, to)}
	}
}

func changeOfTemplate(from, to map[string]any) []string {
	was, is := fieldpath.Object(from, "spec"), fieldpath.Object(to, "spec")
	var all []string
	one := len(fieldpath.Objects(is["containers"]))+len(fieldpath.Objects(is["initContainers"])) == 1
	for _, list := range []string{"initContainers", "containers"} {
		all = append(all, changeOfContainers(was[list], is[list], one)...)
	}
	all = append(all, fieldsChanged("", was, is, "containers", "initContainers")...)
	for _, words := range []struct{ field, what string }{{"annotations", "annotation"}, {"labels", "label"}} {
		before, after := fieldpath.Object(from, "metadata", words.field), fieldpath.Object(to, "metadata", words.field)
		for _, key := range differing(before, after) {
			if key == apis.AnnotationRestartedAt {
				all = append(all, "restarted")
				continue
			}
			all = append(all, changeOfValue(words.what+" "+key, before[key], after[key]))
		}
	}
	return append(all, fieldsChanged("", from, to, "spec", "metadata")...)
}

// changeOfContainers describes changes of containers. If one is true, changed fields omit the container's name.
func changeOfContainers(from, to any, one bool) []string {
	was, is := byName(from), byName(to)
	var all []string
	for _, c := range fieldpath.Objects(from) {
		if name, _ := c["name"].(string); is[name] == nil {
			all = append(all, "container "+name+" removed")
		}
	}
	for _, c := range fieldpath.Objects(to) {
		name, _ := c["name"].(string)
		before := was[name]
		if before == nil {
			all = append(all, "container "+name+" added")
			continue
		}
		prefix := name + " "
		if one {
			prefix = ""
		}
		if !sameValue(before["image"], c["image"]) {
			all = append(all, changeOfValue(prefix+"image", before["image"], c["image"]))
		}
		all = append(all, changeOfEnv(prefix, before["env"], c["env"])...)
		all = append(all, changeOfResources(prefix, before, c)...)
		all = append(all, fieldsChanged(prefix, before, c, "image", "env", "resources")...)
	}
	return all
}

// changeOfResources describes the changes in the resources of a container, such as "cpu limit 200m → 50m".
func changeOfResources(prefix string, from, to map[string]any) []string {
	var all []string
	for _, words := range []struct{ field, what string }{{"requests", "request"}, {"limits", "limit"}} {
		was, is := fieldpath.Object(from, "resources", words.field), fieldpath.Object(to, "resources", words.field)
		for _, resource := range differing(was, is) {
			all = append(all, prefix+changeOfValue(resource+" "+words.what, was[resource], is[resource]))
		}
	}
	return append(all, fieldsChanged(prefix, fieldpath.Object(from, "resources"), fieldpath.Object(to, "resources"), "requests", "limits")...)
}

func changeOfEnv(prefix string, from, to any) []string {
	was, is := byName(from), byName(to)
	var all []string
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if is[name] == nil {
			all = append(all, prefix+"env "+name+" removed")
		}
	}
	for _, v := range fieldpath.Objects(to) {
		name, _ := v["name"].(string)
		value, plain := envValue(v)
		before, wasPlain := envValue(was[name])
		switch {
		case was[name] == nil && plain:
			all = append(all, prefix+"env "+name+"="+short(value)+" added")
		case was[name] == nil:
			all = append(all, prefix+"env "+name+" added")
		case reflect.DeepEqual(was[name], v), plain && wasPlain && value == before:
		case plain && wasPlain:
			all = append(all, prefix+changeOfValue("env "+name, before, value))
		default:
			all = append(all, prefix+"env "+name+" changed")
		}
	}
	if len(all) == 0 && !sameValue(from, to) {
		all = append(all, prefix+"env reordered")
	}
	return all
}

// envValue returns the value of a variable. plain is false if the variable has valueFrom. Servers omit an empty value.
func envValue(v map[string]any) (value string, plain bool) {
	value, plain = v["value"].(string)
	return value, plain || len(v) == 1
}

// changeOfValue describes the change of a field. It includes the values only if they are strings.
func changeOfValue(name string, from, to any) string {
	was, wasText := from.(string)
	is, isText := to.(string)
	was, is = cmp.Or(short(was), `""`), cmp.Or(short(is), `""`)
	switch {
	case wasText && isText:
		return name + " " + was + " → " + is
	case from == nil && isText:
		return name + " set to " + is
	case to == nil:
		return name + " removed"
	}
	return name + " changed"
}

func fieldsChanged(prefix string, from, to map[string]any, except ...string) []string {
	var all []string
	for _, key := range differing(from, to, except...) {
		all = append(all, prefix+key+" changed")
	}
	return all
}

func differing(a, b map[string]any, except ...string) []string {
	var names []string
	for _, key := range sets.List(sets.KeySet(a).Union(sets.KeySet(b))) {
		if !slices.Contains(except, key) && !sameValue(a[key], b[key]) && (!empty(a[key]) || !empty(b[key])) {
			names = append(names, key)
		}
	}
	return names
}

// empty reports whether a value has no effect. The server adds fields with such values.
func empty(value any) bool {
	fields, isObject := value.(map[string]any)
	list, isList := value.([]any)
	return value == nil || isObject && len(fields) == 0 || isList && len(list) == 0
}

func byName(list any) map[string]map[string]any {
	all := map[string]map[string]any{}
	for _, e := range fieldpath.Objects(list) {
		if name, is := e["name"].(string); is {
			all[name] = e
		}
	}
	return all
}

func short(text string) string {
	if runes := []rune(text); len(runes) > maxValue {
		return string(runes[:maxValue-1]) + "…"
	}
	return text
}
