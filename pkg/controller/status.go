package controller

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/plan"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/strategy"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kinds"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// statusWriter writes the status while a plan is applied. It makes more plans, so it has a copy of the reconciliation.
type statusWriter struct {
	reconciliation
	// written is the plan whose status was last written. Before the first write, it is the first plan.
	written plan.Actions
}

// writeUntilApplied writes the status of the plan. Every plan.StatusInterval until the context ends, it plans again and
// writes a changed status. No other goroutine changes the memory of the object during this time.
func (w *statusWriter) writeUntilApplied(ctx context.Context) error {
	for {
		if w.plan.WriteStatus && !w.owners.withdrawn.Load() {
			if err := w.writePlanned(ctx); err != nil {
				return err
			}
		}
		if follow.Sleep(ctx, plan.StatusInterval) != nil {
			return nil //nolint:nilerr // the plan has been applied
		}
		w.makePlan()
	}
}

// writePlanned writes the status of the plan, and remembers the result. It returns ErrConflict if the object has
// changed since it was read. It ignores NotFound: the object is gone, or its CRD has no status subresource.
func (w *statusWriter) writePlanned(ctx context.Context) error {
	ctx, cancel := strategy.Finish(ctx)
	defer cancel()
	at := w.owners.kind.Mapping.Status
	encoded, err := strategy.EncodeStatus(at, w.plan.Status, w.object)
	if err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	// A merge patch would drop null values that others wrote. Because this JSON patch contains the
	// resourceVersion, the server returns a conflict if the object has changed.
	patch, _ := json.Marshal([]map[string]any{ // cannot fail, because the status consists of JSON values
		{"op": "replace", "path": "/metadata/resourceVersion", "value": w.object.GetResourceVersion()},
		{"op": "add", "path": "/status", "value": encoded},
	})
	// The server drops status fields that are not in the schema of the CRD. By default, each write
	// would return a warning about them, which the user who runs the loop would see.
	now, err := w.owners.client.Namespace(w.key.Namespace).Patch(ctx, w.key.Name, types.JSONPatchType, patch,
		metav1.PatchOptions{FieldManager: kinds.FieldManager, FieldValidation: metav1.FieldValidationIgnore}, "status")
	stored := w.view.Owner.Status
	switch {
	case err == nil:
		w.object = now
		w.mem.Wrote(w.key.Kind, now.GetResourceVersion())
		stored = strategy.DecodeStatus(at, now)
	case apierrors.IsConflict(err):
		w.mem.Plan.Written = w.mem.Plan.Written.Refused(w.view.Now)
		return fmt.Errorf("write the status: %w", strategy.ErrConflict)
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("write the status: %w", err)
	}
	w.mem.Plan.Written = w.mem.Plan.Written.Next(w.view.Now, w.plan.Status, stored)
	w.written = w.plan
	return nil
}
