package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// wantedTrue are the conditions that are True of an object that is ready, in the
// words of Kubernetes and of those who write operators: Crossplane (Synced),
// RabbitMQ (AllReplicasReady, ReconcileSuccess), operator-sdk (Successful).
func wantedTrue() []string {
	return []string{readyCondition, "Reconciled", "Healthy", "Synced", "UpToDate", "AllReplicasReady", "PodsReady", "ReconcileSuccess", "Successful"}
}

// wantedFalse are those that are not True of such an object: kstatus (Reconciling),
// Strimzi (NotReady), Keycloak (RollingUpdate), Cluster API (RollingOut, ScalingUp,
// ScalingDown).
func wantedFalse() []string {
	return []string{"Reconciling", "NotReady", "Unhealthy", "Degraded", "RollingOut", "RollingUpdate", "ScalingUp", "ScalingDown", "Scaling", "Updating", "Upgrading"}
}

// contradiction is a condition that says that the object is not ready, whatever
// its counts are.
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
