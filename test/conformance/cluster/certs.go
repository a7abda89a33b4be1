package cluster

import (
	"crypto"
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
	"path/filepath"
	"time"
)

// The files of a cluster's folder that hold keys and certificates.
const (
	caCertFile      = "ca.crt"
	servingCertFile = "apiserver.crt"
	servingKeyFile  = "apiserver.key"
	clientCertFile  = "admin.crt"
	clientKeyFile   = "admin.key"
	accountKeyFile  = "service-account.key"
)

// writeCertificates makes one authority and, signed by it, the server's
// certificate for 127.0.0.1 and localhost and an administrator's client
// certificate; and the key with which service account tokens are signed. All are
// made once, so that a server started again has the same identity.
func writeCertificates(dir string) error {
	now := time.Now()
	template := func(serial int64, name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial),
			Subject:      pkix.Name{CommonName: name},
			NotBefore:    now.Add(-time.Hour), // room for a clock that was set back
			NotAfter:     now.Add(30 * 24 * time.Hour),
			KeyUsage:     x509.KeyUsageDigitalSignature,
		}
	}

	ca := template(1, "relist conformance CA")
	ca.IsCA, ca.BasicConstraintsValid = true, true
	ca.KeyUsage |= x509.KeyUsageCertSign
	caKey, err := newKey()
	if err != nil {
		return err
	}
	if err := writeCertificate(filepath.Join(dir, caCertFile), ca, caKey, ca, caKey); err != nil {
		return err
	}

	serving := template(2, "kube-apiserver")
	serving.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	serving.DNSNames = []string{"localhost"}
	serving.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}

	client := template(3, "admin")
	client.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	client.Subject.Organization = []string{"system:masters"} // a client's groups

	for _, leaf := range []struct {
		cert              *x509.Certificate
		certFile, keyFile string
	}{{serving, servingCertFile, servingKeyFile}, {client, clientCertFile, clientKeyFile}} {
		key, err := newKey()
		if err != nil {
			return err
		}
		if err := writeCertificate(filepath.Join(dir, leaf.certFile), leaf.cert, key, ca, caKey); err != nil {
			return err
		}
		if err := writeKey(filepath.Join(dir, leaf.keyFile), key); err != nil {
			return err
		}
	}

	account, err := newKey()
	if err != nil {
		return err
	}
	return writeKey(filepath.Join(dir, accountKeyFile), account)
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return key, nil
}

func writeCertificate(file string, cert *x509.Certificate, key crypto.Signer, parent *x509.Certificate, parentKey crypto.Signer) error {
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, key.Public(), parentKey)
	if err != nil {
		return fmt.Errorf("make certificate of %s: %w", cert.Subject.CommonName, err)
	}
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
}

// writeKey writes a key in the form that the API server takes for signing tokens as well.
func writeKey(file string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode key for %s: %w", file, err)
	}
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}
