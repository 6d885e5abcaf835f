package doctor

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/doctor/check"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/facts"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/status"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// heldUp checks the objects of the shipped and declared kinds for blocked pods and for pauses.
func (d *Doctor) heldUp(ctx context.Context) ([]check.Result, error) {
	all := slices.Concat(d.served, d.declared)
	var reports []status.Report
	var unknown []check.Result
	for _, kind := range all {
		list, err := follow.List(ctx, d.Dynamic.Resource(kind.Resource).Namespace(d.Namespace), metav1.ListOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue // the check of its CRD reports this
		case apierrors.IsForbidden(err):
			unknown = append(unknown, check.Result{Name: "pods", State: check.Unknown, Message: "no permission to list " + kind.CRD()})
			continue
		case err != nil:
			return nil, err
		}
		for _, obj := range list {
			facts, err := facts.Of(kind, obj)
			if err != nil {
				return nil, err
			}
			reports = append(reports, status.NewReport(status.Snapshot{Object: facts, Now: time.Now(), Commands: d.Commands}))
		}
	}
	if len(unknown) < len(all) {
		unknown = slices.Concat(unknown, d.HeldUp(reports), d.Paused(reports, time.Now()))
	}
	return unknown, nil
}
