package replicas

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/change/edit"
	"github.com/imoocpod/kubectl-imoocpod/pkg/commandline"
	"github.com/imoocpod/kubectl-imoocpod/pkg/escape"
	"github.com/imoocpod/kubectl-imoocpod/pkg/fieldpath"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/observe"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds/discover"
	"github.com/imoocpod/kubectl-imoocpod/pkg/outcome"
	"github.com/imoocpod/kubectl-imoocpod/pkg/slots"
)

// chooser adds an edit to a plan that makes the controller of an object delete the pods in victims.
type chooser func(ctx context.Context, pods corev1client.PodsGetter, t observe.Target, obj *unstructured.Unstructured, victims []*corev1.Pod, p *edit.Plan) error

// chooserOf returns the chooser for the kind of an object. It is nil if the kind's controller reads the
// deletion cost of pods. If the pods cannot be chosen, the error contains the reason.
func chooserOf(t observe.Target) (chooser, error) {
	why := "this program does not know how to choose pods of this kind"
	switch strategy, kind := t.Kind.Mapping.Strategy, t.Kind.CRD(); {
	case strategy == kinds.StrategyPods:
		return chooseBySlot, nil
	case strategy == kinds.StrategyDeployment:
		why = "run-controller sets the count of its Deployment, which chooses the pods itself"
	case strategy == kinds.StrategyNodes:
		why = "it runs one pod per node"
	case kind == "clonesets.apps.kruise.io":
		return chooseByName, nil
	case kind == kinds.Deployments, kind == kinds.ReplicaSets:
		return nil, nil
	case kind == kinds.StatefulSets:
		why = "a StatefulSet always deletes the pod with the highest ordinal"
	}
	return nil, fmt.Errorf("cannot choose which pod of %s is removed: %s", t, why)
}

// Check returns an error if the kind of an object does not support the request. It does not contact the server.
func (r Request) Check(t observe.Target) error {
	if r.Reuse && t.Kind.Mapping.Strategy != kinds.StrategyPods {
		return fmt.Errorf("%s has no removed slots: only kinds whose pods run-controller creates have slots", t)
	}
	if r.Undo && !t.Kind.Reconciled() {
		err := fmt.Errorf("%w: --undo does not work for %s: the count before a change is recorded only in objects of kinds that run-controller reconciles", outcome.ErrRefused, t)
		return outcome.WithHint(err, "to set a count", scaleTo(t, "COUNT"))
	}
	if len(r.Remove) == 0 {
		return nil
	}
	_, err := chooserOf(t)
	return err
}

// Remove lowers the count of an object by the number of pods in the request, and makes its controller
// delete these pods if possible. It returns an error if one of the pods does not belong to the object.
func Remove(ctx context.Context, client dynamic.Interface, pods corev1client.PodsGetter, t observe.Target, field discover.Field, r Request) (Result, error) {
	choose, err := chooserOf(t)
	if err != nil {
		return Result{}, err
	}
	if choose == nil {
		return removeByCost(ctx, client, pods, t, field, r)
	}
	path := cmp.Or(t.Kind.Path(), new(specReplicas()))
	return setField(ctx, t.Resource(client), t, *path, r, func(obj *unstructured.Unstructured, _ int32, p *edit.Plan) (string, error) {
		victims, err := readVictims(ctx, pods, t, obj, r.Remove)
		if err != nil {
			return "", err
		}
		return "removing " + strings.Join(r.Remove, ", "), choose(ctx, pods, t, obj, victims, p)
	})
}

