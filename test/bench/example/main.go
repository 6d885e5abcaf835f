// Example reconciles the pods of ImoocPods like a small controller built on
// controller-runtime: it lists the pods of an object by an index of its cache,
// creates or deletes the difference, and updates the status. Bench compares our
// loop with it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	namespace := flag.String("namespace", "", "the `namespace` to work in")
	workers := flag.Int("workers", 1, "how many objects are reconciled at the same time")
	flag.Parse() // controller-runtime registers flags, too
	if err := run(ctrl.SetupSignalHandler(), *namespace, *workers); err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

// byOwner indexes pods by the name of the ImoocPod that controls them.
const byOwner = ".metadata.controller"

func imoocPod() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "batch.tutorial.kubebuilder.io", Version: "v1alpha1", Kind: "ImoocPod"})
	return u
}

func run(ctx context.Context, namespace string, workers int) error {
	ctrl.SetLogger(klog.Background())
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS, config.UserAgent = -1, "example"
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Client:  client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	err = mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, byOwner, func(obj client.Object) []string {
		if ref := metav1.GetControllerOf(obj); ref != nil && ref.Kind == "ImoocPod" {
			return []string{ref.Name}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(mgr).For(imoocPod()).Owns(&corev1.Pod{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).Complete(&reconciler{mgr.GetClient()})
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

type reconciler struct{ client.Client }

// Reconcile creates or deletes pods until their number matches spec.replicas.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	owner := imoocPod()
	if err := r.Get(ctx, req.NamespacedName, owner); err != nil || owner.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var list corev1.PodList
	if err := r.List(ctx, &list, client.InNamespace(req.Namespace), client.MatchingFields{byOwner: req.Name}); err != nil {
		return ctrl.Result{}, err
	}
	pods := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	desired, _, err := unstructured.NestedInt64(owner.Object, "spec", "replicas")
	if err != nil {
		return ctrl.Result{}, err
	}
	for range int(desired) - len(pods) {
		pod, err := r.newPod(owner)
		if err != nil {
			return ctrl.Result{}, err
		}
		if err := r.Create(ctx, pod); err != nil {
			return ctrl.Result{}, err
		}
	}
	for i := range max(0, len(pods)-int(desired)) {
		if err := r.Delete(ctx, &pods[i]); client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, r.updateStatus(ctx, owner, pods)
}

// newPod returns a pod of the object's template.
func (r *reconciler) newPod(owner *unstructured.Unstructured) (*corev1.Pod, error) {
	field, _, err := unstructured.NestedMap(owner.Object, "spec", "template")
	if err != nil {
		return nil, err
	}
	var template corev1.PodTemplateSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(field, &template); err != nil {
		return nil, err
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: owner.GetName() + "-", Namespace: owner.GetNamespace(), Labels: template.Labels, Annotations: template.Annotations},
		Spec:       template.Spec,
	}
	return pod, ctrl.SetControllerReference(owner, pod, r.Scheme())
}

// updateStatus updates the number of pods in the status if it changed.
func (r *reconciler) updateStatus(ctx context.Context, owner *unstructured.Unstructured, pods []corev1.Pod) error {
	ready := int64(0)
	for i := range pods {
		if slices.ContainsFunc(pods[i].Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			ready++
		}
	}
	changed := false
	owner = owner.DeepCopy() // shared with the cache
	for field, n := range map[string]int64{"replicas": int64(len(pods)), "readyReplicas": ready, "observedGeneration": owner.GetGeneration()} {
		before, found, err := unstructured.NestedInt64(owner.Object, "status", field)
		if err != nil {
			return err
		}
		if found && before == n {
			continue
		}
		changed = true
		if err := unstructured.SetNestedField(owner.Object, n, "status", field); err != nil {
			return err
		}
	}
	if !changed {
		return nil
	}
	return r.Status().Update(ctx, owner)
}
