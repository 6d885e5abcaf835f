package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// certificateLifetime exceeds the lifetime of any control plane.
const certificateLifetime = 10 * 365 * 24 * time.Hour

// authority is the certificate authority of a control plane. It signs the
// certificates of the API server and of its clients.
type authority struct {
	keyPair
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// keyPair is a certificate with its key, both PEM-encoded.
type keyPair struct {
	cert []byte
	key  []byte
}

func newAuthority() (*authority, error) {
	a := &authority{}
	pair, err := a.issue(&x509.Certificate{
		Subject:               pkix.Name{CommonName: "kubernetes"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	})
	a.keyPair = pair
	return a, err
}

// server returns a certificate for the API server on loopback.
func (a *authority) server() (keyPair, error) {
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
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
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// issue completes and signs a certificate, and returns it with a new key. The first certificate that
// an authority issues is its own.
func (a *authority) issue(template *x509.Certificate) (pair keyPair, err error) {
	fail := func(err error) (keyPair, error) {
		return keyPair{}, fmt.Errorf("create the certificate of %s: %w", template.Subject.CommonName, err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fail(err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return fail(err)
	}
	// Tolerate a clock that is set back slightly.
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = template.NotBefore.Add(certificateLifetime)
	if a.certificate == nil {
		a.certificate, a.key = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return fail(err)
	}
	if a.certificate == template {
		if a.certificate, err = x509.ParseCertificate(der); err != nil {
			return fail(err)
		}
	}
	pair.cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	pair.key, err = encodeKey(key)
	return pair, err
}

// newSigningKey returns a new PEM-encoded key for signing service account tokens.
func newSigningKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate the key of service accounts: %w", err)
	}
	return encodeKey(key)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func (p keyPair) write(base string) error {
	if err := os.WriteFile(base+".crt", p.cert, 0o644); err != nil {
		return err
	}
	return os.WriteFile(base+".key", p.key, 0o600)
}
