package apiserver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// deleteOptions returns the delete options of a request. The query overrides the body.
func (r Request) deleteOptions() (metav1.DeleteOptions, error) {
	var opts metav1.DeleteOptions
	if len(r.Body) > 0 {
		u, err := decode(r.ContentType, r.Body)
		if err != nil {
			return opts, err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &opts); err != nil {
			return opts, apierrors.NewBadRequest(err.Error())
		}
	}
	if policy := r.Query.Get("propagationPolicy"); policy != "" {
		opts.PropagationPolicy = new(metav1.DeletionPropagation(policy))
	}
	if grace, err := strconv.ParseInt(r.Query.Get("gracePeriodSeconds"), 10, 64); err == nil {
		opts.GracePeriodSeconds = &grace
	}
	if r.dryRun() {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	return opts, nil
}

// delete deletes an object. It returns the object if the deletion is pending, and a Status otherwise.
func (s *Server) delete(q Request, obj *unstructured.Unstructured) (any, error) {
	opts, err := q.deleteOptions()
	if err != nil {
		return nil, err
	}
	if p := opts.Preconditions; p != nil {
		if p.UID != nil && *p.UID != obj.GetUID() {
			return nil, apierrors.NewConflict(q.resource.gr(), q.Name, fmt.Errorf("precondition failed: UID in precondition: %s, UID in object meta: %s", *p.UID, obj.GetUID()))
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != obj.GetResourceVersion() {
			return nil, apierrors.NewConflict(q.resource.gr(), q.Name, fmt.Errorf("precondition failed: ResourceVersion in precondition: %s, ResourceVersion in object meta: %s", *p.ResourceVersion, obj.GetResourceVersion()))
		}
	}
	if len(opts.DryRun) == 0 {
		policy := metav1.DeletePropagationBackground
		if opts.PropagationPolicy != nil {
			policy = *opts.PropagationPolicy
		}
		s.checkRequest(q, watch.Deleted, obj, nil)
		if left := s.end(q.resource, obj, opts.GracePeriodSeconds, policy); left != nil {
			return q.view(left), nil
		}
	}
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: q.Name, Group: q.Group, Kind: q.Resource, UID: obj.GetUID()},
	}, nil
}

// end deletes an object. If the object has finalizers or a grace period, end sets its deletion
// timestamp and returns it. Otherwise, end removes the object and returns nil.
func (s *Server) end(r *resource, obj *unstructured.Unstructured, grace *int64, policy metav1.DeletionPropagation) *unstructured.Unstructured {
	left := obj.DeepCopy()
	switch policy {
	case metav1.DeletePropagationOrphan:
		s.orphan(obj.GetUID())
	case metav1.DeletePropagationForeground:
		if len(s.dependents(obj.GetUID())) > 0 && !slices.Contains(left.GetFinalizers(), metav1.FinalizerDeleteDependents) {
			left.SetFinalizers(append(left.GetFinalizers(), metav1.FinalizerDeleteDependents))
		}
	}
	seconds := gracePeriod(r, obj, grace)
	if seconds == 0 && len(left.GetFinalizers()) == 0 {
		s.remove(r, obj)
		return nil
	}
	if by := left.GetDeletionTimestamp(); by == nil || seconds < *left.GetDeletionGracePeriodSeconds() {
		left.SetDeletionTimestamp(new(metav1.NewTime(time.Now().Add(time.Duration(seconds) * time.Second).Truncate(time.Second))))
		left.SetDeletionGracePeriodSeconds(&seconds)
		if left.GetGeneration() > 0 && by == nil {
			left.SetGeneration(left.GetGeneration() + 1)
		}
	}
	if !equalButForTimes(obj, left) {
		left, _ = s.commit(r, obj, left) // commit rejects only CRDs with an invalid spec
	}
	if policy == metav1.DeletePropagationForeground {
		for _, d := range s.dependents(obj.GetUID()) {
			s.end(d.resource, d.object, nil, policy)
		}
	}
	return left
}

