package relay

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/csv"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// Tokens returns an [Options.Authenticate] for the tokens of a file in the format of
// kube-apiserver's static token file: token,user,uid,"group1,group2", where uid and groups may be
// left out. The file is read once.
//
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#static-token-file
func Tokens(path string) (func(*http.Request) (*User, error), error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("relay: read the tokens: %w", err)
	}
	defer func() { _ = file.Close() }()
	lines := csv.NewReader(file)
	lines.FieldsPerRecord = -1
	all, err := lines.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("relay: read the tokens of %s: %w", path, err)
	}
	known := make(map[[sha256.Size]byte]*User, len(all))
	for i, line := range all {
		if len(line) < 2 || line[0] == "" || line[1] == "" {
			return nil, fmt.Errorf("relay: read the tokens of %s: line %d has no token and user; want token,user,uid,\"group1,group2\"", path, i+1)
		}
		user := &User{Name: line[1], Groups: []string{"system:authenticated"}}
		if len(line) > 2 {
			user.UID = line[2]
		}
		if len(line) > 3 {
			user.Groups = append(user.Groups, strings.Split(line[3], ",")...)
		}
		known[sha256.Sum256([]byte(line[0]))] = user
	}
	return func(req *http.Request) (*User, error) {
		if token := bearer(req); token != "" {
			return known[sha256.Sum256([]byte(token))], nil
		}
		return nil, nil
	}, nil
}

// certificateTTL is how long a certificate is used before its files are read again.
const certificateTTL = 10 * time.Second

// CertificateFiles returns a tls.Config.GetCertificate for the certificate in two files, which are
// read again as they change. If they cannot be read then, the certificate before stays in use.
func CertificateFiles(cert, key string) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	first, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("relay: read the certificate: %w", err)
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
