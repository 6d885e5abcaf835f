// Package process knows whether another process of this machine is still running:
// one that was killed could not give its lease up.
package process

import (
	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
)

// LoopOf reads a lease that has the label apis.LabelController. If its holder is a process
// of this machine, LoopOf checks whether that has ended.
func LoopOf(lease *coordinationv1.Lease) leaserecord.Loop {
	l := leaserecord.LoopOf(lease)
	l.Ended = l.Machine != "" && l.Machine == Machine() && l.PID > 0 && !Alive(l.PID)
	return l
}
