package controller

import (
	"errors"
	"fmt"
	"io"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRefusalReason(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for _, test := range []struct {
		name string
		err  error
		want string // "" is no refusal: worth an early retry
	}{
		{"quota", apierrors.NewForbidden(pods, "a", errors.New("exceeded quota: few, requested: pods=1")), "QuotaExceeded"},
		{"rights", apierrors.NewForbidden(pods, "a", errors.New("User cannot create")), "Forbidden"},
		{"a new kind", apierrors.NewForbidden(pods, "a", errors.New(`cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion example.com/v1 Kind Foo: no matches for kind "Foo"`)), ""},
		{"admission", apierrors.NewBadRequest("admission webhook denied the request"), "CreateRejected"},
		{"invalid", apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", nil), "CreateRejected"},
		{"wrapped", fmt.Errorf("create: %w", apierrors.NewBadRequest("no")), "CreateRejected"},
		{"conflict", apierrors.NewConflict(pods, "a", errors.New("modified")), ""},
		{"busy", apierrors.NewTooManyRequests("slow down", 1), ""},
		{"credentials", apierrors.NewUnauthorized("expired"), ""},
		{"server", apierrors.NewInternalError(errors.New("etcd")), ""},
		{"away", apierrors.NewServiceUnavailable("shutting down"), ""},
		{"connection", io.ErrUnexpectedEOF, ""},
	} {
		reason, refused := refusalReason(test.err)
		if reason != test.want || refused != (test.want != "") {
			t.Errorf("%s: %q, %v; want %q", test.name, reason, refused, test.want)
		}
	}
}

func TestGivesWay(t *testing.T) {
	quota := func(hard, used string) corev1.ResourceQuotaStatus {
		s := corev1.ResourceQuotaStatus{Hard: corev1.ResourceList{}, Used: corev1.ResourceList{}}
		if hard != "" {
			s.Hard["pods"] = resource.MustParse(hard)
			s.Used["pods"] = resource.MustParse(used)
		}
		return s
	}
	for _, test := range []struct {
		name          string
		before, after corev1.ResourceQuotaStatus
		want          bool
	}{
		{"nothing", quota("5", "5"), quota("5", "5"), false},
		{"the limit rises", quota("5", "5"), quota("6", "5"), true},
		{"the limit falls", quota("5", "5"), quota("4", "5"), false},
		{"the use falls", quota("5", "5"), quota("5", "4"), true},
		{"the use rises: our own creates", quota("5", "3"), quota("5", "4"), false},
		{"the limit goes", quota("5", "5"), quota("", ""), true},
	} {
		if got := givesWay(test.before, test.after); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
