package e2e

import (
	"encoding/json"
	"fmt"
	"testing"
)

// The other verbs, on kinds that this program does not ship.

// model is the part of status -o json that these tests check.
type model struct {
	Metadata struct{ Type, Name string }
	Verdict  string
	Reason   string
	Replicas struct{ Desired, Current, Ready int }
	Pods     []struct {
		Name  string
		Ready bool
	}
}

func statusOf(t *testing.T, ns, target string) model {
	t.Helper()
	var m model
	if err := json.Unmarshal([]byte(cluster.Imoocpod(t, ns, "status", target, "-o", "json")), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func workload(kind, name string, replicas int) string {
	return fmt.Sprintf(`{apiVersion: apps/v1, kind: %s, metadata: {name: %s, labels: {app: a}}, spec: {replicas: %d, selector: {matchLabels: {app: %[2]s}},
  template: {metadata: {labels: {app: %[2]s}}, spec: {containers: [{name: main, image: web}]}}}}`, kind, name, replicas)
}
