package main

import (
	_ "embed" // for the stages
	"encoding/json"
	"fmt"
	"os"

	nodefast "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	nodeheartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
)

// writeFiles writes the configuration files and the credentials of the components.
func (l layout) writeFiles(ca *authority) error {
	files := map[string][]byte{}
	for name, content := range map[string]object{
		"audit-policy.json": auditPolicy(),
		"kwok.json":         kwokConfiguration(),
	} {
		data, err := json.MarshalIndent(content, "", "  ")
		if err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
		files[name] = data
	}
	for _, stage := range kwokStages() {
		files[stage.file] = []byte(stage.content)
	}
	signingKey, err := newSigningKey()
	if err != nil {
		return err
	}
	files["service-account.key"] = signingKey
	for name, data := range files {
		if err := os.WriteFile(l.file(name), data, 0o600); err != nil {
			return fmt.Errorf("write the files of the components: %w", err)
		}
	}
	return l.writeCredentials(ca)
}

const superusers = "system:masters"

func (l layout) writeCredentials(ca *authority) error {
	server, err := ca.server()
	if err != nil {
		return err
	}
	kubeletClient, err := ca.client("kube-apiserver-kubelet-client", superusers)
	if err != nil {
		return err
	}
	for name, pair := range map[string]keyPair{"ca": ca.keyPair, "apiserver": server, "kubelet-client": kubeletClient} {
		if err := pair.write(l.file(name)); err != nil {
			return fmt.Errorf("write the certificate of %s: %w", name, err)
		}
	}

	for _, client := range []struct {
		path   string
		user   string
		groups []string
	}{
		{l.kubeconfig(), "admin", []string{superusers}},
		{l.file("controller-manager.kubeconfig"), "system:kube-controller-manager", nil},
		{l.file("scheduler.kubeconfig"), "system:kube-scheduler", nil},
		{l.file("kwok.kubeconfig"), "kwok", []string{superusers}},
	} {
		pair, err := ca.client(client.user, client.groups...)
		if err != nil {
			return err
		}
		if err := writeKubeconfig(client.path, l.apiServerURL(), ca.cert, client.user, pair); err != nil {
			return err
		}
	}
	return nil
}

// stage is a file that configures kwok to simulate one step of a kubelet. Without stages, kwok does
// nothing.
type stage struct {
	file, content string
}

// The stages for failing pods. Each stage applies to pods whose image has the name of the stage.
var (
	//go:embed stages/no-such-image.yaml
	noSuchImage string
	//go:embed stages/crashes.yaml
	crashes string
	//go:embed stages/never-ready.yaml
	neverReady string
)

func kwokStages() []stage {
	return []stage{
		{"stage-node-initialize.yaml", nodefast.DefaultNodeInit},
		{"stage-node-heartbeat.yaml", nodeheartbeat.DefaultNodeHeartbeatWithLease},
		{"stage-pod-ready.yaml", podfast.DefaultPodReady},
		{"stage-pod-complete.yaml", podfast.DefaultPodComplete},
		{"stage-pod-delete.yaml", podfast.DefaultPodDelete},
		{"stage-pod-no-such-image.yaml", noSuchImage},
		{"stage-pod-crashes.yaml", crashes},
		{"stage-pod-never-ready.yaml", neverReady},
	}
}

// object is a Kubernetes object or a part of one.
type object map[string]any

func kwokConfiguration() object {
	return object{
		"apiVersion": "config.kwok.x-k8s.io/v1alpha1",
		"kind":       "KwokConfiguration",
		"metadata":   object{"name": "kwok"},
		"options": object{
			"cidr": podRange,
			// Do not use node leases. A restarted kwok would wait until the leases of the previous kwok
			// expire.
			//
			// Set all of these, because they default to zero if any of them is set.
			"podPlayStageParallelism":   64,
			"nodePlayStageParallelism":  4,
			"nodeLeaseParallelism":      4,
			"podsOnNodeSyncParallelism": 4,
		},
	}
}

// auditPolicy returns an audit policy that logs the metadata of all requests,
// except health checks and requests of the API server itself.
func auditPolicy() object {
	return object{
		"apiVersion": "audit.k8s.io/v1",
		"kind":       "Policy",
		"omitStages": []string{"RequestReceived"},
		"rules": []object{
			{"level": "None", "users": []string{"system:apiserver"}},
			{"level": "None", "nonResourceURLs": []string{"/readyz*", "/livez*", "/healthz*"}},
			{"level": "Metadata"},
		},
	}
}
