package websocket

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/listwatch/json"
	"github.com/relist-go/relist/listwatch/protobuf"
	"github.com/relist-go/relist/test/conformance/cluster"
	"github.com/relist-go/relist/transport"
	"github.com/relist-go/relist/transport/frames"
)

const path = "/api/v1/namespaces/default/configmaps"

// TestHandshake has what relist relies on when it shakes hands, and what apitest
// imitates.
func TestHandshake(t *testing.T) {
	c := cluster.New(t, cluster.Options{})
	access := c.Access()
	authorization := "Bearer " + access.AdminToken
	token := "base64url.bearer.authorization.k8s.io." + base64.RawURLEncoding.EncodeToString([]byte(access.AdminToken))
	ca, err := os.ReadFile(access.CAFile)
	must.OK(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	dialer := websocket.Dialer{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}

	for name, test := range map[string]struct {
		header   http.Header
		want     int
		silent   bool   // there is no body
		protocol string // that comes back
	}{
		"as relist does it":         {http.Header{"Origin": {access.URL}, "Authorization": {authorization}}, 101, false, ""},
		"another Origin":            {http.Header{"Origin": {"http://elsewhere.example"}, "Authorization": {authorization}}, 101, false, ""},
		"no Origin":                 {http.Header{"Authorization": {authorization}}, 403, true, ""},
		"an Origin that is no URL":  {http.Header{"Origin": {"elsewhere"}, "Authorization": {authorization}}, 403, true, ""},
		"a token as a sub-protocol": {http.Header{"Origin": {access.URL}, "Sec-Websocket-Protocol": {token + ", base64.binary.k8s.io"}}, 101, false, "base64.binary.k8s.io"},
		"the token alone":           {http.Header{"Origin": {access.URL}, "Sec-Websocket-Protocol": {token}}, 401, false, ""},
		"one sub-protocol":          {http.Header{"Origin": {access.URL}, "Authorization": {authorization}, "Sec-Websocket-Protocol": {"nonsense"}}, 101, false, "nonsense"},
		"two sub-protocols":         {http.Header{"Origin": {access.URL}, "Authorization": {authorization}, "Sec-Websocket-Protocol": {"a, b"}}, 400, true, ""},
		"no token":                  {http.Header{"Origin": {access.URL}}, 403, false, ""}, // as system:anonymous
	} {
		t.Run(name, func(t *testing.T) {
			ws, resp, err := dialer.DialContext(t.Context(), "wss"+strings.TrimPrefix(access.URL, "https")+path+"?watch=true", test.header) //nolint:bodyclose // that is the connection, or bytes in memory
			if resp == nil || resp.StatusCode != test.want {
				t.Fatalf("answer %+v, %v, want %d", resp, err, test.want)
			}
			if err == nil {
				defer ws.Close()
				if got := resp.Header.Get("Sec-Websocket-Protocol") + resp.Header.Get("Sec-Websocket-Extensions"); got != test.protocol {
					t.Errorf("sub-protocol and extensions %q, want %q", got, test.protocol)
				}
				return
			}
			if body, _ := io.ReadAll(resp.Body); (len(body) == 0) != test.silent {
				t.Errorf("body %q", body)
			}
		})
	}
	t.Run("watches", func(t *testing.T) { testWatches(t, access) })
}

// watch opens one of relist's.
func watch(t *testing.T, cfg transport.Config, accept, query string) (transport.Stream, error) {
	t.Helper()
	cfg.OnProblem = func(err error) { t.Errorf("problem %v", err) }
	client, err := transport.NewClient(cfg)
	must.OK(t, err)
	t.Cleanup(client.Close)
	values, err := url.ParseQuery("watch=true&" + query)
	must.OK(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // only spent when a test fails
	t.Cleanup(cancel)
	s, err := client.Watch(ctx, transport.Request{Path: path, Query: values, Accept: accept, Frames: formats(accept)})
	if err == nil {
		t.Cleanup(func() { s.Close() })
	}
	return s, err
}

// formats are what is asked for: JSON unless accept says otherwise.
func formats(accept string) []frames.Format {
	if strings.Contains(accept, "protobuf") {
		return []frames.Format{protobuf.Format{}, json.Format{}}
	}
	return []frames.Format{json.Format{}}
}

// create makes the one object that there is.
func create(t *testing.T, access cluster.Access) {
	t.Helper()
	client, err := access.HTTPClient()
	must.OK(t, err)
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, access.URL+path, strings.NewReader(`{"metadata":{"name":"a"}}`))
	must.OK(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+access.AdminToken)
	resp, err := client.Do(req)
	must.OK(t, err)
	if resp.Body.Close(); resp.StatusCode != http.StatusCreated {
		t.Fatal(resp.Status)
	}
}

func testWatches(t *testing.T, access cluster.Access) {
	create(t, access)
	cfg := access.Config()
	cfg.WatchTransport = transport.WatchWebSocket

	// An end in good order at the timeout, through many pings that are answered.
	pinging := cfg
	pinging.ReadIdleTimeout = 50 * time.Millisecond
	pinging.PingTimeout = 30 * time.Second // a machine that is busy is no connection that is dead
	s, err := watch(t, pinging, "", "timeoutSeconds=2")
	must.OK(t, err)
	frames := 0
	for ; err == nil; frames++ {
		_, err = s.Next()
	}
	if err != io.EOF || frames < 2 { //nolint:errorlint // io.EOF itself is promised
		t.Errorf("%d frames and the end %v, want some and io.EOF", frames-1, err)
	}

	// JSON is text, and protobuf bytes without a length before them.
	s, err = watch(t, cfg, "application/vnd.kubernetes.protobuf,application/json", "")
	must.OK(t, err)
	frame, err := s.Next()
	var event metav1.WatchEvent
	if err != nil || s.MediaType() != "application/vnd.kubernetes.protobuf" || event.Unmarshal(frame.Data) != nil || event.Type != "ADDED" || len(event.Object.Raw) == 0 {
		t.Errorf("%s, %q, %v", s.MediaType(), frame.Data, err)
	}

	// A client certificate instead of a token.
	byCertificate := cfg
	byCertificate.BearerToken = ""
	byCertificate.TLS.CertFile, byCertificate.TLS.KeyFile = access.ClientCertFile, access.ClientKeyFile
	s, err = watch(t, byCertificate, "", "")
	must.OK(t, err)
	if frame, err := s.Next(); err != nil || !strings.HasPrefix(string(frame.Data), `{"type":"ADDED","object":{"kind":"ConfigMap"`) {
		t.Errorf("%q, %v", frame.Data, err)
	}

	// Refusals before the upgrade.
	wrong, powerless := cfg, cfg
	wrong.BearerToken, powerless.BearerToken = "wrong-token", access.PowerlessToken
	for name, test := range map[string]struct {
		cfg   transport.Config
		query string
		is    func(error) bool
	}{
		"401": {wrong, "", apierrors.IsUnauthorized},
		"403": {powerless, "", apierrors.IsForbidden},
		"422": {cfg, "sendInitialEvents=true", apierrors.IsInvalid},
	} {
		_, err := watch(t, test.cfg, "", test.query)
		var status *apierrors.StatusError
		if !errors.As(err, &status) || !test.is(err) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
