package apitest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// ListenTLS serves s on addr, as Listen does, but with TLS. It speaks HTTP/2, and HTTP/1.1 if the
// client does not offer HTTP/2. The server has its own certificate authority; Listener.CA is that
// authority's certificate. The listener's certificate is for localhost, the loopback addresses,
// addr, and the names in Options.AllowedHosts.
func (s *Server) ListenTLS(addr string) (*Listener, error) { return s.listenTLS(addr, s) }

// ListenTLS serves r on addr with TLS. All listeners of a server have the same certificate
// authority.
func (r *Replica) ListenTLS(addr string) (*Listener, error) { return r.srv.listenTLS(addr, r) }

// An authority signs the certificates of the listeners of one server.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// The certificates are valid for so long because the clock of a test may show any year. In a bubble
// of testing/synctest it is the year 2000.
var (
	certificateBegin = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	certificateEnd   = time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
)

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "apitest authority"},
		NotBefore: certificateBegin, NotAfter: certificateEnd,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}, nil
}

func (a *authority) sign(hosts ...string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "apitest"},
		NotBefore: certificateBegin, NotAfter: certificateEnd,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if addr, err := netip.ParseAddr(host); err == nil {
			template.IPAddresses = append(template.IPAddresses, net.IP(addr.AsSlice()))
		} else if host != "" {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

func (s *Server) listenTLS(addr string, handler http.Handler) (*Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listen for API requests with TLS: %w", err)
	}
	s.mu.Lock()
	if s.authority == nil {
		s.authority, err = newAuthority()
	}
	signer := s.authority
	s.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("listen for API requests with TLS: make an authority: %w", err)
	}
	cert, err := signer.sign(append([]string{"localhost", "127.0.0.1", "::1", host}, s.opts.AllowedHosts...)...)
	if err != nil {
		return nil, fmt.Errorf("listen for API requests with TLS: make a certificate: %w", err)
	}
	return s.listenAs(&Listener{srv: s, addr: addr, handler: handler, CA: signer.pem, tls: &tls.Config{
		Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12,
	}})
}
