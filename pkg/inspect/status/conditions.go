package status

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/imoocpod/kubectl-imoocpod/pkg/apis"
	"github.com/imoocpod/kubectl-imoocpod/pkg/inspect/problem"
)

const (
	readyCondition = apis.ConditionReady
	// A Deployment is Available if enough pods are ready.
	availableCondition = "Available"
)

// objectFindings returns the problems of the object itself and of its children.
func objectFindings(e Snapshot, children []Child, events map[types.UID][]corev1.Event) []problem.Finding {
	o := e.Object
	var all []problem.Finding
	if own := slices.DeleteFunc(slices.Clone(o.Finalizers), byGarbageCollector); !o.Deleted.IsZero() && len(own) > 0 {
		f := problem.Finding{Since: o.Deleted, Events: events[o.UID]}
		f.Held(o.Type, o.Namespace, o.Name, own, e.Now, e.Commands)
		all = append(all, f)
	}
	all = append(all, problem.Reported(o.newest(), "", o.Namespace, events[o.UID], e.Commands)...)
	if o.UserPause.Invalid != "" {
		all = append(all, problem.Finding{Code: problem.CodeInvalidPause, Message: "it is not paused: " + o.UserPause.Invalid, Hint: e.Commands.Line(howToResume(o))})
	}
	if o.Word.Failed {
		f := problem.Finding{Code: problem.CodeReportedFailure, Message: "its controller reports: " + o.Word.String(), Fatal: true, Events: events[o.UID]}
		all = append(all, f)
	}
	for _, c := range children {
		all = append(all, problem.Reported(c.Conditions, c.Kind+"/"+c.Name, o.Namespace, events[c.UID], e.Commands)...)
	}
	return all
}

func byGarbageCollector(finalizer string) bool {
	return finalizer == metav1.FinalizerDeleteDependents || finalizer == metav1.FinalizerOrphanDependents
}

// wantedTrue are the conditions of Kubernetes, Crossplane (Synced), RabbitMQ
// (AllReplicasReady, ReconcileSuccess), and operator-sdk (Successful) that are True for an
// object that is ready.
func wantedTrue() []string {
	return []string{readyCondition, "Reconciled", "Healthy", "Synced", "UpToDate", "AllReplicasReady", "PodsReady", "ReconcileSuccess", "Successful"}
}

// wantedFalse are the conditions of kstatus (Reconciling), Strimzi (NotReady), Keycloak
// (RollingUpdate), and Cluster API (RollingOut, ScalingUp, ScalingDown) that are not.
func wantedFalse() []string {
	return []string{"Reconciling", "NotReady", "Unhealthy", "Degraded", "RollingOut", "RollingUpdate", "ScalingUp", "ScalingDown", "Scaling", "Updating", "Upgrading"}
}

// contradiction returns a condition that says that the object is not ready.
func contradiction(o Object) (metav1.Condition, bool) {
	conditions := o.newest()
	i := slices.IndexFunc(conditions, func(c metav1.Condition) bool {
		switch {
		case slices.Contains(wantedTrue(), c.Type):
			return c.Status != metav1.ConditionTrue
		case slices.Contains(wantedFalse(), c.Type):
			return c.Status == metav1.ConditionTrue
		}
		return c.Type == availableCondition && c.Status != metav1.ConditionTrue && o.Desired > 0
	})
	if i < 0 {
		return metav1.Condition{}, false
	}
	return conditions[i], true
}
