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

// certificateLifetime is longer than any control plane runs.
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
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate the key of the certificate authority: %w", err)
	}
	template, err := certificateTemplate(pkix.Name{CommonName: "kubernetes"})
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	pair, err := sign(template, template, key, key)
	if err != nil {
		return nil, fmt.Errorf("create the certificate authority: %w", err)
	}
	block, _ := pem.Decode(pair.cert)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse the certificate authority: %w", err)
	}
	return &authority{keyPair: pair, certificate: certificate, key: key}, nil
}

// server returns a certificate for the API server on loopback.
func (a *authority) server() (keyPair, error) {
	template, err := certificateTemplate(pkix.Name{CommonName: "kube-apiserver"})
	if err != nil {
		return keyPair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.IPAddresses = []net.IP{net.ParseIP(loopback), net.ParseIP(firstServiceIP)}
	template.DNSNames = []string{
		"localhost",
		"kubernetes",
		"kubernetes.default",
		"kubernetes.default.svc",
		"kubernetes.default.svc.cluster.local",
	}
	return a.issue(template)
}

// client returns a client certificate for a user who is in the given groups.
func (a *authority) client(user string, groups ...string) (keyPair, error) {
	template, err := certificateTemplate(pkix.Name{CommonName: user, Organization: groups})
	if err != nil {
		return keyPair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

func (a *authority) issue(template *x509.Certificate) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, fmt.Errorf("generate the key of %s: %w", template.Subject.CommonName, err)
	}
	pair, err := sign(template, a.certificate, key, a.key)
	if err != nil {
		return keyPair{}, fmt.Errorf("create the certificate of %s: %w", template.Subject.CommonName, err)
	}
	return pair, nil
}

func certificateTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("generate a serial number: %w", err)
	}
	// Tolerate a clock that is set back a little.
	begin := time.Now().Add(-time.Hour)
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    begin,
		NotAfter:     begin.Add(certificateLifetime),
	}, nil
}

// sign returns key and a certificate for it that is signed with the parent's
// key.
func sign(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) (keyPair, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return keyPair{}, err
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key: keyPEM}, nil
}

// newSigningKey returns a new PEM-encoded key that signs service account
// tokens.
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

// write writes the pair to base.crt and base.key.
func (p keyPair) write(base string) error {
	if err := os.WriteFile(base+".crt", p.cert, 0o644); err != nil {
		return err
	}
	return os.WriteFile(base+".key", p.key, 0o600)
}
