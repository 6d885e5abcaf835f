package facts

import (
	"strings"

	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/candidates"
)

// ofShards returns the number of pods in all desired shards, or nil if the number is implausible. The first
// replica count in OtherCounts is the number of pods per shard. Without a replica count, each shard has one
// pod.
func ofShards(o status.Object) *int32 {
	each := int64(1)
	for _, b := range o.OtherCounts {
		if strings.Contains(strings.ToLower(b.Path), "replica") {
			each = b.Value
			break
		}
	}
	if each < 0 || each > 1<<30 || each*int64(o.Desired) > 1<<30 {
		return nil
	}
	return new(Pods(each * int64(o.Desired)))
}

// multiplier returns the product of the fields that multiply the count, such as shards, or 1 if there are
// none.
func multiplier(content map[string]any, count string) int64 {
	times := int64(1)
	for name, value := range content {
		if n, is := fieldpath.Integer(value); is && name != count && candidates.Multiplies(name) {
			times = min(times*min(max(n, 1), 1<<30), 1<<30)
		}
	}
	return times
}

// parent returns the object that contains the last field of a path, or nil.
func parent(obj map[string]any, steps []fieldpath.Step) map[string]any {
	value, _ := fieldpath.Path{Steps: steps[:len(steps)-1]}.Value(obj)
	content, _ := value.(map[string]any)
	return content
}

// times returns the product of n, which is the value of the count at path, and the multiplier of the count.
func times(obj map[string]any, n int64, path fieldpath.Path) int64 {
	return min(max(n, -1<<31), 1<<31) * multiplier(parent(obj, path.Steps), path.Steps[len(path.Steps)-1].Name)
}

// total returns the number of pods in all groups, or nil if the number is unknown or implausible. The groups
// are the items of the list that contains the count or, without a list, the counts with the same field name.
func total(obj map[string]any, count fieldpath.Path, beside []status.OtherCount) *int32 {
	last := -1
	for i, s := range count.Steps {
		if s.Kind != fieldpath.Field {
			last = i
		}
	}
	sum, found := int64(0), false
	if last < 0 {
		name := count.Steps[len(count.Steps)-1].Name
		for _, b := range beside {
			if path, err := fieldpath.ParseSteps(b.Path); err == nil && path.Steps[len(path.Steps)-1].Name == name {
				sum += times(obj, b.Value, path)
			}
		}
		own, is, err := count.Get(obj)
		sum, found = sum+times(obj, own, count), is && err == nil
	} else {
		value, _ := fieldpath.Path{Steps: count.Steps[:last]}.Value(obj)
		for _, content := range fieldpath.Objects(value) {
			inGroup := fieldpath.Path{Steps: count.Steps[last+1:]}
			if number, is, err := inGroup.Get(content); is && err == nil {
				sum, found = sum+times(content, number, inGroup), true
			}
		}
	}
	if !found || sum < 0 || sum > 1<<30 {
		return nil
	}
	return new(Pods(sum))
}
