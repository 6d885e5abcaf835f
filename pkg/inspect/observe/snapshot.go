package observe

import (
	"context"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/process"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube"
)

// What is read of an object that is not ready is bounded, however many pods it
// has: what ails one mostly ails all.
const (
	eventPages    = 10
	fewObjects    = 3
	nodesLookedAt = 5
)

// Read reads a target, unless that was done, and what a report on it is made
// from. What cannot matter is not read: of an object that is ready, nothing
// but itself and what stands below it.
func Read(ctx context.Context, c *kube.Factory, t Target) (status.Snapshot, Target, error) {
	e, t, err := ReadTree(ctx, c, t)
	if err != nil {
		return e, t, err
	}
	if status.NewReport(e).Verdict.Settled() && e.Probed() {
		err = readKills(ctx, c, &e)
	}
	if err == nil && !status.NewReport(e).Verdict.Settled() {
		err = readReasons(ctx, c, &e)
	}
	return e, t, err
}

// readKills reads whether probes have containers ended, which takes as long as
// their grace period, and which only events tell.
func readKills(ctx context.Context, c *kube.Factory, e *status.Snapshot) error {
	core, err := c.Core()
	if err != nil {
		return err
	}
	kills, err := core.Events(e.Object.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: "involvedObject.kind=Pod,reason=" + problem.EventKilling,
		Limit:         page,
	})
	if err == nil {
		e.Events = kills.Items
	}
	return unlessForbidden("events", e, err)
}

// ReadTree reads a target, unless that was done, and what stands below it.
func ReadTree(ctx context.Context, c *kube.Factory, t Target) (status.Snapshot, Target, error) {
	e, t, err := readAlone(ctx, c, t)
	if err == nil {
		err = readTree(ctx, c, t, &e)
	}
	return e, t, err
}

// readAlone reads a target, unless that was done, and nothing below it.
func readAlone(ctx context.Context, c *kube.Factory, t Target) (status.Snapshot, Target, error) {
	client, err := c.Dynamic()
	if err != nil {
		return status.Snapshot{}, t, err
	}
	if err := t.Read(ctx, client); err != nil {
		return status.Snapshot{}, t, err
	}
	o, err := ReadObject(ctx, c, client, t)
	if err != nil {
		return status.Snapshot{}, t, err
	}
	return status.Snapshot{Object: o, Now: time.Now(), Commands: c.CommandContext()}, t, nil
}

// ReadAll is Read for who wants to see all that there is, ready or not.
func ReadAll(ctx context.Context, c *kube.Factory, t Target) (status.Snapshot, Target, error) {
	return withCompetitors(ctx, c, t, func(ctx context.Context, c *kube.Factory, t Target) (status.Snapshot, Target, error) {
		e, t, err := Read(ctx, c, t)
		if err == nil && status.NewReport(e).Verdict.Settled() {
			err = readReasons(ctx, c, &e)
		}
		return e, t, err
	})
}

