// Package models makes models of pods for tests.
package models

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

// Of converts and sorts pods. It returns nil if pods is nil.
func Of(pods []corev1.Pod) []*problem.Pod {
	if pods == nil {
		return nil
	}
	all := []*problem.Pod{}
	for i := range pods {
		all = append(all, problem.NewPod(&pods[i]))
	}
	slices.SortFunc(all, problem.ComparePods)
	return all
}
