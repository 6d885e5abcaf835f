package template

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/template/revision"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// Made reports, by UID, which pods in a namespace already match the change in done, such as pods of
// an earlier rollout. Their controller need not replace these pods.
func Made(ctx context.Context, client dynamic.Interface, namespace string, done Result) (map[types.UID]bool, error) {
	pods, err := follow.List(ctx, client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(namespace), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	made := map[types.UID]bool{}
	for _, pod := range pods {
		made[pod.GetUID()] = has(pod.Object, done)
	}
	return made, nil
}

// has reports whether a change wrote values and a pod has all of them.
func has(pod map[string]any, done Result) bool {
	changed := false
	for i, after := range done.After {
		before := done.Before[i]
		if revision.Same(done.Before[i:i+1], done.After[i:i+1]) {
			continue
		}
		value, known := inPod(pod, after)
		if changed = true; !known || !edit.Kept(before.Value, after.Value, value) {
			return false
		}
	}
	return changed
}

// inPod returns the value of a template field f in a pod made from the template, if that is known.
func inPod(pod map[string]any, f revision.Field) (value any, known bool) {
	content, _ := f.Value.(map[string]any)
	switch {
	case fieldpath.Object(content, "spec")["containers"] != nil:
		return pod, true
	case content["containers"] != nil:
		return pod["spec"], true
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
