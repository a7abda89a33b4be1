package transport

import (
	"fmt"
	"sync"
	"time"
)

// certAge is how long certificates from files are used before the files are read
// again. They are small, and requests that find them older are rare.
const certAge = 10 * time.Second

// identitySource gives the identity that new connections are to have, which follows
// the files of a TLSConfig. It may be used by several goroutines at once.
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

// refresh reads the files if that was long ago. What is wrong with them is reported,
// and what they held before stays in use.
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
		// A pair of files is replaced one after the other, as a rule: what was read
		// may be of two generations. What has been replaced by now is whole.
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
