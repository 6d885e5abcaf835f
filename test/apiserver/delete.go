package apiserver

import (
	"fmt"
	"slices"
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
	if policy := opts.PropagationPolicy; policy != nil && *policy == metav1.DeletePropagationOrphan {
		return opts, apierrors.NewBadRequest("this server orphans no objects")
	}
	return opts, nil
}

// delete deletes an object. It returns the object if the deletion is pending, and a Status otherwise.
func (s *Server) delete(r Request, obj *unstructured.Unstructured) (any, error) {
	opts, err := r.deleteOptions()
	if err != nil {
		return nil, err
	}
	if p := opts.Preconditions; p != nil {
		if p.UID != nil && *p.UID != obj.GetUID() {
			return nil, apierrors.NewConflict(r.resource.gr(), r.Name, fmt.Errorf("precondition failed: UID in precondition: %s, UID in object meta: %s", *p.UID, obj.GetUID()))
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != obj.GetResourceVersion() {
			return nil, apierrors.NewConflict(r.resource.gr(), r.Name, fmt.Errorf("precondition failed: ResourceVersion in precondition: %s, ResourceVersion in object meta: %s", *p.ResourceVersion, obj.GetResourceVersion()))
		}
	}
	if len(opts.DryRun) == 0 {
		s.checkRequest(r, watch.Deleted, obj, nil)
		if left := s.end(r.resource, obj, opts.GracePeriodSeconds); left != nil {
			return r.view(left), nil
		}
	}
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: r.Name, Group: r.Group, Kind: r.Resource, UID: obj.GetUID()},
	}, nil
}

// end deletes an object. If the object has finalizers or a grace period, end sets its deletion
// timestamp and returns the object. Otherwise, end removes the object and returns nil. The propagation policy is
// always Background: the server deletes the dependents after the object.
func (s *Server) end(r *resource, obj *unstructured.Unstructured, grace *int64) *unstructured.Unstructured {
	left := obj.DeepCopy()
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
	return left
}

// gracePeriod returns the grace period in seconds. It is zero except for scheduled pods that have not terminated.
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

// remove removes an object from the store, and then deletes its dependents. It also removes the objects in a namespace,
// and the custom resources of a CRD. If the store has no object with the same name and UID, remove does nothing.
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
		plural, group, _ := strings.Cut(obj.GetName(), ".")
		gone := &resource{group: group, plural: plural}
		for _, in := range s.all(gone.gr(), "") {
			s.remove(gone, in)
		}
	}
}

// collect deletes the dependents of a removed object, except those with another existing owner.
func (s *Server) collect(gone *unstructured.Unstructured) {
	for _, r := range s.resources {
		for _, obj := range s.all(r.gr(), "") {
			owners := obj.GetOwnerReferences()
			owned := slices.ContainsFunc(owners, func(ref metav1.OwnerReference) bool { return ref.UID == gone.GetUID() })
			if owned && !slices.ContainsFunc(owners, func(ref metav1.OwnerReference) bool { return s.lives(ref.UID) }) {
				s.end(r, obj, nil)
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
