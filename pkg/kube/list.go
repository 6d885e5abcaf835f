package kube

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"
)

// List reads the selected objects, a page at a time because there may be many.
func List(ctx context.Context, objects dynamic.ResourceInterface, opts metav1.ListOptions) ([]unstructured.Unstructured, error) {
	pages := pager.New(func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		return objects.List(ctx, opts)
	})
	list, _, err := pages.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	var all []unstructured.Unstructured
	err = meta.EachListItem(list, func(obj runtime.Object) error {
		if one, is := obj.(*unstructured.Unstructured); is {
			all = append(all, *one)
		}
		return nil
	})
	return all, err
}
