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

// post sends a command to the load server, and returns the resourceVersion after the command.
func (e *env) post(ctx context.Context, action, query string) (version uint64, err error) {
	url := fmt.Sprintf("%s/bench/%s?%s", e.access.URL, action, query)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := control.Do(req)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	if err == nil {
		version, err = strconv.ParseUint(strings.TrimSpace(string(body)), 10, 64)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", action, err)
	}
	return version, nil
}
