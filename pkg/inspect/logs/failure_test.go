package logs

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

func TestFailingContainer(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		pod       *corev1.Pod
		container string
		want      string
		previous  bool
	}{
		"no container has started":  {pod: pod("foo-0", "main")},
		"the problem's container":   {pod: with(with(pod("foo-0", "main", "proxy"), "main", isUp), "proxy", crashLoop), container: "proxy", want: "proxy", previous: true},
		"container not started":     {pod: with(pod("foo-0", "main", "proxy"), "main", isUp), container: "proxy"},
		"crashed, running again":    {pod: with(pod("foo-0", "main"), "main", again), container: "main", want: "main", previous: true},
		"crashed, not restarted":    {pod: with(pod("foo-0", "main"), "main", corev1.ContainerStatus{State: crashed}), want: "main"},
		"only the sidecar crashed":  {pod: with(with(pod("foo-0", "main", "proxy"), "main", corev1.ContainerStatus{State: ended}), "proxy", corev1.ContainerStatus{State: crashed}), want: "proxy"},
		"an init container crashed": {pod: with(pod("foo-0", "+init", "main"), "init", corev1.ContainerStatus{State: crashed}), want: "init"},
	} {
		got, found := failingContainer([]problem.Pod{{Name: "foo-0", Object: row.pod}}, problem.Problem{Container: row.container, Pods: []string{"foo-0"}})
		if got.Name != row.want || found != (row.want != "") || (got.last || got.crashed) != row.previous {
			t.Errorf("%s: container %+v", name, got)
		}
	}
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	logs := script{"a/main": stamp + "one\n\n" + stamp + "two", "a/main before": stamp + "panic\n", "b/main": ""}
	for name, row := range map[string]struct {
		container Container
		want      []string
	}{
		"the newest run":       {Container{Pod: "a", Name: "main"}, []string{"one", "", "two"}},
		"the run that crashed": {Container{Pod: "a", Name: "main", crashed: true}, []string{"panic"}},
		"the run that ended":   {Container{Pod: "a", Name: "main", last: true}, []string{"panic"}},
		"an empty log":         {Container{Pod: "b", Name: "main"}, nil},
	} {
		lines, err := lastLines(t.Context(), logs.open, row.container, 10, 0)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, line := range lines {
			got = append(got, line.Text)
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: lines = %q", name, got)
		}
	}
	if _, err := lastLines(t.Context(), logs.open, Container{Pod: "c", Name: "main"}, 10, 0); !namesMissingRule(err) {
		t.Errorf("a forbidden log: error = %v, want one that names the missing rule", err)
	}
}
