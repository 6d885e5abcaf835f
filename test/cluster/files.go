package main

import (
	_ "embed" // for the configuration
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	nodefast "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	nodeheartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
)

var (
	//go:embed audit-policy.yaml
	auditPolicy string
	// kwokConfig contains the options of kwok, and the stages for failing pods.
	//go:embed kwok.yaml
	kwokConfig string
)

// writeFiles writes the configuration files and the credentials of the components.
func (l layout) writeFiles(ca *authority) error {
	signingKey, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return fmt.Errorf("create the key of service accounts: %w", err)
	}
	for name, content := range map[string]string{
		"audit-policy.yaml": auditPolicy,
		"kwok.yaml": strings.Join([]string{
			kwokConfig, nodefast.DefaultNodeInit, nodeheartbeat.DefaultNodeHeartbeatWithLease,
			podfast.DefaultPodReady, podfast.DefaultPodComplete, podfast.DefaultPodDelete,
		}, "\n---\n"),
		"service-account.key": string(signingKey),
	} {
		if err := os.WriteFile(l.file(name), []byte(content), 0o600); err != nil {
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
