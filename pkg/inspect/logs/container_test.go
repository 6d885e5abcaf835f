package logs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
)

// pod returns a pod with containers of these names. A "+" marks an init container.
func pod(name string, containers ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name)}, Spec: corev1.PodSpec{NodeName: "n1"}}
	for _, c := range containers {
		if rest, is := strings.CutPrefix(c, "+"); is {
			p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: rest})
			p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, corev1.ContainerStatus{Name: rest})
		} else {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: c})
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: c})
		}
	}
	return p
}

var (
	running = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	ended   = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 0, Reason: "Completed", ContainerID: "x://1"}}
	crashed = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", ContainerID: "x://1"}}
	backOff = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
)

// The statuses of a container that runs, is in a crash loop, or runs again after a crash.
var (
	isUp      = corev1.ContainerStatus{State: running, Ready: true}
	crashLoop = corev1.ContainerStatus{State: backOff, LastTerminationState: crashed, RestartCount: 2}
	again     = corev1.ContainerStatus{State: running, LastTerminationState: crashed, RestartCount: 2}
)

func with(p *corev1.Pod, name string, s corev1.ContainerStatus) *corev1.Pod {
	s.Name = name
	for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range list {
			if list[i].Name == name {
				list[i] = s
			}
		}
	}
	return p
}

