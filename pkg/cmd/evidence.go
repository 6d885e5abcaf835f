package cmd

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/status"
)

// What is read of an object that is not ready is bounded, however many pods it
// has: what ails one mostly ails all.
const (
	eventPages    = 10
	fewObjects    = 3
	nodesLookedAt = 5
)

// look reads a target, unless that was done, and all that a report on it is
// made from. What cannot matter is not read: of an object that is ready, no
// events.
func look(ctx context.Context, c *clients, t target) (status.Evidence, target, error) {
	client, err := c.dynamic()
	if err != nil {
		return status.Evidence{}, t, err
	}
	if t.obj == nil {
		if t.obj, err = t.objects(client).Get(ctx, t.name, metav1.GetOptions{}); err != nil {
			return status.Evidence{}, t, err
		}
	}
	o, err := facts(ctx, c, client, t)
	if err != nil {
		return status.Evidence{}, t, err
	}
	e := status.Evidence{Object: o, Now: time.Now()}
	if err := family(ctx, c, t, &e); err != nil {
		return e, t, err
	}
	if r := status.NewReport(e); r.Verdict != status.Ready {
		err = lookCloser(ctx, c, r, &e)
	}
	return e, t, err
}

// lookCloser reads what may tell why an object is not ready.
func lookCloser(ctx context.Context, c *clients, r status.Report, e *status.Evidence) error {
	core, err := c.core()
	if err != nil {
		return err
	}
	whose := []types.UID{e.Object.UID}
	for _, child := range e.Children {
		whose = append(whose, child.UID)
	}
	for _, pod := range r.Pods {
		if !pod.Ready {
			whose = append(whose, pod.UID)
		}
	}
	if e.Events, err = eventsOf(ctx, core.Events(e.Object.Namespace), whose...); err != nil {
		return unlessForbidden(ctx, "events", err)
	}
	return lookAtNodes(ctx, core.Nodes(), status.NewReport(*e), e)
}

// eventsOf lists the events of some objects: of a few each by itself, of more
// those of the namespace.
func eventsOf(ctx context.Context, client corev1client.EventInterface, uids ...types.UID) ([]corev1.Event, error) {
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
	wanted := map[types.UID]bool{}
	for _, uid := range uids {
		wanted[uid] = true
	}
	opts := metav1.ListOptions{Limit: page}
	for range eventPages {
		list, err := client.List(ctx, opts)
		if err != nil {
			return nil, err
		}
		for _, event := range list.Items {
			if wanted[event.InvolvedObject.UID] {
				all = append(all, event)
			}
		}
		if opts.Continue = list.Continue; opts.Continue == "" {
			break
		}
	}
	return all, nil
}

// lookAtNodes reads the nodes of pods that are not ready and do not tell why,
// or do not go.
func lookAtNodes(ctx context.Context, nodes corev1client.NodeInterface, r status.Report, e *status.Evidence) error {
	unexplained := []status.Code{"", status.CodeTerminating, status.CodeContainersNotReady, status.CodeNodeLost}
	e.Nodes = map[string]*corev1.Node{}
	for _, pod := range r.Pods {
		if _, known := e.Nodes[pod.Node]; known || pod.Ready || pod.Node == "" || !slices.Contains(unexplained, pod.Code) {
			continue
		}
		if len(e.Nodes) == nodesLookedAt {
			return nil
		}
		node, err := nodes.Get(ctx, pod.Node, metav1.GetOptions{})
		switch {
		case err == nil:
			e.Nodes[pod.Node] = node
		case apierrors.IsNotFound(err):
			e.Nodes[pod.Node] = nil
		default:
			return unlessForbidden(ctx, "nodes", err)
		}
	}
	return nil
}

// unlessForbidden lets pass that something may not be read: a report is made
// without it.
func unlessForbidden(ctx context.Context, what string, err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	klog.FromContext(ctx).V(1).Info("What may not be read is left out", "what", what, "err", err)
	return nil
}
