package printer

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// The number of pods that are shown individually depends on their rank.
func TestByThemselves(t *testing.T) {
	t.Parallel()
	const rankReady, rankFatal = 3, 0
	for name, test := range map[string]struct {
		allPods               bool
		alike, rank, n, shown int
	}{
		"all pods are requested":   {true, 2, rankReady, 50, 50},
		"few enough":               {false, 2, rankReady, 2, 2},
		"ready, and too many":      {false, 2, rankReady, 3, 0},
		"in trouble, and too many": {false, 2, rankFatal, 3, 2},
		"at most three":            {false, 9, rankFatal, 10, 3},
		"a single pod in trouble":  {false, 0, rankFatal, 1, 1},
		"a single ready pod":       {false, 0, rankReady, 1, 0},
	} {
		tree := podTree{frame: frame{Screen: Screen{AllPods: test.allPods}}, detail: detail{alike: test.alike}}
		if shown := tree.byThemselves(kindOfPod{rank: test.rank}, test.n); shown != test.shown {
			t.Errorf("%s: %d pods shown, want %d", name, shown, test.shown)
		}
	}
}

// kindOf ranks pods with a fatal problem first, then pods with another problem, then pods without a
// problem. Ready pods are last.
func TestKindsOfPodsAreRanked(t *testing.T) {
	t.Parallel()
	tree := podTree{fatal: map[string]bool{"fatal": true}}
	var ranks []int
	for _, pod := range []problem.Pod{{Name: "fatal", Code: "ImagePull"}, {Name: "a", Code: "Unhealthy"}, {Name: "b"}, {Name: "fatal", Ready: true}} {
		ranks = append(ranks, tree.kindOf(&pod).rank)
	}
	if want := []int{0, 1, 2, 3}; !slices.Equal(ranks, want) {
		t.Errorf("ranks = %v, want %v", ranks, want)
	}
}

// A branch has counts only if the desired count and the ready count are known. An object of another kind with
// the UID of a pod is not shown as a pod.
func TestBranches(t *testing.T) {
	t.Parallel()
	count := int32(3)
	tree := podTree{frame: frame{Screen: Screen{}}, pods: map[types.UID]*problem.Pod{"1": {Name: "foo"}}}
	of := status.Node{Children: []status.Node{
		{Kind: "Set", Name: "both", Desired: &count, Ready: &count},
		{Kind: "Set", Name: "desired", Desired: &count},
		{Kind: "Set", Name: "ready", Ready: &count},
		{Kind: "Job", Name: "of-the-same-uid", UID: "1"},
	}}
	var texts []string
	for _, b := range tree.branches(of, 1) {
		texts = append(texts, b.text.render(80, Style{}))
	}
	if want := []string{"Set/both  3/3 ready", "Set/desired", "Set/ready", "Job/of-the-same-uid"}; !slices.Equal(texts, want) {
		t.Errorf("branches = %q, want %q", texts, want)
	}
}
