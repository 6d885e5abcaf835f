package play

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/imoocpod/kubectl-imoocpod/test/apiserver"
)

const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	hashLabel          = "pod-template-hash"
	manager            = "kube-controller-manager"
)

// ReplicaSets simulates the ReplicaSet controller.
func ReplicaSets(s *apiserver.Server) {
	a := s.As(manager)
	control(s, "replicasets", "ReplicaSet", func(rs *unstructured.Unstructured) time.Duration {
		pods := owned(s, "pods", rs)
		template, _, _ := unstructured.NestedMap(rs.Object, "spec", "template")
		want := number(rs, 1, "spec", "replicas")
		for range want - len(pods) {
			createPod(a, rs, template, "", nil)
		}
		if len(pods) > want {
			// Delete unready pods first, then the youngest.
			slices.Reverse(pods)
			slices.SortStableFunc(pods, func(x, y *unstructured.Unstructured) int { return rank(x) - rank(y) })
			for _, pod := range pods[:len(pods)-want] {
				a.Delete("pods", pod.GetNamespace(), pod.GetName())
			}
		}
		pods = owned(s, "pods", rs)
		n := int64(countReady(pods))
		setStatus(a, "replicasets", rs, map[string]any{"observedGeneration": rs.GetGeneration(), "replicas": int64(len(pods)), "fullyLabeledReplicas": int64(len(pods)), "readyReplicas": n, "availableReplicas": n})
		return 0
	})
}

func rank(pod *unstructured.Unstructured) int {
	if ready(pod) {
		return 1
	}
	return 0
}

// Deployments simulates the Deployment controller. It treats every strategy as RollingUpdate.
func Deployments(s *apiserver.Server) {
	control(s, "deployments", "Deployment", func(d *unstructured.Unstructured) time.Duration {
		r := &rollout{s: s, a: s.As(manager), d: d, replicas: number(d, 1, "spec", "replicas")}
		paused, _, _ := unstructured.NestedBool(d.Object, "spec", "paused")
		r.find(paused)
		if r.now == nil || paused {
			if active := r.active(); active != nil {
				r.scale(active, r.replicas)
			}
		} else {
			r.roll()
		}
		r.report(paused)
		return 0
	})
}

// rollout is one reconcile of a Deployment.
type rollout struct {
	s        *apiserver.Server
	a        apiserver.Actor
	d        *unstructured.Unstructured
	replicas int
	// now is the ReplicaSet of the current template, or nil. old has the other ReplicaSets, sorted by revision.
	now *unstructured.Unstructured
	old []*unstructured.Unstructured
}

// find sets r.now and r.old. If the Deployment is not paused, find also creates a missing
// ReplicaSet for the current template, and updates the revisions.
func (r *rollout) find(paused bool) {
	template, _, _ := unstructured.NestedMap(r.d.Object, "spec", "template")
	hash := hashOf(template)
	last := 0
	for _, rs := range owned(r.s, "replicasets", r.d) {
		if rs.GetLabels()[hashLabel] == hash {
			r.now = rs
		} else {
			r.old = append(r.old, rs)
		}
		last = max(last, revisionOf(rs))
	}
	slices.SortFunc(r.old, func(x, y *unstructured.Unstructured) int { return revisionOf(x) - revisionOf(y) })
	if paused {
		return
	}
	next := last + 1
	switch {
	case r.now == nil:
		labels := maps.Clone(labelsIn(template))
		if labels == nil {
			labels = map[string]string{}
		}
		labels[hashLabel] = hash
		_ = unstructured.SetNestedStringMap(template, labels, "metadata", "labels")
		selector, _, _ := unstructured.NestedMap(r.d.Object, "spec", "selector")
		_ = unstructured.SetNestedField(selector, hash, "matchLabels", hashLabel)
		rs := child(r.d, "apps/v1", "ReplicaSet", r.d.GetName()+"-"+hash, labels)
		annotations := maps.Clone(r.d.GetAnnotations())
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[revisionAnnotation] = strconv.Itoa(next)
		rs.SetAnnotations(annotations)
		rs.Object["spec"] = map[string]any{"replicas": int64(0), "selector": selector, "template": template}
		r.now = r.a.Create(rs).DeepCopy() // because scale changes it
	case revisionOf(r.now) < last:
		r.now = r.a.Update("replicasets", r.now.GetNamespace(), r.now.GetName(), func(rs *unstructured.Unstructured) {
			earlier := rs.GetAnnotations()[revisionAnnotation+"-history"]
			_ = unstructured.SetNestedField(rs.Object, strings.TrimPrefix(fmt.Sprint(earlier, ",", revisionOf(rs)), ","), "metadata", "annotations", revisionAnnotation+"-history")
			annotate(rs, next)
		}).DeepCopy()
	}
	if r.now != nil && revisionOf(r.d) != revisionOf(r.now) {
		r.a.Update("deployments", r.d.GetNamespace(), r.d.GetName(), func(d *unstructured.Unstructured) { annotate(d, revisionOf(r.now)) })
	}
}

