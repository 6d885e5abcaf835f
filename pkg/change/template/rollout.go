package template

import (
	"context"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/podtemplate"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/revision"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// Changed returns the fields that the change modified, with their values before and after the change.
func (r Result) Changed() (before, after []revision.Field) {
	for i, f := range r.After {
		if !revision.Same(r.Before[i:i+1], r.After[i:i+1]) {
			before, after = append(before, r.Before[i]), append(after, f)
		}
	}
	return before, after
}

// RolledOut returns the condition to wait for after a change. It is Ready for built-in kinds, kinds that this program
// reconciles, and in-place updates: the status or labels show whether all pods are updated. For other kinds, and for a
// restart time in the object's own annotations, all pods in before that do not match the change must also be gone.
func RolledOut(ctx context.Context, client dynamic.Interface, t observe.Target, before []problem.Pod, done Result) observe.Condition {
	if done.Change == "" || podtemplate.InPlace(t.Object) {
		return observe.Ready()
	}
	matches := restartedBy(done)
	switch {
	case matches != nil:
	case t.Kind.Reconciled() || t.Kind.BuiltIn():
		return observe.Ready()
	default:
		current, known := revisionOf(ctx, client, t, done)
		have := made(ctx, client, t.Namespace, done)
		matches = func(pod *corev1.Pod) bool { return have[pod.UID] || known && current.Made(pod.Labels) }
	}
	old := slices.DeleteFunc(slices.Clone(before), func(pod problem.Pod) bool { return matches(pod.Object) })
	if len(old) == 0 {
		return observe.Ready()
	}
	return observe.Replaced(old)
}

// restartedBy returns a function that reports whether a pod has the new restart time, which pods inherit from the
// object's own annotations. It returns nil if the change modified any other field.
func restartedBy(done Result) func(*corev1.Pod) bool {
	at := ""
	_, changed := done.Changed()
	for _, f := range changed {
		if f.Path.Steps[0].Name != "metadata" {
			return nil
		}
		at, _ = f.Value.(string)
	}
	return func(pod *corev1.Pod) bool { return pod.Annotations[apis.AnnotationRestartedAt] == at }
}

// MarkFailed returns the edit that marks the revision of a failed change, or nil if the revision is unknown.
func MarkFailed(ctx context.Context, client dynamic.Interface, t observe.Target, done Result) []fieldpath.Edit {
	failed, known := revisionOf(ctx, client, t, done)
	if !known {
		return nil
	}
	return []fieldpath.Edit{fieldpath.Annotate(apis.AnnotationFailedRevision, strconv.FormatInt(failed.Number, 10))}
}

// MarkedFailed reports whether MarkFailed has marked a revision.
func MarkedFailed(t observe.Target, r revision.Revision) bool {
	return t.Object.GetAnnotations()[apis.AnnotationFailedRevision] == strconv.FormatInt(r.Number, 10)
}

func revisionOf(ctx context.Context, client dynamic.Interface, t observe.Target, done Result) (revision.Revision, bool) {
	history, err := History(ctx, client, t)
	if err != nil {
		klog.FromContext(ctx).V(1).Info("Cannot read the revision of a change", "object", t.String(), "err", err)
	}
	return history.Find(done.After)
}

// made reports, by UID, which pods in a namespace already match the change in done, such as pods from an
// earlier rollout. The controller does not have to replace these pods.
func made(ctx context.Context, client dynamic.Interface, namespace string, done Result) map[types.UID]bool {
	// If the list fails, made reports no pods.
	pods, _ := follow.List(ctx, client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(namespace), metav1.ListOptions{})
	have := map[types.UID]bool{}
	for _, pod := range pods {
		have[pod.GetUID()] = has(pod.Object, done)
	}
	return have
}

// has reports whether a pod has all values that a change wrote. It returns false if the change wrote none.
func has(pod map[string]any, done Result) bool {
	before, after := done.Changed()
	for i, f := range after {
		value, known := inPod(pod, f)
		if !known || !edit.Kept(before[i].Value, f.Value, value) {
			return false
		}
	}
	return len(after) > 0
}

// inPod returns the value of f in a pod, or nil if the pod lacks it. known is false if f has no path in a pod.
func inPod(pod map[string]any, f revision.Field) (value any, known bool) {
	content, _ := f.Value.(map[string]any)
	if fieldpath.Object(content, "spec")["containers"] != nil {
		return pod, true
	}
	steps := f.Path.Steps
	i := slices.IndexFunc(steps, func(s fieldpath.Step) bool { return s.Name == "containers" || s.Name == "initContainers" })
	if i < 0 {
		return nil, false
	}
	path := fieldpath.Path{Steps: append(fieldpath.Fields("spec").Steps, steps[i:]...)}
	value, err := path.Value(pod)
	return value, err == nil
}
