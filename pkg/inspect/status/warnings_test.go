package status

import (
	"slices"
	"strconv"
	"testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/budget"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/competing"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	r := Report{
		Replicas: Replicas{Desired: 4},
		Reverts:  []competing.Writer{{By: "Set/web", Message: "Set/web controls it"}},
		object:   Object{Counts: Counts{Bounds: []Bound{{Path: ".spec.minSize", Value: 2}, {Path: ".spec.maxSize", Value: 6, Above: true}}}},
		Budgets:  []budget.Budget{{Name: "three", MinAvailable: "3"}, {Name: "half", MinAvailable: "50%"}, {Name: "most", MaxUnavailable: "1"}},
	}
	few := "PodDisruptionBudget/three requires at least 3 available pods, and only 2 would be left"
	for count, want := range map[int32][]string{
		7: {"Set/web controls it", "its controller may not use a count of 7: .spec.maxSize is 6"},
		6: {"Set/web controls it"},
		1: {"Set/web controls it", "its controller may not use a count of 1: .spec.minSize is 2", "PodDisruptionBudget/three requires at least 3 available pods, and only 1 would be left"},
		5: {"Set/web controls it"},
		3: {"Set/web controls it"},
		2: {"Set/web controls it", few},
	} {
		if got := r.Warnings(count); !slices.Equal(got, want) {
			t.Errorf("Warnings(%d) = %q, want %q", count, got, want)
		}
	}
	r.Replicas.Desired, r.Reverts = 2, nil
	if got := r.Warnings(2); got != nil {
		t.Errorf("Warnings(2) for an unchanged count of 2 = %q, want none", got)
	}
	r.Replicas.Desired = 1
	if got := r.Warnings(2); got != nil {
		t.Errorf("Warnings(2) when scaling up from 1 = %q, want none", got)
	}
}

// Warnings compares a budget with the pods of all groups, and takes into account that a shard has several pods.
func TestWarningsOfGroupsAndShards(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what           string
		object         Object
		desired, count int32
		active         int32
		least, removed int32
		warns          bool
	}{
		{"one of two groups", Object{Counts: Counts{Several: true}}, 3, 2, 8, 4, 1, false},
		{"too few of both groups", Object{Counts: Counts{Several: true}}, 3, 2, 8, 8, 1, true},
		{"a budget for another object, too", Object{}, 2, 1, 4, 3, 1, false},
		{"a shard of five pods", Object{Counts: Counts{Unit: "shard"}}, 3, 2, 15, 12, 5, true},
		{"enough pods in two shards", Object{Counts: Counts{Unit: "shard"}}, 3, 2, 15, 10, 5, false},
	} {
		budgets := []budget.Budget{{Name: "b", MinAvailable: strconv.Itoa(int(test.least)), Pods: test.active}}
		r := Report{object: test.object, Replicas: Replicas{Desired: test.desired, Current: test.desired}, Pods: make([]problem.Pod, test.active), Budgets: budgets}
		if got := r.Removes(test.desired, test.count); got != test.removed {
			t.Errorf("%s: %d pods are removed, want %d", test.what, got, test.removed)
		}
		if got := r.Warnings(test.count); len(got) > 0 != test.warns {
			t.Errorf("%s: warnings %q, want any: %t", test.what, got, test.warns)
		}
	}
}

// A scale-down breaks a budget if fewer healthy pods are left than the budget requires.
func TestBrokenBudget(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		budget budget.Budget
		going  int32
		want   string
	}{
		{"enough left", budget.Budget{Name: "b", MinAvailable: "3", Healthy: 5, Pods: 5}, 2, ""},
		{"one too few", budget.Budget{Name: "b", MinAvailable: "3", Healthy: 5, Pods: 5}, 3, "PodDisruptionBudget/b requires 3 available pods, and 2 would be left"},
		{"some unhealthy", budget.Budget{Name: "b", MinAvailable: "3", Healthy: 3, Pods: 5}, 1, "PodDisruptionBudget/b requires 3 available pods, and 2 would be left"},
		{"single pod", budget.Budget{Name: "b", MinAvailable: "1", Healthy: 1, Pods: 1}, 1, "PodDisruptionBudget/b requires 1 available pod, and 0 would be left"},
		{"80%, one pod left", budget.Budget{Name: "b", MinAvailable: "80%", Healthy: 10, Pods: 10}, 9, ""},
		{"80%, no pod left", budget.Budget{Name: "b", MinAvailable: "80%", Healthy: 10, Pods: 10}, 10, ""},
		{"80%, some unhealthy", budget.Budget{Name: "b", MinAvailable: "80%", Healthy: 8, Pods: 10}, 5, "PodDisruptionBudget/b requires 4 available pods, and 3 would be left"},
		{"maxUnavailable, all healthy", budget.Budget{Name: "b", MaxUnavailable: "1", Healthy: 10, Pods: 10}, 9, ""},
		{"broken before", budget.Budget{Name: "b", MaxUnavailable: "1", Healthy: 8, Pods: 10}, 2, "PodDisruptionBudget/b requires 7 available pods, and 6 would be left"},
		{"maxUnavailable as a percentage", budget.Budget{Name: "b", MaxUnavailable: "25%", Healthy: 8, Pods: 10}, 2, ""},
		{"no status yet", budget.Budget{Name: "b", MinAvailable: "1"}, 1, "PodDisruptionBudget/b requires 1 available pod, and 0 would be left"},
		{"invalid", budget.Budget{Name: "b", MinAvailable: "few", Healthy: 3, Needed: 3, Pods: 3}, 1, "PodDisruptionBudget/b requires 3 available pods, and 2 would be left"},
	} {
		r := Report{Budgets: []budget.Budget{{Name: "meets all", MinAvailable: "0", Healthy: 99}, test.budget}}
		if got := budget.Broken(r.Budgets, test.going); got != test.want {
			t.Errorf("%s: Broken() = %q, want %q", test.name, got, test.want)
		}
	}
}
