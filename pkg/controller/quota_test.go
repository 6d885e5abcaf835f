package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

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
