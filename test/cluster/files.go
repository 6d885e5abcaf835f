package main

import (
	_ "embed" // for the stages
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
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
	signingKey, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return fmt.Errorf("create the key of service accounts: %w", err)
	}
	files["service-account.key"] = signingKey
	for name, data := range files {
		if err := os.WriteFile(l.file(name), data, 0o600); err != nil {
			return fmt.Errorf("write the files of the components: %w", err)
		}
	}
	return l.writeCredentials(ca)
}

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
		err := errors.Join(cert.WriteCert(l.file(name+".crt"), pair.cert), keyutil.WriteKey(l.file(name+".key"), pair.key))
		if err != nil {
			return fmt.Errorf("write the certificate of %s: %w", name, err)
		}
	}
	return errors.Join(
		l.writeKubeconfig(l.kubeconfig(), ca, "admin", superusers),
		l.writeKubeconfig(l.file("controller-manager.kubeconfig"), ca, "system:kube-controller-manager"),
		l.writeKubeconfig(l.file("scheduler.kubeconfig"), ca, "system:kube-scheduler"),
		l.writeKubeconfig(l.file("kwok.kubeconfig"), ca, "kwok", superusers),
	)
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
