package transport

import (
	"context"
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

// tokenFile is a bearer token that is kept in a file, and replaced there.
type tokenFile struct {
	path     string
	problems *problems

	mu     sync.Mutex
	token  string    // what the file held last
	readAt time.Time // when it was read, or could not be
}

// newTokenFile reads the file. If it cannot be read, the token meanwhile is used until it
// can; "" for none.
func newTokenFile(path, meanwhile string, problems *problems) (*tokenFile, error) {
	f := &tokenFile{path: path, problems: problems}
	_, err := f.reread()
	if err == nil || meanwhile == "" {
		return f, err
	}
	if checkErr := checkToken(meanwhile); checkErr != nil {
		return nil, fmt.Errorf("%w; and BearerToken: %w", err, checkErr)
	}
	f.token, f.readAt = meanwhile, time.Now()
	problems.report("token", fmt.Errorf("%w; BearerToken is used", err))
	return f, nil
}

// get returns the token. A file that cannot be read any more does not fail the
// request: its last token may well be good still, and if it is not, the server says
// so and renew tells why.
func (f *tokenFile) get(context.Context) (credential, error) {
	f.mu.Lock()
	token, due := f.token, time.Since(f.readAt) >= tokenAge
	if due {
		f.readAt = time.Now() // one of many requests does it
	}
	f.mu.Unlock()
	if !due {
		return bearer(token), nil
	}
	c, err := f.reread()
	if err != nil {
		f.problems.report("token", fmt.Errorf("%w; the last token stays in use", err))
		return bearer(token), nil
	}
	f.problems.report("token", nil)
	return c, nil
}

func (f *tokenFile) renew(_ context.Context, refused credential) (credential, error) {
	f.mu.Lock()
	token := f.token
	f.mu.Unlock()
	if c := bearer(token); c != refused {
		return c, nil // another request has read it meanwhile
	}
	c, err := f.reread()
	if err != nil {
		return c, fmt.Errorf("a new token cannot be read: %w", err)
	}
	return c, nil
}

// reread reads the file now.
func (f *tokenFile) reread() (credential, error) {
	data, err := os.ReadFile(f.path)
	if err != nil {
		return credential{}, fmt.Errorf("BearerTokenFile: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if err := checkToken(token); err != nil {
		return credential{}, fmt.Errorf("BearerTokenFile %s: %w", f.path, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.token, f.readAt = token, time.Now()
	return bearer(token), nil
}

func bearer(token string) credential { return credential{authorization: "Bearer " + token} }
