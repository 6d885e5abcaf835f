package controller

import (
	"errors"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// The loop writes a status only if the object has not changed since the plan read it. Otherwise,
// the loop plans again.
func TestStatusOfAChangedObjectIsNotWritten(t *testing.T) {
	inWorld(t, imoocPods(), func(w *world) {
		kind := kinds.ImoocPod()
		w.create(kind, "default", "foo", spec(int64(1), nil))
		w.start()
		w.converges()
		w.end() // now only the test writes
		o := w.c.kinds.get(kind.CRD())
		seen := w.Get(kind.CRD(), "default", "foo")
		w.Update(kind.CRD(), "default", "foo", func(obj *unstructured.Unstructured) { set(obj, "theirs", "status", "phase") })
		changed := w.Get(kind.CRD(), "default", "foo")
		status := strategy.DecodeStatus(kind.Mapping.Status, seen)
		status.Ready = 7
		writer := &statusWriter{reconciliation: reconciliation{
			Controller: w.c, owners: o, key: o.keyOf("default", "foo"), object: seen, mem: &memory.Object{}, plan: plan.Actions{Status: status},
		}}
		if err := writer.writePlanned(t.Context()); !errors.Is(err, strategy.ErrConflict) {
			t.Errorf("error %v, want a conflict", err)
		}
		if now := w.Get(kind.CRD(), "default", "foo"); !reflect.DeepEqual(now, changed) {
			t.Errorf("the object was\n%v\nand is\n%v", changed, now)
		}
		writer.object = changed
		if err := writer.writePlanned(t.Context()); err != nil || strategy.DecodeStatus(kind.Mapping.Status, writer.object).Ready != 7 {
			t.Errorf("wrote %v, error %v for the object as it is", writer.object, err)
		}
		if phase, _, _ := unstructured.NestedString(w.Get(kind.CRD(), "default", "foo").Object, "status", "phase"); phase != "theirs" {
			t.Errorf("the field of somebody else is %q", phase)
		}
	})
}
