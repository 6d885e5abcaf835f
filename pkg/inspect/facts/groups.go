package facts

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
)

// groups returns the named groups of pods that have a count in the spec, with the numbers of ready pods from
// the status. Unnamed groups from pairs of status fields come last.
func (f Facts) groups(obj map[string]any) []status.Group {
	var all []status.Group
	reported := fieldpath.Object(obj, "status")
	parents, ambiguous := map[string]string{}, sets.New[string]() // keyed by group name
	for _, field := range candidates.Fields(f.schema, obj) {
		name, parent := candidates.GroupOf(field.Path), field.Path.Parent().String()
		if field.Value == nil || name == "" || candidates.Multiplies(field.Path.Last().Name) {
			continue
		}
		if first, known := parents[name]; known {
			if parent != first {
				ambiguous.Insert(name)
			}
			continue
		}
		parents[name] = parent
		g := status.Group{Name: name, Path: field.Path.String(), Desired: Pods(*field.Value), Pods: Pods(times(obj, *field.Value, field.Path))}
		g.Ready, g.From = readyIn(reported, name, ".status")
		all = append(all, g)
	}
	// Neither a label nor the status distinguishes groups that share a name.
	all = slices.DeleteFunc(all, func(g status.Group) bool { return ambiguous.Has(g.Name) })
	return append(all, pairs(reported)...)
}

// readyIn returns the number of ready and finished pods of a group, and the path of the object or list that reports the
// number. The object with the counts has the name of the group as its key or, in a list, as the value of any field.
func readyIn(value any, name, at string) (ready *int32, from string) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			content, _ := value[key].(map[string]any)
			if ready = readyOf(content); ready != nil && key == name {
				return ready, at + "." + key
			}
			if ready, from = readyIn(value[key], name, at+"."+key); ready != nil {
				return ready, from
			}
		}
	case []any:
		for _, content := range fieldpath.Objects(value) {
			for _, field := range content {
				if ready = readyOf(content); ready != nil && field == name {
					return ready, at
				}
			}
		}
	}
	return nil, ""
}

func readyOf(content map[string]any) *int32 {
	for _, field := range readyFields() {
		if n, is := fieldpath.Integer(content[field]); is {
			done, _ := fieldpath.Integer(content["succeeded"])
			return new(Pods(n + done))
		}
	}
	return nil
}

// pairs returns a group for each pair of status fields such as desiredWorkers and readyWorkers.
func pairs(reported map[string]any) []status.Group {
	var all []status.Group
	for _, field := range slices.Sorted(maps.Keys(reported)) {
		what, is := strings.CutPrefix(field, "desired")
		desired, integer := fieldpath.Integer(reported[field])
		if !is || !integer || what == "" {
			continue
		}
		for _, word := range []string{"ready", "available"} {
			if n, counted := fieldpath.Integer(reported[word+what]); counted {
				all = append(all, status.Group{Desired: Pods(desired), Pods: Pods(desired), Ready: new(Pods(n)), From: ".status." + word + what})
				break
			}
		}
	}
	return all
}

// bounds returns the minimum and maximum next to a count. Many controllers enforce them. A maximum of zero is no limit.
func bounds(obj map[string]any, count fieldpath.Path) []status.Bound {
	var all []status.Bound
	name, around := strings.ToLower(count.Last().Name), count.Parent().String()
	beside := parent(obj, count)
	for _, field := range slices.Sorted(maps.Keys(beside)) {
		value, is := fieldpath.Integer(beside[field])
		words := candidates.Words(field)
		of := strings.Join(words[min(1, len(words)):], "")
		if !is || of == "" || !strings.HasSuffix(name, of) {
			continue
		}
		above := slices.Contains([]string{"max", "maximum"}, words[0])
		if below := slices.Contains([]string{"min", "minimum"}, words[0]); below || above && value > 0 {
			all = append(all, status.Bound{Path: around + "." + field, Value: value, Above: above})
		}
	}
	return all
}

// ofShards returns the number of pods in all desired shards, or nil if the number is implausible. The first replica
// count in OtherCounts is the number of pods per shard. Without a replica count, each shard has one pod.
func (f Facts) ofShards(desired int32, obj map[string]any) *int32 {
	each := int64(1)
	for _, path := range f.OtherCounts {
		if n, found := wholeAt(obj, path); found && strings.Contains(strings.ToLower(path), "replica") {
			each = n
			break
		}
	}
	if each < 0 || each > 1<<30 || each*int64(desired) > 1<<30 {
		return nil
	}
	return new(Pods(each * int64(desired)))
}

// parent returns the object that contains the last field of a path, or nil.
func parent(obj map[string]any, path fieldpath.Path) map[string]any {
	value, _ := path.Parent().Value(obj)
	content, _ := value.(map[string]any)
	return content
}

// times returns n, the count at path, multiplied by the multipliers next to it, such as shards.
func times(obj map[string]any, n int64, path fieldpath.Path) int64 {
	multiplier := int64(1)
	for name, value := range parent(obj, path) {
		beside, is := fieldpath.Integer(value)
		if is && name != path.Last().Name && candidates.Multiplies(name) {
			multiplier = min(multiplier*min(max(beside, 1), 1<<30), 1<<30)
		}
	}
	return min(max(n, -1<<31), 1<<31) * multiplier
}

// total returns the number of pods in all groups, or nil if the number is unknown or implausible. The groups
// are the items of the list that contains the count or, if no list does, the counts with the same field name.
func total(obj map[string]any, count fieldpath.Path, beside []string) *int32 {
	groups, inGroup := []map[string]any{obj}, count
	for i, s := range slices.Backward(count.Steps) {
		if s.Kind != fieldpath.Field {
			list, _ := fieldpath.Path{Steps: count.Steps[:i]}.Value(obj)
			groups, inGroup, beside = fieldpath.Objects(list), fieldpath.Path{Steps: count.Steps[i+1:]}, nil
			break
		}
	}
	sum, found := int64(0), false
	for _, group := range groups {
		if n, is, err := inGroup.Get(group); is && err == nil {
			sum, found = sum+times(group, n, inGroup), true
		}
	}
	for _, other := range beside {
		if path, err := fieldpath.ParseSteps(other); err == nil && path.Last().Name == count.Last().Name {
			n, _ := wholeAt(obj, other)
			sum += times(obj, n, path)
		}
	}
	if !found || sum < 0 || sum > 1<<30 {
		return nil
	}
	return new(Pods(sum))
}
