package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/replica"
)

// What is written for a kind is read again as it was, as far as the kind has a
// place for it.
func TestStatusComesBackFromItsFields(t *testing.T) {
	all := plan.Status{
		ObservedGeneration: 7, Selector: "a=b", Desired: 1, Current: 2, Updated: 3, Ready: 4, Available: 5, PodNames: []string{"x", "y"},
		Conditions: []metav1.Condition{{Type: "Ready", Status: "True", LastTransitionTime: metav1.NewTime(time.Unix(1, 0).UTC())}},
	}
	for _, kind := range replica.Shipped() {
		fields, err := encodeStatus(kind.Recipe.Status, all)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeStatus(kind.Recipe.Status, &unstructured.Unstructured{Object: fields})
		if err != nil {
			t.Fatal(err)
		}
		want := all.Shown(shows(kind.Recipe.Status))
		for i := range got.Conditions {
			got.Conditions[i].LastTransitionTime = metav1.NewTime(got.Conditions[i].LastTransitionTime.UTC())
		}
		if !equality.Semantic.DeepEqual(got, want) {
			t.Errorf("%s: read\n%+v\nwant\n%+v", kind.Kind, got, want)
		}
	}
}

func TestNamesOfNoPodsAreAListAllTheSame(t *testing.T) {
	fields, err := encodeStatus(replica.HelloWorld().Recipe.Status, plan.Status{})
	if err != nil {
		t.Fatal(err)
	}
	names, found, err := unstructured.NestedSlice(fields, "status", "nodes")
	if err != nil || !found || names == nil {
		t.Errorf("status.nodes is %v (%v)", names, err)
	}
}
