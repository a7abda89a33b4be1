package transport

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// TLSConfig is what a connection over TLS is made with. Where a Data field and a
// File field name the same thing, Data wins, as it does in a kubeconfig.
//
// Files are read by [NewClient], and again when a request is made 10 s or more after
// the last time, when a connection cannot be made, and after a 401. Once they have
// changed, new requests go over new connections; what is open stays on the old ones,
// which are closed when the last of it has ended. A file that cannot be used any more
// leaves the last good ones in use, and [Config.OnProblem] is told.
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

// identity is whom a connection trusts, and what it shows of itself. It is compared:
// connections of another identity than the present one are not used for anything new.
type identity struct {
	roots *x509.CertPool   // nil: those of the system
	cert  *tls.Certificate // nil: none
}

// config returns the configuration of crypto/tls. It has no session cache: a session
// that is resumed is not verified against the roots that there are by then.
func (t TLSConfig) config(id identity) *tls.Config {
	// kube-apiserver itself accepts nothing below TLS 1.2 by default.
	out := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         t.ServerName,
		RootCAs:            id.roots,
		InsecureSkipVerify: t.Insecure, //nolint:gosec // where the user asks for it
	}
	if id.cert != nil {
		out.Certificates = []tls.Certificate{*id.cert}
	}
	return out
}

// tlsBytes is what the fields and files of a TLSConfig hold.
type tlsBytes struct{ ca, cert, key []byte }

func (b tlsBytes) equal(other tlsBytes) bool {
	return bytes.Equal(b.ca, other.ca) && bytes.Equal(b.cert, other.cert) && bytes.Equal(b.key, other.key)
}

// hasFiles reports whether something is read from a file, and may change.
func (t TLSConfig) hasFiles() bool {
	return t.CAFile != "" && len(t.CAData) == 0 || t.CertFile != "" && len(t.CertData) == 0 || t.KeyFile != "" && len(t.KeyData) == 0
}

// read reads the files.
func (t TLSConfig) read() (b tlsBytes, err error) {
	if b.ca, err = fileOrData("TLS.CAFile", t.CAFile, t.CAData); err != nil {
		return b, err
	}
	if b.cert, err = fileOrData("TLS.CertFile", t.CertFile, t.CertData); err != nil {
		return b, err
	}
	b.key, err = fileOrData("TLS.KeyFile", t.KeyFile, t.KeyData)
	return b, err
}

// parse makes an identity of what was read.
func (t TLSConfig) parse(b tlsBytes) (identity, error) {
	var id identity
	if t.Insecure && (t.CAFile != "" || len(b.ca) > 0) {
		return id, errors.New("TLS.Insecure accepts any certificate, so a CA has no use: set one of the two")
	}
	if len(b.ca) > 0 {
		id.roots = x509.NewCertPool()
		if !id.roots.AppendCertsFromPEM(b.ca) {
			return id, fmt.Errorf("%s holds no certificate in PEM", nameOf("TLS.CAData", "TLS.CAFile", t.CAFile, t.CAData))
		}
	}
	certName := nameOf("TLS.CertData", "TLS.CertFile", t.CertFile, t.CertData)
	keyName := nameOf("TLS.KeyData", "TLS.KeyFile", t.KeyFile, t.KeyData)
	switch {
	case len(b.cert) == 0 && len(b.key) == 0:
		return id, nil
	case len(b.key) == 0:
		return id, fmt.Errorf("%s is a client certificate without a key: set TLS.KeyFile or TLS.KeyData", certName)
	case len(b.cert) == 0:
		return id, fmt.Errorf("%s is a client key without a certificate: set TLS.CertFile or TLS.CertData", keyName)
	}
	pair, err := tls.X509KeyPair(b.cert, b.key)
	if err != nil {
		return id, fmt.Errorf("client certificate (%s, %s): %w", certName, keyName, err)
	}
	id.cert = &pair
	return id, nil
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