func TestContainers(t *testing.T) {
	t.Parallel()
	slot := pod("foo-3f2a-7", "main")
	slot.Labels = map[string]string{apis.LabelSlot: "7"}
	named := pod("foo-0", "proxy", "main")
	named.Annotations = map[string]string{apis.AnnotationDefaultContainer: "main"}
	mistaken := pod("foo-0", "main")
	mistaken.Annotations = map[string]string{apis.AnnotationDefaultContainer: "other"}
	for name, row := range map[string]struct {
		pods   []*corev1.Pod
		failed []string
		wanted Wanted
		// want describes each container: its label, phase (0: not started, 1: running, 2: ended), and run, and how its previous run ended.
		want []string
	}{
		"no pods":                        {},
		"not started":                    {pods: []*corev1.Pod{pod("foo-0", "main")}, failed: []string{"foo-0"}, want: []string{"0 0 0"}},
		"a running container":            {pods: []*corev1.Pod{with(pod("foo-0", "main"), "main", isUp)}, want: []string{"0 1 0"}},
		"a slot":                         {pods: []*corev1.Pod{slot}, want: []string{"7 0 0"}},
		"a pod of a ReplicaSet":          {pods: []*corev1.Pod{pod("foo-7d4b-x8z", "main")}, want: []string{"7d4b-x8z 0 0"}},
		"a pod with an unrelated name":   {pods: []*corev1.Pod{pod("bar-1", "main")}, want: []string{"bar-1 0 0"}},
		"several objects: full names":    {pods: []*corev1.Pod{slot}, wanted: Wanted{FullNames: true}, want: []string{"foo-3f2a-7 0 0"}},
		"the first container":            {pods: []*corev1.Pod{pod("foo-0", "+init", "main", "proxy")}, want: []string{"0/main 0 0"}},
		"the default container":          {pods: []*corev1.Pod{named}, want: []string{"0/main 0 0"}},
		"a missing default container":    {pods: []*corev1.Pod{mistaken}, want: []string{"0 0 0"}},
		"all containers":                 {pods: []*corev1.Pod{pod("foo-0", "+init", "main", "proxy")}, wanted: Wanted{AllContainers: true}, want: []string{"0/init 0 0", "0/main 0 0", "0/proxy 0 0"}},
		"a named container":              {pods: []*corev1.Pod{pod("foo-0", "+init", "main"), pod("foo-1", "main")}, wanted: Wanted{Container: "init"}, want: []string{"0/init 0 0"}},
		"one slot":                       {pods: []*corev1.Pod{pod("foo-0", "main"), slot}, wanted: Wanted{Slot: "7"}, want: []string{"7 0 0"}},
		"one slot of a StatefulSet":      {pods: []*corev1.Pod{pod("foo-0", "main"), pod("foo-1", "main")}, wanted: Wanted{Slot: "1"}, want: []string{"1 0 0"}},
		"only failing pods":              {pods: []*corev1.Pod{pod("foo-0", "main"), pod("foo-1", "main")}, failed: []string{"foo-1"}, wanted: Wanted{Failing: true}, want: []string{"1 0 0"}},
		"a crash loop":                   {pods: []*corev1.Pod{with(pod("foo-0", "main"), "main", crashLoop)}, failed: []string{"foo-0"}, want: []string{"0 2 2 last"}},
		"crashed, and running again":     {pods: []*corev1.Pod{with(pod("foo-0", "main"), "main", again)}, failed: []string{"foo-0"}, want: []string{"0 1 2 crashed Error, exit code 3"}},
		"a container that has recovered": {pods: []*corev1.Pod{with(pod("foo-0", "main"), "main", corev1.ContainerStatus{State: running, Ready: true, LastTerminationState: crashed, RestartCount: 1})}, want: []string{"0 1 1 previous Error, exit code 3"}},
		"an init container that crashes": {pods: []*corev1.Pod{with(pod("foo-0", "+init", "main"), "init", crashLoop)}, failed: []string{"foo-0"}, want: []string{"0/init 2 2 last", "0/main 0 0"}},
		"an init container that is done": {pods: []*corev1.Pod{with(pod("foo-0", "+init", "main"), "init", corev1.ContainerStatus{State: ended, Ready: true})}, failed: []string{"foo-0"}, want: []string{"0/main 0 0"}},
		"a sidecar that crashes":         {pods: []*corev1.Pod{with(with(pod("foo-0", "main", "proxy"), "main", isUp), "proxy", again)}, failed: []string{"foo-0"}, want: []string{"0/main 1 0", "0/proxy 1 2 crashed Error, exit code 3"}},
	} {
		report := status.Report{Metadata: status.Metadata{Name: "foo"}}
		for _, p := range row.pods {
			report.Pods = append(report.Pods, problem.Pod{Name: p.Name, UID: p.UID, Object: p, Ready: !slices.Contains(row.failed, p.Name)})
		}
		var got []string
		for _, c := range Containers(report, row.wanted) {
			phase := slices.Index([][2]bool{{false, false}, {true, false}, {true, true}}, [2]bool{c.started, c.ended})
			text := fmt.Sprintf("%s %d %d", c.label, phase, c.run)
			switch {
			case c.last:
				text += " last"
			case c.crashed:
				text += " crashed " + c.end
			case c.previous:
				text += " previous " + c.end
			}
			got = append(got, text)
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: containers = %q", name, got)
		}
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		progress progress
		now      Container
		gone     bool
		want     step
	}{
		"not started":                      {now: Container{}, want: toWait},
		"started":                          {now: Container{started: true}, want: toRead},
		"ended before it was seen":         {now: Container{started: true, ended: true}, want: toRead},
		"running, not read to its end":     {progress: progress{done: false}, now: Container{started: true}, want: toRead},
		"read to its end":                  {progress: progress{done: true}, now: Container{started: true, ended: true}, want: toWait},
		"the pod is gone":                  {progress: progress{done: true}, now: Container{started: true, ended: true}, gone: true, want: toEnd},
		"the pod is gone before the start": {gone: true, want: toEnd},
		"restarted":                        {progress: progress{done: true}, now: Container{started: true, run: 1, previous: true}, want: toRead},
		"restarted, rest not read":         {now: Container{started: true, run: 1, previous: true}, want: toReadPrevious},
		"restarted twice":                  {progress: progress{done: true}, now: Container{started: true, run: 2, previous: true}, want: toReadPrevious},
		"restarted twice, previous read":   {progress: progress{run: 1, done: true}, now: Container{started: true, run: 2, previous: true}, want: toRead},
		"restarted, previous log gone":     {now: Container{started: true, run: 1}, want: toRead},
		"waits for its next restart":       {progress: progress{run: 1}, now: Container{started: true, ended: true, run: 1, previous: true, last: true}, want: toRead},
		"ended again":                      {now: Container{started: true, ended: true, run: 1, previous: true, last: true}, want: toRead},
	} {
		if got := row.progress.next(row.now, row.gone); got != row.want {
			t.Errorf("%s: next step = %d", name, got)
		}
	}
}

// An ephemeral container that "kubectl debug" has added can be named, and is among all containers.
func TestEphemeralContainers(t *testing.T) {
	t.Parallel()
	p := with(pod("foo-0", "main"), "main", isUp)
	p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debugger"}}}
	p.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{Name: "debugger", State: running}}
	report := status.Report{Metadata: status.Metadata{Name: "foo"}, Pods: []problem.Pod{{Name: p.Name, UID: p.UID, Object: p, Ready: true}}}
	for want, wanted := range map[string]Wanted{"debugger": {Container: "debugger"}, "main debugger": {AllContainers: true}, "main": {}} {
		var names []string
		for _, c := range Containers(report, wanted) {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%+v: containers %q, want %q", wanted, got, want)
		}
	}
}