func annotate(obj *unstructured.Unstructured, revision int) {
	_ = unstructured.SetNestedField(obj.Object, strconv.Itoa(revision), "metadata", "annotations", revisionAnnotation)
}

func revisionOf(obj *unstructured.Unstructured) int {
	n, _ := strconv.Atoi(obj.GetAnnotations()[revisionAnnotation])
	return n
}

func hashOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	h := fnv.New32a()
	_, _ = h.Write(text)
	return fmt.Sprintf("%08x", h.Sum32())
}

// active returns r.now if it has replicas, or else the newest old ReplicaSet with replicas, or else r.now.
func (r *rollout) active() *unstructured.Unstructured {
	if r.now != nil && number(r.now, 0, "spec", "replicas") > 0 {
		return r.now
	}
	for _, rs := range slices.Backward(r.old) {
		if number(rs, 0, "spec", "replicas") > 0 {
			return rs
		}
	}
	return r.now
}

func (r *rollout) scale(rs *unstructured.Unstructured, n int) {
	if number(rs, 0, "spec", "replicas") == n {
		return
	}
	r.a.Update("replicasets", rs.GetNamespace(), rs.GetName(), func(rs *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(rs.Object, int64(n), "spec", "replicas")
	})
	_ = unstructured.SetNestedField(rs.Object, int64(n), "spec", "replicas")
}

// roll takes one step of a rolling update.
func (r *rollout) roll() {
	surge, unavailable := r.bound("maxSurge", true), r.bound("maxUnavailable", false)
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	total := number(r.now, 0, "spec", "replicas")
	for _, rs := range r.old {
		total += number(rs, 0, "spec", "replicas")
	}
	size := number(r.now, 0, "spec", "replicas")
	switch {
	case size > r.replicas:
		r.scale(r.now, r.replicas)
	case size < r.replicas:
		up := min(r.replicas-size, max(0, r.replicas+surge-total))
		r.scale(r.now, size+up)
		total += up
	}
	// Remove unavailable pods first, and then available pods while enough remain.
	size = number(r.now, 0, "spec", "replicas")
	down := total - (r.replicas - unavailable) - (size - min(size, number(r.now, 0, "status", "availableReplicas")))
	for _, broken := range []bool{true, false} {
		for _, rs := range r.old {
			has, available := number(rs, 0, "spec", "replicas"), number(rs, 0, "status", "availableReplicas")
			n := min(has, max(0, down))
			if broken {
				n = min(n, max(0, has-available))
			}
			r.scale(rs, has-n)
			down -= n
		}
	}
}

// bound returns maxSurge or maxUnavailable as a number of pods. If up is true, it rounds a percentage up.
func (r *rollout) bound(name string, up bool) int {
	value, _, _ := unstructured.NestedFieldNoCopy(r.d.Object, "spec", "strategy", "rollingUpdate", name)
	either := intstr.Parse(fmt.Sprint(value))
	n, err := intstr.GetScaledValueFromIntOrPercent(&either, r.replicas, up)
	if err != nil {
		return 1
	}
	return n
}

// report writes the status of the Deployment.
func (r *rollout) report(paused bool) {
	count := func(sets []*unstructured.Unstructured, field string) (n int64) {
		for _, rs := range sets {
			if rs != nil {
				n += int64(number(r.s.Get("replicasets", rs.GetNamespace(), rs.GetName()), 0, "status", field))
			}
		}
		return n
	}
	all := append(slices.Clone(r.old), r.now)
	total, updated, available := count(all, "replicas"), count([]*unstructured.Unstructured{r.now}, "replicas"), count(all, "availableReplicas")
	want := int64(r.replicas)
	done := updated == want && total == want && available >= want
	enough := available >= want-int64(r.bound("maxUnavailable", false))
	reason, message := "MinimumReplicasAvailable", "Deployment has minimum availability."
	if !enough {
		reason, message = "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
	}
	setStatus(r.a, "deployments", r.d, map[string]any{
		"observedGeneration": r.d.GetGeneration(), "replicas": total, "updatedReplicas": updated, "readyReplicas": available,
		"availableReplicas": available, "unavailableReplicas": max(0, want-available),
		"conditions": []any{condition(r.d, "Available", enough, reason, message), r.progress(done, paused)},
	})
}

// progress returns the condition Progressing. A simulated rollout never exceeds its deadline.
func (r *rollout) progress(done, paused bool) map[string]any {
	switch {
	case done:
		return condition(r.d, "Progressing", true, "NewReplicaSetAvailable", "ReplicaSet has successfully progressed.")
	case paused:
		return condition(r.d, "Progressing", true, "DeploymentPaused", "Deployment is paused")
	}
	message := fmt.Sprintf("ReplicaSet %q is progressing.", r.now.GetName())
	return condition(r.d, "Progressing", true, "ReplicaSetUpdated", message)
}
