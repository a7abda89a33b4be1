package transport

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/yaml"
)

// execCredential is what a program is told, and what it prints:
// https://kubernetes.io/docs/reference/config-api/client-authentication.v1/
type execCredential struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Spec       execSpec    `json:"spec"`
	Status     *execStatus `json:"status,omitzero"`
}

type execSpec struct {
	Cluster     *execCluster `json:"cluster,omitzero"`
	Interactive bool         `json:"interactive"`
}

type execCluster struct {
	Server     string         `json:"server"`
	ServerName string         `json:"tls-server-name,omitzero"`
	Insecure   bool           `json:"insecure-skip-tls-verify,omitzero"`
	CAData     []byte         `json:"certificate-authority-data,omitzero"`
	ProxyURL   string         `json:"proxy-url,omitzero"`
	Config     jsontext.Value `json:"config,omitzero"`
}

type execStatus struct {
	Expires   *time.Time `json:"expirationTimestamp,omitzero"`
	Token     string     `json:"token,omitzero"`
	ClientPEM string     `json:"clientCertificateData,omitzero"`
	KeyPEM    string     `json:"clientKeyData,omitzero"`
}

const execKind = "ExecCredential"

// execInfo is the value of KUBERNETES_EXEC_INFO.
func execInfo(apiVersion string, spec execSpec) (string, error) {
	data, err := json.Marshal(execCredential{APIVersion: apiVersion, Kind: execKind, Spec: spec})
	return string(data), err
}

// execOutcome is what one run of a program has come to.
type execOutcome struct {
	credential credential
	pair       []byte    // the certificate and key of the credential, PEM
	expires    time.Time // zero: not that the program knew
	at         time.Time // when it was had
	err        error
}

// parseExecCredential reads what a program printed. Its errors quote none of it.
func parseExecCredential(data []byte, apiVersion string) (execOutcome, error) {
	var out execOutcome
	var printed execCredential
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] != '{' { // some print YAML
		if converted, err := yaml.YAMLToJSON(text); err == nil && len(converted) > 0 && converted[0] == '{' {
			data = converted
		}
	}
	if err := json.Unmarshal(data, &printed, jsontext.AllowDuplicateNames(true)); err != nil {
		var syntax *jsontext.SyntacticError
		var meaning *json.SemanticError
		switch {
		case len(bytes.TrimSpace(data)) == 0:
			return out, errors.New("it printed nothing")
		case errors.As(err, &syntax):
			return out, fmt.Errorf("it printed no JSON: see byte %d of its output", syntax.ByteOffset)
		case errors.As(err, &meaning):
			return out, fmt.Errorf("it printed an ExecCredential in which %s is not what it should be", meaning.JSONPointer)
		}
		return out, errors.New("it printed no ExecCredential")
	}
	status := printed.Status
	switch {
	case printed.Kind != execKind:
		return out, fmt.Errorf("it printed an object of kind %.50q, want %s", printed.Kind, execKind)
	case printed.APIVersion != apiVersion:
		return out, fmt.Errorf("it printed an ExecCredential of %.50q, but is configured for %q", printed.APIVersion, apiVersion)
	case status == nil:
		return out, errors.New("it printed an ExecCredential without a status")
	case status.Token == "" && status.ClientPEM == "" && status.KeyPEM == "":
		return out, errors.New("it printed an ExecCredential with neither a token nor a client certificate")
	case (status.ClientPEM == "") != (status.KeyPEM == ""):
		return out, errors.New("it printed an ExecCredential with only one of clientCertificateData and clientKeyData")
	}
	if status.Token != "" {
		if err := checkToken(status.Token); err != nil {
			return out, fmt.Errorf("it printed an ExecCredential in which %w", err)
		}
		out.credential.authorization = "Bearer " + status.Token
	}
	if status.ClientPEM != "" {
		pair, err := tls.X509KeyPair([]byte(status.ClientPEM), []byte(status.KeyPEM))
		if err != nil {
			return out, fmt.Errorf("it printed a client certificate that cannot be used: %w", err)
		}
		out.credential.cert, out.pair = &pair, []byte(status.ClientPEM+status.KeyPEM)
	}
	if status.Expires != nil {
		out.expires = *status.Expires
	}
	return out, nil
}
