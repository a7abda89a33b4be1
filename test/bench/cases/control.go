package cases

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// control sends commands to the load server. It has connections of its own.
var control = &http.Client{Transport: &http.Transport{
	// Each run makes a new certificate, on this machine.
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
}}

// Post sends a command to the load server, or to a relay of relaybench, and returns the answer.
func Post(ctx context.Context, url string) (string, error) {
	var body bytes.Buffer
	err := ask(ctx, http.MethodPost, url, "*/*", &body)
	return strings.TrimSpace(body.String()), err
}

func ask(ctx context.Context, method, url, accept string, body *bytes.Buffer) error {
	req, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", accept)
	response, err := control.Do(req)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body.Reset()
	_, err = body.ReadFrom(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, url, response.Status, body)
	}
	return err
}

// Version parses a resourceVersion of the load server.
func Version(s string) uint64 {
	version, _ := strconv.ParseUint(s, 10, 64) // 0 before the first list
	return version
}

// Poll waits until f is true. Not all that is waited for has a signal.
func Poll(ctx context.Context, what string, f func() bool) error {
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for !f() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("waited for %s: %w", what, ctx.Err())
		}
	}
	return nil
}

// post sends a command to the load server, and returns the resourceVersion after the command.
func (e *env) post(ctx context.Context, action, query string) (version uint64, err error) {
	answer, err := Post(ctx, fmt.Sprintf("%s/bench/%s?%s", e.access.URL, action, query))
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(answer, 10, 64)
}
