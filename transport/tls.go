package transport

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/relist-go/relist/internal/files"
)

// TLSConfig is what a connection over TLS is made with. If a Data field and a File
// field name the same thing, Data wins, as it does in a kubeconfig.
//
// [NewClient] reads the files. They are read again when a request is made 10 s or more
// after the last time, when a connection cannot be made, and after a 401. When they
// have changed, new requests go over new connections. Requests and watches that are
// open stay on the old connections, which are closed when the last of these has ended.
// If a file cannot be used any more, what was read before stays in use, and
// [Config.OnProblem] is told.
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

// identity says whom a connection trusts, and which certificate it shows. Identities
// are compared: nothing new begins on a connection whose identity is not the present
// one.
type identity struct {
	roots *x509.CertPool   // nil: those of the system
	cert  *tls.Certificate // nil: none
}

// config returns the configuration of crypto/tls. It has no session cache, because a
// session that is resumed is not verified against roots that have changed since.
func (t TLSConfig) config(id identity) *tls.Config {
	// kube-apiserver itself accepts nothing below TLS 1.2 by default.
	out := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         t.ServerName,
		RootCAs:            id.roots,
		InsecureSkipVerify: t.Insecure, // only if the user asks for it
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
	data, err := files.ReadRegular(path)
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

// certAge is how long certificates from files are used before the files are read again.
// The files are small, so that reading them costs little.
const certAge = 10 * time.Second

// identitySource gives the identity for new connections, as the files of a TLSConfig
// have it. It may be used by several goroutines at once.
type identitySource struct {
	cfg      TLSConfig
	problems *problems
	files    bool // something may change

	reading sync.Mutex // held from reading the files until what they hold is in use

	mu      sync.Mutex
	bytes   tlsBytes
	current identity
	readAt  time.Time
}

func newIdentitySource(cfg TLSConfig, problems *problems) (*identitySource, error) {
	s := &identitySource{cfg: cfg, problems: problems, files: cfg.hasFiles()}
	if err := s.reread(); err != nil {
		return nil, err
	}
	return s, nil
}

// refresh reads the files if that was long ago. It reports what is wrong with them, and
// then what they held before stays in use.
func (s *identitySource) refresh() {
	if !s.files {
		return
	}
	s.mu.Lock()
	due := time.Since(s.readAt) >= certAge
	if due {
		s.readAt = time.Now() // one of many requests does it
	}
	s.mu.Unlock()
	if due {
		s.report(s.reread())
	}
}

// renew reads the files now.
func (s *identitySource) renew() error {
	if !s.files {
		return nil
	}
	err := s.reread()
	s.report(err)
	return err
}

func (s *identitySource) report(err error) {
	if err != nil {
		err = fmt.Errorf("%w; what was read before stays in use", err)
	}
	s.problems.report("certificates", err)
}

func (s *identitySource) get() identity {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// authorities returns the certificates (PEM) that the server's must lead to.
func (s *identitySource) authorities() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes.ca
}

func (s *identitySource) reread() error {
	s.reading.Lock()
	defer s.reading.Unlock()
	b, id, err := s.load()
	if err != nil {
		// The two files of a pair are usually replaced one after the other, so that one
		// may have been read before that, and one after. By now both are replaced.
		b, id, err = s.load()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readAt = time.Now()
	if err != nil || b.equal(s.bytes) {
		return err
	}
	// Only what has changed gets another pointer.
	if string(b.ca) == string(s.bytes.ca) {
		id.roots = s.current.roots
	}
	if string(b.cert) == string(s.bytes.cert) && string(b.key) == string(s.bytes.key) {
		id.cert = s.current.cert
	}
	s.bytes, s.current = b, id
	return nil
}

func (s *identitySource) load() (tlsBytes, identity, error) {
	b, err := s.cfg.read()
	if err != nil {
		return b, identity{}, err
	}
	id, err := s.cfg.parse(b)
	return b, id, err
}
