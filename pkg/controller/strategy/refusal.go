package strategy

import (
	"errors"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// RefusalReason reports whether the server refused a write for a reason that an early retry will
// not change, and returns the reason to set in a condition. Everything else (a broken connection, a
// busy server, credentials that are being renewed) is worth an early retry.
func RefusalReason(err error) (reason string, refused bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return "", false
	}
	switch code := status.Status().Code; {
	case code == http.StatusForbidden && strings.Contains(status.Status().Message, "exceeded quota"):
		// The quota admission plugin returns no machine-readable cause.
		return "QuotaExceeded", true
	case code == http.StatusForbidden && strings.Contains(status.Status().Message, "cannot find RESTMapping"):
		// OwnerReferencesPermissionEnforcement learns of new kinds every half minute.
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

// serverFailed reports whether the server itself failed, for example because an admission webhook
// does not work. If that lasts, it is treated as a refusal.
func serverFailed(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError
}

// answered reports whether a write failed because the server rejected it. After any other error,
// the write may have succeeded before the connection broke or the server failed.
func answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !serverFailed(err)
}

// namespaceEnds reports whether a write failed because its namespace is being deleted,
// or is gone.
func namespaceEnds(err error) bool {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return true
	}
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces"
}

// serverWords returns the server's message, without what the client adds to it.
func serverWords(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		return status.Status().Message
	}
	return err.Error()
}
