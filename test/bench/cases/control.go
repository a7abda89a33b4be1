package cases

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// control sends commands to the load server. It has connections of its own.
var control = &http.Client{Transport: &http.Transport{
	// Each run makes a new certificate, on this machine.
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
}}

// Post sends a command to the load server, or to a relay of relaybench, and returns the answer.
func Post(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := control.Do(req)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("POST %s: %s: %s", url, response.Status, body)
	}
	return strings.TrimSpace(string(body)), err
}

// post sends a command to the load server, and returns the resourceVersion after the command.
func (e *env) post(ctx context.Context, action, query string) (version uint64, err error) {
	answer, err := Post(ctx, fmt.Sprintf("%s/bench/%s?%s", e.access.URL, action, query))
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(answer, 10, 64)
}