// readVictims reads pods by name. It returns an error if owner (the object or its ReplicaSet) does not control all of
// them. It accepts terminating and finished pods only for kinds with slots, because such pods keep their slots.
func readVictims(ctx context.Context, pods corev1client.PodsGetter, t observe.Target, owner metav1.Object, names []string) ([]*corev1.Pod, error) {
	var victims []*corev1.Pod
	for _, name := range names {
		pod, err := pods.Pods(t.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		switch ref := metav1.GetControllerOf(pod); {
		case ref == nil:
			return nil, fmt.Errorf("pod %s is not a pod of %s: it has no controller", name, t)
		case ref.UID != owner.GetUID():
			return nil, fmt.Errorf("pod %s is not a pod of %s: its controller is the %s", name, t, escape.Line(ref.Kind+" "+ref.Name))
		case t.Kind.Mapping.Strategy != kinds.StrategyPods && (pod.DeletionTimestamp != nil || problem.Finished(pod)):
			return nil, fmt.Errorf("%w: pod %s is terminating or finished, and %s does not count it", outcome.ErrPrecondition, name, t)
		}
		victims = append(victims, pod)
	}
	return victims, nil
}

// notReplaced rejects a terminating pod that has been replaced: removing its slot would delete the replacement.
func notReplaced(ctx context.Context, pods corev1client.PodInterface, obj *unstructured.Unstructured, pod *corev1.Pod, slot slots.Slot) error {
	if pod.DeletionTimestamp == nil {
		return nil
	}
	by := slots.PodName(obj.GetName(), obj.GetUID(), pod.UID, slot)
	_, err := pods.Get(ctx, by, metav1.GetOptions{})
	if err == nil {
		return fmt.Errorf("%w: pod %s is terminating, and the controller has replaced it by pod %s", outcome.ErrPrecondition, pod.Name, by)
	}
	return utilerrors.FilterOut(err, apierrors.IsNotFound)
}

// chooseBySlot adds the slots of the pods to the removed slots.
func chooseBySlot(ctx context.Context, pods corev1client.PodsGetter, t observe.Target, obj *unstructured.Unstructured, victims []*corev1.Pod, p *edit.Plan) error {
	removed, n, err := slotsOf(t, obj)
	if err != nil {
		return err
	}
	var given []slots.Slot
	for _, pod := range victims {
		slot, _ := slots.OfPod(pod, obj.GetName(), obj.GetUID())
		if err := notReplaced(ctx, pods.Pods(t.Namespace), obj, pod, slot); err != nil {
			return err
		}
		switch {
		case slot == slots.None:
			return fmt.Errorf("cannot remove pod %s: its name belongs to no slot of %s, and the controller is about to replace it", pod.Name, t)
		case slices.Contains(given, slot):
			return fmt.Errorf("%w: two of the pods are in slot %s of %s: name one of them", outcome.ErrPrecondition, slot, t)
		case removed.Has(slot):
			return fmt.Errorf("%w: pod %s is in slot %s of %s, which is already removed", outcome.ErrPrecondition, pod.Name, slot, t)
		case !removed.Wants(n, slot):
			return fmt.Errorf("%w: the controller is about to delete pod %s: %s has %d replicas, and the pod is in slot %s", outcome.ErrPrecondition, pod.Name, t, n, slot)
		}
		given = append(given, slot)
	}
	if removed, err = removed.With(given...); err != nil {
		return outcome.WithAdvice(fmt.Errorf("cannot remove more slots of %s: %w", t, err), "scale up with --reuse to fill removed slots")
	}
	p.Edits = append(p.Edits, fieldpath.Annotate(apis.AnnotationRemovedSlots, removed.String()))
	return nil
}

func slotsOf(t observe.Target, obj *unstructured.Unstructured) (removed slots.Removed, desired int32, err error) {
	removed, err = slots.ParseRemoved(obj.GetAnnotations()[apis.AnnotationRemovedSlots])
	if err != nil {
		return nil, 0, fmt.Errorf("the annotation %s of %s cannot be read: %w", apis.AnnotationRemovedSlots, t, err)
	}
	desired, err = t.Kind.Desired(obj)
	return removed, desired, err
}

// reuseSlots returns a function whose edit lets new pods fill the lowest removed slots of an object.
func reuseSlots(t observe.Target) beside {
	return func(obj *unstructured.Unstructured, after int32, p *edit.Plan) (string, error) {
		removed, before, err := slotsOf(t, obj)
		if err != nil {
			return "", err
		}
		left, reused := removed.Reuse(before, after)
		if len(reused) == 0 {
			return "", nil
		}
		note := "reusing slot "
		if len(reused) > 1 {
			note = "reusing slots "
		}
		p.Edits = append(p.Edits, fieldpath.Annotate(apis.AnnotationRemovedSlots, left.String()))
		return note + strings.ReplaceAll(reused.String(), ",", ", "), nil
	}
}

// chooseByName adds the pods to podsToDelete. A CloneSet that shrinks deletes these pods first.
func chooseByName(_ context.Context, _ corev1client.PodsGetter, _ observe.Target, obj *unstructured.Unstructured, victims []*corev1.Pod, p *edit.Plan) error {
	all, _, err := unstructured.NestedSlice(obj.Object, "spec", "scaleStrategy", "podsToDelete")
	if err != nil {
		return fmt.Errorf("read .spec.scaleStrategy.podsToDelete: %w", err)
	}
	for _, pod := range victims {
		if slices.Contains(all, any(pod.Name)) {
			return fmt.Errorf("%w: pod %s is already in .spec.scaleStrategy.podsToDelete", outcome.ErrPrecondition, pod.Name)
		}
		all = append(all, pod.Name)
	}
	// This is a mark, because OpenKruise removes deleted pods from the list.
	p.Marks = append(p.Marks, fieldpath.Edit{Path: fieldpath.Fields("spec", "scaleStrategy", "podsToDelete"), Value: all})
	return nil
}

// removeByCost sets the lowest deletion cost on the pods, and then lowers the count.
func removeByCost(ctx context.Context, client dynamic.Interface, pods corev1client.PodsGetter, t observe.Target, field discover.Field, r Request) (Result, error) {
	obj, err := t.Resource(client).Get(ctx, t.Name, metav1.GetOptions{})
	if err != nil {
		return Result{}, err
	}
	if err := r.admits(t, obj); err != nil {
		return Result{}, err
	}
	owner, err := replicaSetOf(ctx, client, t, obj)
	if err != nil {
		return Result{}, err
	}
	victims, err := readVictims(ctx, pods, t, owner, r.Remove)
	if err != nil {
		return Result{}, err
	}
	after, err := r.wanted(t, obj, specReplicas())
	if err != nil {
		return Result{}, err
	}
	before := Before(obj, new(specReplicas()))
	note := fmt.Sprintf("removing %s if possible: the ReplicaSet controller deletes pods that are not ready first", strings.Join(r.Remove, ", "))
	if r.Local {
		return Result{Before: before, Replicas: after, Note: note, Written: edit.Written{Object: obj}}, specReplicas().Set(obj.Object, int64(after))
	}
	cheap := client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(t.Namespace)
	var marked []string
	for _, pod := range victims {
		if err = setCost(ctx, cheap, pod, r.Options); err != nil {
			break
		}
		marked = append(marked, pod.Name)
	}
	var done Result
	if err == nil {
		// Any decrease of the count may now delete these pods, so require that the count has not changed.
		r.Current = *before
		done, err = Set(ctx, t.Resource(client), t, field, r)
	}
	if err != nil && len(marked) > 0 && len(r.DryRun) == 0 {
		forget := commandline.Kubectl("annotate", "pod").In(t.Namespace).With(marked...).With(corev1.PodDeletionCost + "-")
		err = outcome.WithHint(err, "the pods keep their deletion cost; to remove it", forget)
	}
	done.Note = note
	return done, err
}

// replicaSetOf returns obj if it is a ReplicaSet, or a Deployment's only ReplicaSet that has or desires pods.
func replicaSetOf(ctx context.Context, client dynamic.Interface, t observe.Target, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if obj.GetKind() == "ReplicaSet" {
		if ref := metav1.GetControllerOf(obj); ref != nil {
			return nil, fmt.Errorf("cannot choose which pod of %s is removed: the %s sets its count; remove the pod from that", t, escape.Line(ref.Kind+" "+ref.Name))
		}
		return obj, nil
	}
	replicaSets := client.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}).Namespace(t.Namespace)
	list, err := replicaSets.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	active := slices.DeleteFunc(list.Items, func(rs unstructured.Unstructured) bool {
		wanted, _, _ := unstructured.NestedInt64(rs.Object, "spec", "replicas")
		pods, _, _ := unstructured.NestedInt64(rs.Object, "status", "replicas")
		return !metav1.IsControlledBy(&rs, obj) || wanted+pods == 0
	})
	switch len(active) {
	case 0:
		return nil, fmt.Errorf("%w: %s has no pods", outcome.ErrPrecondition, t)
	case 1:
		return &active[0], nil
	}
	return nil, fmt.Errorf("cannot choose which pod of %s is removed: %s and %s both have pods, and a rollout decides between them", t, active[0].GetName(), active[1].GetName())
}

// setCost sets the lowest deletion cost on a pod. It returns an error if another pod has its name now.
func setCost(ctx context.Context, pods dynamic.ResourceInterface, pod *corev1.Pod, o edit.Options) error {
	_, err := edit.Apply(ctx, pods, pod.Name, nil, func(obj *unstructured.Unstructured) (edit.Plan, error) {
		if obj.GetUID() != pod.UID {
			return edit.Plan{}, fmt.Errorf("%w: another pod has the name %s now", outcome.ErrPrecondition, pod.Name)
		}
		cost := fieldpath.Annotate(corev1.PodDeletionCost, strconv.Itoa(math.MinInt32))
		return edit.Plan{Edits: []fieldpath.Edit{cost}}, nil
	}, o)
	return err
}

func specReplicas() fieldpath.Path { return fieldpath.Fields("spec", "replicas") }
