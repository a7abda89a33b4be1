package main

import (
	"crypto/tls"
	"fmt"
	"sync"
	"time"
)

// certificateTTL is how long a certificate is used before its files are read again.
const certificateTTL = 10 * time.Second

// certificateFiles returns a tls.Config.GetCertificate for the certificate in two files, which are
// read again as they change. If they cannot be read then, the certificate before stays in use.
func certificateFiles(cert, key string) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	first, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	var mu sync.Mutex
	now, read := &first, time.Now()
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(read) >= certificateTTL {
			read = time.Now()
			if next, err := tls.LoadX509KeyPair(cert, key); err == nil {
				now = &next
			}
		}
		return now, nil
	}, nil
}
