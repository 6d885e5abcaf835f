package status

import (
	"slices"
	"strings"
)

// ShortType shortens a type, such as "imoocpod.batch.tutorial.kubebuilder.io" to
// "imoocpod". One that could be taken for a type of Kubernetes itself stays as it
// is, such as "statefulset.apps.kruise.io".
func ShortType(long string) string {
	short, group, _ := strings.Cut(long, ".")
	kubernetes := []string{
		"pod", "service", "node", "replicationcontroller", "deployment", "replicaset", "statefulset", "daemonset", "job", "cronjob",
	}
	if strings.Contains(group, ".") && slices.Contains(kubernetes, short) {
		return long
	}
	return short
}
