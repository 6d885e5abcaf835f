package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/imoocpod/kubectl-imoocpod/pkg/replica"
)

// A plan whose object has changed is given up at once where the cache tells, and
// within a second where it does not.
func TestPlanIsGivenUpWhenItsObjectHasChanged(t *testing.T) {
	kind := replica.ImoocPod()
	version := func(resourceVersion string, generation int64) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(kind.GroupVersionKind())
		obj.SetNamespace("ns")
		obj.SetName("foo")
		obj.SetUID("u")
		obj.SetResourceVersion(resourceVersion)
		obj.SetGeneration(generation)
		return obj
	}
	for name, test := range map[string]struct {
		cached, stored *unstructured.Unstructured
		after          time.Duration
		want           bool
	}{
		"nothing changed":                               {version("5", 1), version("5", 1), time.Minute, true},
		"the cache knows that it changed":               {version("7", 2), version("7", 2), 0, false},
		"the cache knows that it is gone":               {nil, nil, 0, false},
		"a cache behind what was read":                  {version("3", 0), version("5", 1), time.Minute, true},
		"the cache does not know, and it was just read": {version("5", 1), version("7", 2), readAgain - 1, true},
		"the cache does not know that it changed":       {version("5", 1), version("7", 2), readAgain, false},
		"the cache does not know that it is gone":       {version("5", 1), nil, readAgain, false},
	} {
		t.Run(name, func(t *testing.T) {
			var there []runtime.Object
			if test.stored != nil {
				there = append(there, test.stored)
			}
			client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
				map[schema.GroupVersionResource]string{kind.Resource: "ImoocPodList"}, there...)
			store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
			if test.cached != nil {
				if err := store.Add(test.cached); err != nil {
					t.Fatal(err)
				}
			}
			noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
			c := &Controller{clock: clocktesting.NewFakePassiveClock(noon.Add(test.after))}
			o := &owners{kind: kind, client: client.Resource(kind.Resource), store: store}
			if got := c.stillWanted(t.Context(), o, version("5", 1), noon)(); got != test.want {
				t.Errorf("the plan still holds: %v, want %v", got, test.want)
			}
		})
	}
}
