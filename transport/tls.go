package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// TLSConfig is what a connection over TLS is made with. Where a Data field and a
// File field name the same thing, Data wins, as it does in a kubeconfig. Files are
// read once, by [NewClient].
type TLSConfig struct {
	// CAFile and CAData are the certificates (PEM) that the server's must lead to.
	// If both are empty, those of the system.
	CAFile string
	CAData []byte

	// CertFile, CertData, KeyFile and KeyData are the client's own certificate and
	// its key (PEM). One without the other is an error.
	CertFile string
	CertData []byte
	KeyFile  string
	KeyData  []byte

	// ServerName is the name that the server's certificate must carry.
	// If empty, the host of Config.Server.
	ServerName string

	// Insecure accepts any certificate. It is an error together with a CA.
	Insecure bool
}

// build reads the files and returns the configuration of crypto/tls.
func (t TLSConfig) build() (*tls.Config, error) {
	// kube-apiserver itself accepts nothing below TLS 1.2 by default.
	out := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}

	ca, err := fileOrData("TLS.CAFile", t.CAFile, t.CAData)
	if err != nil {
		return nil, err
	}
	if t.Insecure {
		if t.CAFile != "" || len(t.CAData) > 0 {
			return nil, errors.New("TLS.Insecure accepts any certificate, so a CA has no use: set one of the two")
		}
		out.InsecureSkipVerify = true
	}
	if len(ca) > 0 {
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("%s holds no certificate in PEM", nameOf("TLS.CAData", "TLS.CAFile", t.CAFile, t.CAData))
		}
	}

	cert, err := fileOrData("TLS.CertFile", t.CertFile, t.CertData)
	if err != nil {
		return nil, err
	}
	key, err := fileOrData("TLS.KeyFile", t.KeyFile, t.KeyData)
	if err != nil {
		return nil, err
	}
	certName := nameOf("TLS.CertData", "TLS.CertFile", t.CertFile, t.CertData)
	keyName := nameOf("TLS.KeyData", "TLS.KeyFile", t.KeyFile, t.KeyData)
	switch {
	case len(cert) == 0 && len(key) == 0:
		return out, nil
	case len(key) == 0:
		return nil, fmt.Errorf("%s is a client certificate without a key: set TLS.KeyFile or TLS.KeyData", certName)
	case len(cert) == 0:
		return nil, fmt.Errorf("%s is a client key without a certificate: set TLS.CertFile or TLS.CertData", keyName)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("client certificate (%s, %s): %w", certName, keyName, err)
	}
	out.Certificates = []tls.Certificate{pair}
	return out, nil
}

// fileOrData returns data, or else what is in the file called path, if any.
func fileOrData(field, path string, data []byte) ([]byte, error) {
	if len(data) > 0 || path == "" {
		return data, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("%s: %s is empty", field, path)
	}
	return data, nil
}

// nameOf says which of two fields a value came from, for messages.
func nameOf(dataField, fileField, path string, data []byte) string {
	if len(data) > 0 {
		return dataField
	}
	return fileField + " " + path
}