// gracePeriod returns the grace period in seconds. It is zero except for scheduled pods that have
// not terminated.
func gracePeriod(r *resource, obj *unstructured.Unstructured, given *int64) int64 {
	node, _, _ := unstructured.NestedString(obj.Object, "spec", "nodeName")
	phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
	if r.group != "" || r.kind != "Pod" || node == "" || phase == string(corev1.PodSucceeded) || phase == string(corev1.PodFailed) {
		return 0
	}
	if given != nil {
		return *given
	}
	seconds, _, _ := unstructured.NestedInt64(obj.Object, "spec", "terminationGracePeriodSeconds")
	return seconds
}

// remove deletes an object and its dependents from the store. For a namespace or CRD, it also deletes the
// objects in it. If the store has no object with the same name and UID, remove does nothing.
func (s *Server) remove(r *resource, obj *unstructured.Unstructured) {
	if now := s.objects[r.gr()][keyOf(obj)]; now == nil || now.GetUID() != obj.GetUID() {
		return
	}
	_, _ = s.commit(r, obj, nil) // a deletion cannot fail
	s.collect(obj)
	if r.kind == "Namespace" && r.group == "" {
		for _, of := range s.resources {
			for _, in := range s.all(of.gr(), obj.GetName()) {
				s.remove(of, in)
			}
		}
	}
	if r.plural == "customresourcedefinitions" {
		group, plural, _ := strings.Cut(obj.GetName(), ".")
		gone := &resource{group: plural, plural: group}
		for _, in := range s.all(gone.gr(), "") {
			s.remove(gone, in)
		}
	}
}

type dependent struct {
	resource *resource
	object   *unstructured.Unstructured
}

func (s *Server) dependents(owner types.UID) []dependent {
	var list []dependent
	for _, r := range s.resources {
		for _, obj := range s.all(r.gr(), "") {
			if slices.ContainsFunc(obj.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == owner }) {
				list = append(list, dependent{r, obj})
			}
		}
	}
	return list
}

// orphan removes an owner from the owner references of its dependents.
func (s *Server) orphan(owner types.UID) {
	for _, d := range s.dependents(owner) {
		free := d.object.DeepCopy()
		free.SetOwnerReferences(slices.DeleteFunc(free.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == owner }))
		_, _ = s.commit(d.resource, d.object, free)
	}
}

// collect deletes the dependents of a removed object unless they have another owner. If the object
// was the last dependent of an owner in foreground deletion, collect completes that deletion.
func (s *Server) collect(gone *unstructured.Unstructured) {
	for _, d := range s.dependents(gone.GetUID()) {
		if !slices.ContainsFunc(d.object.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return s.lives(ref.UID) }) {
			s.end(d.resource, d.object, nil, metav1.DeletePropagationBackground)
		}
	}
	for _, ref := range gone.GetOwnerReferences() {
		for _, r := range s.resources {
			for _, owner := range s.all(r.gr(), gone.GetNamespace()) {
				if owner.GetUID() == ref.UID && slices.Contains(owner.GetFinalizers(), metav1.FinalizerDeleteDependents) && len(s.dependents(ref.UID)) == 0 {
					s.finalize(r, owner, metav1.FinalizerDeleteDependents)
				}
			}
		}
	}
}

func (s *Server) lives(uid types.UID) bool {
	for _, objects := range s.objects {
		for _, obj := range objects {
			if obj.GetUID() == uid {
				return true
			}
		}
	}
	return false
}

// finalize removes a finalizer from an object. It removes the object if no finalizer is left.
func (s *Server) finalize(r *resource, obj *unstructured.Unstructured, finalizer string) {
	after := obj.DeepCopy()
	after.SetFinalizers(slices.DeleteFunc(after.GetFinalizers(), func(f string) bool { return f == finalizer }))
	if len(after.GetFinalizers()) == 0 {
		s.remove(r, obj)
		return
	}
	_, _ = s.commit(r, obj, after)
}
