package strategy

import (
	"errors"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RefusalReason reports whether the server refused a write for a lasting reason, and returns this reason for a
// condition. Other errors (a broken connection, a busy server, expired credentials) are worth an early retry.
// plan.Memory determines how long a refused write waits.
func RefusalReason(err error) (reason string, refused bool) {
	status := statusOf(err)
	switch code := status.Code; {
	case code == http.StatusForbidden && strings.Contains(status.Message, "exceeded quota"):
		// The quota admission plugin returns no machine-readable cause.
		return "QuotaExceeded", true
	case code == http.StatusForbidden && strings.Contains(status.Message, "cannot find RESTMapping"):
		// OwnerReferencesPermissionEnforcement discovers new kinds only every half minute, so a retry may succeed.
		return "", false
	case code == http.StatusForbidden:
		return "Forbidden", true
	case code == http.StatusUnauthorized, code == http.StatusRequestTimeout,
		code == http.StatusConflict, code == http.StatusTooManyRequests:
		return "", false
	case code >= 400 && code < 500:
		return "CreateRejected", true
	}
	return "", false
}

// serverFailed reports whether the code is 5xx, as for a broken webhook. Repeated failures count as a refusal.
func serverFailed(err error) bool { return statusOf(err).Code >= http.StatusInternalServerError }

// answered reports whether the server rejected a write. After any other error, the write might have succeeded.
func answered(err error) bool { return statusOf(err).Code > 0 && !serverFailed(err) }

// namespaceEnds reports whether a write failed because its namespace is terminating or does not exist.
func namespaceEnds(err error) bool {
	details := statusOf(err).Details
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) ||
		apierrors.IsNotFound(err) && details != nil && details.Kind == "namespaces"
}

// statusOf returns the status in the server's response, or an empty status for other errors.
func statusOf(err error) metav1.Status {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status()
	}
	return metav1.Status{}
}
