package observe

import (
	"cmp"
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/holder"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe/feeds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

const (
	// fewObjects is the maximum number of objects whose events are listed with a separate request per object.
	fewObjects = 3
	// nodesLookedAt is the maximum number of nodes to read. The pods of an object usually have the same problem.
	nodesLookedAt = 5
)

// withReasons adds what can explain why the target is not ready, and returns the report. If pods have probes, it reads
// events even for a ready target, because a container that a probe has killed stays ready for its grace period.
func (m *model) withReasons(ctx context.Context, s *status.Snapshot) (status.Report, error) {
	r := status.NewReport(*s)
	if m.extent.Depth < Reasons {
		return r, nil
	}
	probed := slices.ContainsFunc(s.Pods, func(pod *problem.Pod) bool { return pod.Probed })
	if r.Verdict.Settled() && probed {
		if err := m.addEvents(ctx, s, m.eventFeeds(*s, nil)); err != nil {
			return r, err
		}
		r = status.NewReport(*s)
	}
	if r.Verdict.Settled() && m.extent.Depth < Details {
		return r, nil
	}
	err := m.addReasons(ctx, s, r)
	return status.NewReport(*s), err
}

// addReasons adds events, nodes, and run-controllers.
func (m *model) addReasons(ctx context.Context, s *status.Snapshot, r status.Report) error {
	namespaces := slices.Compact([]string{m.target.Namespace, apis.LeaseNamespaceForAll})
	if s.Object.Foreign {
		namespaces = nil // no run-controller reconciles the object
	}
	for _, namespace := range namespaces {
		m.Leases(namespace) // start to read the leases in the background
	}
	err := m.addExplanations(ctx, s, r)
	if !m.patient && follow.Transient(err) {
		m.partial, err = true, nil // the feed retries
	}
	if err == nil && namespaces != nil {
		err = m.addLoops(ctx, s, namespaces)
	}
	return err
}

// addExplanations adds events, and the nodes of pods whose state the events do not explain.
func (m *model) addExplanations(ctx context.Context, s *status.Snapshot, r status.Report) error {
	from := m.eventFeeds(*s, unready(r))
	if slices.ContainsFunc(from, func(f *feeds.Events) bool { return m.lacks(f) }) {
		return nil
	}
	if err := m.addEvents(ctx, s, from); err != nil {
		return err
	}
	if len(s.Events) > 0 {
		r = status.NewReport(*s)
	}
	return m.addNodes(ctx, s, r.Pods)
}

// eventFeeds subscribes to feeds of events, and returns the feeds. If events are watched, a single feed contains all
// events in the namespace except normal pod starts. Otherwise, the feeds contain the Killing events of pods if about is
// empty, or at least the events of the given objects. Feeds that targets share can lack events of normal pod starts.
func (m *model) eventFeeds(s status.Snapshot, about []types.UID) []*feeds.Events {
	var selectors []string
	switch {
	case !m.Once:
		selectors = []string{unlessRoutine()}
	case len(about) == 0:
		selectors = []string{"involvedObject.kind=Pod,reason=" + problem.EventKilling}
	case m.Shared && m.extent.Depth < Details:
		selectors = []string{unlessRoutine()}
	case len(about) > fewObjects:
		selectors = []string{""}
	default:
		for _, uid := range about {
			selectors = append(selectors, fields.OneTermEqualSelector("involvedObject.uid", string(uid)).String())
		}
	}
	all := make([]*feeds.Events, len(selectors))
	for i, selector := range selectors {
		all[i] = m.Events(s.Object.Namespace, selector)
		m.subscribe(all[i])
	}
	return all
}

// unlessRoutine returns a field selector that excludes the events of normal pod starts.
func unlessRoutine() string {
	return "reason!=" + strings.Join(problem.RoutineReasons(), ",reason!=")
}

// unready returns the UIDs of all objects in a report except for ready pods.
func unready(r status.Report) []types.UID {
	var uids []types.UID
	var add func(status.Node)
	add = func(n status.Node) {
		if n.Kind != "Pod" {
			uids = append(uids, n.UID)
		}
		for _, child := range n.Children {
			add(child)
		}
	}
	add(r.Tree)
	for _, pod := range r.Pods {
		if !pod.Ready {
			uids = append(uids, pod.UID)
		}
	}
	return uids
}

func (m *model) addEvents(ctx context.Context, s *status.Snapshot, from []*feeds.Events) error {
	about := belonging(*s)
	s.Events = nil
	for _, f := range from {
		index, err := contents(ctx, m, f)
		if err != nil {
			return unlessUnavailable("events", s, err)
		}
		for uid := range about {
			for _, event := range index.Of[uid] {
				s.Events = append(s.Events, *event)
			}
		}
	}
	slices.SortFunc(s.Events, func(a, b corev1.Event) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return nil
}

// addNodes adds the nodes that can explain why pods are not ready. It reads each node by name, because a large cluster
// has many nodes.
func (m *model) addNodes(ctx context.Context, s *status.Snapshot, pods []problem.Pod) error {
	names := unexplainedNodes(pods)
	s.Nodes = make(map[string]*corev1.Node, len(names))
	for _, name := range names {
		f := m.Node(name)
		m.subscribed.Insert(f)
		f.Subscribe(m, func(...types.UID) { m.notify() }) // every change of the node is relevant
		if m.lacks(f) {
			continue
		}
		index, err := contents(ctx, m, f)
		if err != nil {
			return unlessUnavailable("nodes", s, err)
		}
		s.Nodes[name] = nil // nil means that the node does not exist
		for _, node := range index.Of[""] {
			s.Nodes[name] = node
		}
	}
	return nil
}

// unexplainedNodes returns the names of at most nodesLookedAt nodes that can explain why pods are not ready.
func unexplainedNodes(pods []problem.Pod) []string {
	unexplained := []problem.Code{"", problem.CodeTerminating, problem.CodeContainersNotReady, problem.CodeNodeLost}
	var names []string
	for _, pod := range pods {
		if !pod.Ready && pod.Node != "" && slices.Contains(unexplained, pod.Code) && !slices.Contains(names, pod.Node) && len(names) < nodesLookedAt {
			names = append(names, pod.Node)
		}
	}
	return names
}

// addLoops adds the run-controllers with leases in the namespaces. It does not subscribe to the frequent renewals.
func (m *model) addLoops(ctx context.Context, s *status.Snapshot, namespaces []string) error {
	loops := []leaserecord.Loop{}
	for _, namespace := range namespaces {
		leases, err := contents(ctx, m, m.Leases(namespace))
		if err != nil {
			return unlessUnavailable("leases in "+namespace, s, err)
		}
		byName := func(a, b feeds.Lease) int { return strings.Compare(a.Name, b.Name) }
		for _, lease := range slices.SortedFunc(slices.Values(leases.Of[""]), byName) {
			loop := lease.Loop
			loop.Ended = lease.Here && !holder.Alive(loop.PID)
			loops = append(loops, loop)
		}
	}
	slices.SortStableFunc(loops, func(a, b leaserecord.Loop) int { return strings.Compare(a.Holder, b.Holder) })
	s.Loops = loops
	return nil
}

// unlessUnavailable returns err, or nil if err means that the server does not serve the resource or that the
// user is not allowed to read it. It adds a forbidden resource to Unread.
func unlessUnavailable(what string, s *status.Snapshot, err error) error {
	if kube.NotServed(err) {
		return nil
	}
	if !apierrors.IsForbidden(err) {
		return err
	}
	if !slices.Contains(s.Unread, what) {
		s.Unread = append(s.Unread, what)
	}
	return nil
}
