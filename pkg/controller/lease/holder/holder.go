// Package holder finds the loops that hold leases. A killed process cannot release its lease, so the
// package checks whether a holder on this machine is still running.
package holder

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"strconv"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// Selector selects the leases of loops.
const Selector = apis.LabelController + "=" + apis.RunController

// List returns the loops that leases record. version is the resourceVersion of the list request.
func List(ctx context.Context, leases coordinationv1client.LeaseInterface, version string) ([]leaserecord.Loop, error) {
	selected := metav1.ListOptions{LabelSelector: Selector, ResourceVersion: version}
	items, _, err := follow.ListFrom[*coordinationv1.Lease](ctx, follow.SourceOf(leases), selected)
	if err != nil {
		return nil, err
	}
	loops := []leaserecord.Loop{}
	for _, lease := range items {
		loops = append(loops, LoopOf(lease))
	}
	return loops, nil
}

// LoopOf returns the loop that a lease records, and sets Ended. The lease must match Selector.
func LoopOf(lease *coordinationv1.Lease) leaserecord.Loop {
	l := leaserecord.LoopOf(lease)
	l.Ended = Here(l) && !Alive(l.PID)
	return l
}

// Here reports whether a loop is or was a process on this machine.
func Here(l leaserecord.Loop) bool {
	return l.Machine != "" && l.Machine == Machine() && l.PID > 0
}

// Self returns the record of a loop in this process. Each call generates a new Holder. If the name of the user who runs
// this process is unknown, User is the user ID.
func Self(version string, scope leaserecord.Scope) leaserecord.Loop {
	l := leaserecord.Loop{PID: os.Getpid(), Machine: Machine(), Version: version, Scope: scope}
	l.User = strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil && u.Username != "" {
		l.User = u.Username
	}
	l.Host, _ = os.Hostname() // empty if unknown
	// In two containers, everything except the random part can be equal.
	l.Holder = fmt.Sprintf("%s_%s_%d_%.8s", l.User, l.Host, l.PID, uuid.NewUUID())
	return l
}
