package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const superusers = "system:masters"

// authority is the certificate authority of a control plane. It signs the
// certificates of the API server and of its clients.
type authority struct {
	keyPair
	certificate *x509.Certificate
	signer      crypto.Signer
}

// keyPair is a certificate with its key, both PEM-encoded.
type keyPair struct {
	cert []byte
	key  []byte
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create the key of the authority: %w", err)
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{
		CommonName: "kubernetes",
		NotBefore:  time.Now().Add(-time.Hour), // tolerate a clock that is set back slightly
	}, key)
	if err != nil {
		return nil, fmt.Errorf("create the certificate of the authority: %w", err)
	}
	pair, err := encode(certificate.Raw, key)
	return &authority{keyPair: pair, certificate: certificate, signer: key}, err
}

// server returns a certificate for the API server on loopback.
func (a *authority) server() (keyPair, error) {
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.ParseIP(loopback), net.ParseIP(firstServiceIP)},
		DNSNames: []string{
			"localhost",
			"kubernetes",
			"kubernetes.default",
			"kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local",
		},
	})
}

func (a *authority) client(user string, groups ...string) (keyPair, error) {
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// issue completes and signs a certificate, and returns it with a new key.
func (a *authority) issue(template *x509.Certificate) (keyPair, error) {
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.NotBefore, template.NotAfter = a.certificate.NotBefore, a.certificate.NotAfter
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, fmt.Errorf("create the key of %s: %w", template.Subject.CommonName, err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.signer)
	if err != nil {
		return keyPair{}, fmt.Errorf("create the certificate of %s: %w", template.Subject.CommonName, err)
	}
	return encode(der, key)
}

func encode(der []byte, key crypto.Signer) (keyPair, error) {
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return keyPair{}, fmt.Errorf("encode a private key: %w", err)
	}
	return keyPair{cert: pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der}), key: keyPEM}, nil
}

// writeKubeconfig writes a self-contained kubeconfig for a client of the API server.
func (l layout) writeKubeconfig(path string, ca *authority, user string, groups ...string) error {
	client, err := ca.client(user, groups...)
	if err != nil {
		return err
	}
	const name = "cluster"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: l.apiServerURL(), CertificateAuthorityData: ca.cert}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: client.cert, ClientKeyData: client.key}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write the kubeconfig of %s: %w", user, err)
	}
	return nil
}
