package transport

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// tokenAge is how long a token from a file is used before the file is read again.
// The kubelet replaces a projected token at 80 % of its life, ten minutes or more
// before it expires, so this need only be short beside that.
const tokenAge = 10 * time.Second

// credentials gives the value of the Authorization header.
type credentials struct {
	fixed string // of a token or a password in the Config; "" if there is none
	file  string // of the token; "" if there is none

	mu     sync.Mutex
	token  string    // what the file held last
	readAt time.Time // when it was read
}

func newCredentials(cfg Config) (*credentials, error) {
	c := &credentials{file: cfg.BearerTokenFile}
	basic := cfg.Username != "" || cfg.Password != ""
	switch {
	case basic && (cfg.BearerToken != "" || cfg.BearerTokenFile != ""):
		return nil, errors.New("both a bearer token and a user name or password are set: a request can carry one of them")
	case basic && cfg.Username == "":
		return nil, errors.New("a Password is set without a Username")
	case basic:
		c.fixed = "Basic " + base64.StdEncoding.EncodeToString([]byte(cfg.Username+":"+cfg.Password))
	case cfg.BearerTokenFile != "":
		if _, err := c.reread(); err != nil {
			return nil, err
		}
	case cfg.BearerToken != "":
		if err := checkToken(cfg.BearerToken); err != nil {
			return nil, fmt.Errorf("BearerToken: %w", err)
		}
		c.fixed = "Bearer " + cfg.BearerToken
	}
	return c, nil
}

// header returns the value to send, "" for none. A file that cannot be read any
// more does not fail the request: its last token may well be good still, and if it
// is not, the server says so and reread tells why.
func (c *credentials) header() string {
	if c.file == "" {
		return c.fixed
	}
	c.mu.Lock()
	fresh := time.Since(c.readAt) < tokenAge
	token := c.token
	c.mu.Unlock()
	if !fresh {
		if header, err := c.reread(); err == nil {
			return header
		}
	}
	return "Bearer " + token
}

// reread reads the token's file now, and returns the value to send.
func (c *credentials) reread() (string, error) {
	data, err := os.ReadFile(c.file)
	if err != nil {
		return "", fmt.Errorf("BearerTokenFile: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if err := checkToken(token); err != nil {
		return "", fmt.Errorf("BearerTokenFile %s: %w", c.file, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token, c.readAt = token, time.Now()
	return "Bearer " + token, nil
}

// checkToken refuses what cannot be in a header; net/http's own message would come
// with each request.
func checkToken(token string) error {
	if token == "" {
		return errors.New("the token is empty")
	}
	for i := range len(token) {
		if c := token[i]; c <= ' ' || c == 0x7f {
			return fmt.Errorf("the token has a space or a control character at byte %d", i)
		}
	}
	return nil
}
