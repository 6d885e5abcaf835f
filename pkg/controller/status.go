package controller

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/memory"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// statusWriter writes the status of one object.
type statusWriter struct {
	owners *owners
	key    memory.Key
	memory *memory.Memory
}

// write writes a status, on condition that the object is still as the plan
// saw it, and returns the object with what came of it; nil: there is no such
// object, or its CRD has no status.
func (w statusWriter) write(ctx context.Context, seen *unstructured.Unstructured, status plan.Status) (*unstructured.Unstructured, error) {
	ctx, cancel := strategy.Finish(ctx)
	defer cancel()
	whole, err := strategy.EncodeStatus(w.owners.kind.Mapping.Status, status, seen)
	if err != nil {
		return nil, fmt.Errorf("write the status: %w", err)
	}
	// A merge patch would drop the nulls in what others wrote. The version, of which
	// no other object has the same, makes a lost race a conflict.
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/resourceVersion", "value": seen.GetResourceVersion()},
		{"op": "add", "path": "/status", "value": whole},
	})
	if err != nil {
		return nil, fmt.Errorf("write the status: %w", err)
	}
	w.memory.ExpectStatus(w.key, status.Masked(w.owners.kind.Mapping.Status)) // its event may come before the answer
	// A CRD may have no place for a part of it, which is then dropped: that is no
	// reason to warn the person who runs the loop.
	obj, err := w.owners.client.Namespace(w.key.Namespace).Patch(ctx, w.key.Name, types.JSONPatchType, patch,
		metav1.PatchOptions{FieldManager: kinds.FieldManager, FieldValidation: metav1.FieldValidationIgnore}, "status")
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsConflict(err):
		return nil, strategy.ErrConflict
	case err != nil:
		return nil, fmt.Errorf("write the status: %w", err)
	}
	w.memory.ExpectStatus(w.key, strategy.DecodeStatus(w.owners.kind.Mapping.Status, obj))
	return obj, nil
}