// readReasons reads what may tell why an object is not ready: events, the nodes
// of its pods, and at the same time whether somebody reconciles it.
func readReasons(ctx context.Context, c *kube.Factory, e *status.Snapshot) error {
	if e.Object.Foreign {
		return readExplanations(ctx, c, e)
	}
	client, err := c.Dynamic()
	if err != nil {
		return err
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	loops := status.Snapshot{Object: e.Object}
	var loopsErr error
	reading.Go(func() { loopsErr = ReadLoops(ctx, client, &loops) })
	if err := readExplanations(ctx, c, e); err != nil {
		return err
	}
	reading.Wait()
	e.Loops, e.Unread = loops.Loops, append(e.Unread, loops.Unread...)
	return loopsErr
}

// readExplanations reads events, and the nodes of the pods that they do not explain.
func readExplanations(ctx context.Context, c *kube.Factory, e *status.Snapshot) error {
	core, err := c.Core()
	if err != nil {
		return err
	}
	report := status.NewReport(*e)
	whose := ownerUIDs(report.Tree)
	for _, pod := range report.Pods {
		if !pod.Ready {
			whose = append(whose, pod.UID)
		}
	}
	e.Events, err = readEvents(ctx, core.Events(e.Object.Namespace), whose)
	if err = unlessForbidden("events", e, err); err != nil {
		return err
	}
	return readNodes(ctx, core.Nodes(), e)
}

// ownerUIDs are the UIDs of a tree but those of pods.
func ownerUIDs(n status.Node) []types.UID {
	if n.Kind == "Pod" {
		return nil
	}
	uids := []types.UID{n.UID}
	for _, child := range n.Children {
		uids = append(uids, ownerUIDs(child)...)
	}
	return uids
}

// ReadLoops finds the run-controllers that may cover an object: those of its
// namespace, and those of all.
func ReadLoops(ctx context.Context, client dynamic.Interface, e *status.Snapshot) error {
	namespaces := loopNamespaces(e.Object.Namespace)
	leases, errs := make([][]coordinationv1.Lease, len(namespaces)), make([]error, len(namespaces))
	var reading sync.WaitGroup
	for i, namespace := range namespaces {
		reading.Go(func() {
			leases[i], errs[i] = listAs[coordinationv1.Lease](ctx, client, coordinationv1.SchemeGroupVersion.WithResource("leases"), namespace, apis.LabelController+"="+apis.RunController)
		})
	}
	reading.Wait()
	loops := []leaserecord.Loop{}
	for i, namespace := range namespaces {
		if errs[i] != nil {
			return unlessForbidden("leases in "+namespace, e, errs[i])
		}
		for j := range leases[i] {
			loops = append(loops, process.LoopOf(&leases[i][j]))
		}
	}
	e.Loops = loops
	return nil
}

// loopNamespaces have the leases of the run-controllers that may cover a namespace.
func loopNamespaces(namespace string) []string {
	return slices.Compact([]string{namespace, apis.LeaseNamespaceForAll})
}

// listAs lists objects of a namespace as values of their type.
func listAs[T any](ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource, namespace, selector string) ([]T, error) {
	items, err := kube.List(ctx, client.Resource(resource).Namespace(namespace), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	all := make([]T, len(items))
	for i := range items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(items[i].Object, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// readEvents lists the events of some objects: of a few each by itself, of more
// those of the namespace.
func readEvents(ctx context.Context, client corev1client.EventInterface, uids []types.UID) ([]corev1.Event, error) {
	var all []corev1.Event
	if len(uids) <= fewObjects {
		for _, uid := range uids {
			list, err := client.List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("involvedObject.uid", string(uid)).String()})
			if err != nil {
				return nil, err
			}
			all = append(all, list.Items...)
		}
		return all, nil
	}
	wanted := sets.New(uids...)
	opts := metav1.ListOptions{Limit: page}
	for range eventPages {
		list, err := client.List(ctx, opts)
		if err != nil {
			return nil, err
		}
		for _, event := range list.Items {
			if wanted.Has(event.InvolvedObject.UID) {
				all = append(all, event)
			}
		}
		if opts.Continue = list.Continue; opts.Continue == "" {
			break
		}
	}
	return all, nil
}

// unexplainedNodes are the nodes of pods that are not ready and do not tell why, or do
// not go.
func unexplainedNodes(pods []status.Pod) []string {
	unexplained := []problem.Code{"", problem.CodeTerminating, problem.CodeContainersNotReady, problem.CodeNodeLost}
	var names []string
	for _, pod := range pods {
		if !pod.Ready && pod.Node != "" && slices.Contains(unexplained, pod.Code) && !slices.Contains(names, pod.Node) && len(names) < nodesLookedAt {
			names = append(names, pod.Node)
		}
	}
	return names
}

// readNodes reads the nodes of pods that do not say why they are not ready.
func readNodes(ctx context.Context, nodes corev1client.NodeInterface, e *status.Snapshot) error {
	names := unexplainedNodes(status.NewReport(*e).Pods)
	e.Nodes = make(map[string]*corev1.Node, len(names))
	for _, name := range names {
		node, err := nodes.Get(ctx, name, metav1.GetOptions{})
		switch {
		case err == nil:
			e.Nodes[name] = node
		case apierrors.IsNotFound(err):
			e.Nodes[name] = nil
		default:
			return unlessForbidden("nodes", e, err)
		}
	}
	return nil
}

// unlessForbidden notes what may not be read, once, and lets it pass: a report is
// made without it.
func unlessForbidden(what string, e *status.Snapshot, err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	if !slices.Contains(e.Unread, what) {
		e.Unread = append(e.Unread, what)
	}
	return nil
}
