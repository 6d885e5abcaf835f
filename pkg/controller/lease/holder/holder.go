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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/dynamic"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/controller/lease/leaserecord"
	"github.com/imoocpod/kubectl-imoocpod/pkg/kube/follow"
)

// Selector selects the leases of loops.
const Selector = apis.LabelController + "=" + apis.RunController

// Leases returns a client for the leases in a namespace. An empty namespace means all namespaces.
func Leases(client dynamic.Interface, namespace string) dynamic.ResourceInterface {
	return client.Resource(coordinationv1.SchemeGroupVersion.WithResource("leases")).Namespace(namespace)
}

// List returns the loops that the leases in a namespace record. The list request has the given resourceVersion.
func List(ctx context.Context, client dynamic.Interface, namespace, resourceVersion string) ([]leaserecord.Loop, error) {
	items, err := follow.List(ctx, Leases(client, namespace), metav1.ListOptions{LabelSelector: Selector, ResourceVersion: resourceVersion})
	if err != nil {
		return nil, err
	}
	loops := []leaserecord.Loop{}
	for _, obj := range items {
		loop, err := Read(obj)
		if err != nil {
			return nil, err
		}
		loops = append(loops, loop)
	}
	return loops, nil
}

// Read returns the loop that an unstructured lease records. See LoopOf.
func Read(obj *unstructured.Unstructured) (leaserecord.Loop, error) {
	lease := &coordinationv1.Lease{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, lease); err != nil {
		return leaserecord.Loop{}, fmt.Errorf("read the lease %s: %w", obj.GetName(), err)
	}
	return LoopOf(lease), nil
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
