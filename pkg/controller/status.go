package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
)

// statusWriter writes the status of an object while its plan is applied. It makes further plans to
// update the status, so it has its own copy of the reconciliation.
type statusWriter struct {
	reconciliation
	// written is the plan whose status was written last or, before the first write, the first plan.
	written plan.Actions
}

// writeUntilApplied writes the status of the plan, and updates it every plan.StatusInterval until
// the context ends. Meanwhile, nothing else changes the memory of the object.
func (w *statusWriter) writeUntilApplied(ctx context.Context) error {
	for {
		if w.plan.WriteStatus && !w.owners.withdrawn.Load() {
			if err := w.writePlanned(ctx); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(plan.StatusInterval):
		}
		w.makePlan()
	}
}

// writePlanned writes the status of the plan, and remembers the result.
func (w *statusWriter) writePlanned(ctx context.Context) error {
	now, err := w.write(ctx, w.object, w.plan.Status)
	if errors.Is(err, strategy.ErrConflict) {
		w.mem.Plan.Written = w.mem.Plan.Written.Refused(w.view.Now)
	}
	if err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	stored := w.view.Owner.Status
	if now != nil {
		w.object = now
		w.mem.Wrote(w.key.Kind, now.GetResourceVersion())
		stored = strategy.DecodeStatus(w.owners.kind.Mapping.Status, now)
	}
	w.mem.Plan.Written = w.mem.Plan.Written.Next(w.view.Now, w.plan.Status, stored)
	w.written = w.plan
	return nil
}

// write writes a status, or returns ErrConflict if the object has changed since it was seen. It
// returns the stored object, or nil if the object is gone or its CRD has no status.
func (r *reconciliation) write(ctx context.Context, seen *unstructured.Unstructured, status plan.Status) (*unstructured.Unstructured, error) {
	ctx, cancel := strategy.Finish(ctx)
	defer cancel()
	encoded, err := strategy.EncodeStatus(r.owners.kind.Mapping.Status, status, seen)
	if err != nil {
		return nil, err
	}
	// A merge patch would drop nulls that others wrote. With the resourceVersion in the patch, the
	// server answers with a conflict if the object has changed.
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/resourceVersion", "value": seen.GetResourceVersion()},
		{"op": "add", "path": "/status", "value": encoded},
	})
	if err != nil {
		return nil, err
	}
	// The server drops status fields that the schema of the CRD lacks. By default, it would send a
	// warning about them with each write, which the user who runs the loop would see.
	obj, err := r.owners.client.Namespace(r.key.Namespace).Patch(ctx, r.key.Name, types.JSONPatchType, patch,
		metav1.PatchOptions{FieldManager: kinds.FieldManager, FieldValidation: metav1.FieldValidationIgnore}, "status")
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsConflict(err):
		return nil, strategy.ErrConflict
	}
	return obj, err
}
