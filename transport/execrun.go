package transport

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/term"
	"sigs.k8s.io/yaml"
)

const (
	// maxExecOutput is more than any certificate and token need.
	maxExecOutput = 1 << 20

	// execPatience is how long to wait for more output and messages after a program has
	// ended. It may have started another program that writes to them, too.
	execPatience = time.Second
)

// run runs the program once and returns its credential. It is killed when ctx ends; on Unix so are
// the programs that it has started, if it does not talk to the user.
func (p *execPlugin) run(ctx context.Context) (execOutcome, error) {
	out, err := p.output(ctx)
	if ctx.Err() != nil {
		return execOutcome{}, context.Cause(ctx)
	}
	if err != nil {
		return execOutcome{}, fmt.Errorf("run %s to get a credential: %w", p.name(), err)
	}
	outcome, err := parseExecCredential(out, p.cfg.APIVersion)
	if err != nil {
		return outcome, fmt.Errorf("run %s to get a credential: %w", p.name(), err)
	}
	return outcome, nil
}

// name is what errors call the program. They do not quote its arguments, which may hold
// a secret.
func (p *execPlugin) name() string { return filepath.Base(p.cfg.Command) }

// output returns what the program printed on its standard output.
func (p *execPlugin) output(ctx context.Context) ([]byte, error) {
	wanted := p.cfg.Interactive
	interactive := (wanted == nil || *wanted) && p.isTerminal()
	if wanted != nil && *wanted && !interactive {
		return nil, errors.New("it has to ask the user something (interactiveMode is Always), and the standard input is not a terminal")
	}
	info, err := p.info(interactive)
	if err != nil {
		return nil, err
	}
	// A pipe of our own, rather than a Buffer: os/exec waits for a Buffer until all
	// programs are gone that may write to it, even after ctx has ended.
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = read.Close() }()
	cmd := exec.CommandContext(ctx, p.cfg.Command, p.cfg.Args...) // the user names the program
	cmd.Env = append(append(os.Environ(), p.cfg.Env...), "KUBERNETES_EXEC_INFO="+info)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = write, p.cfg.Stderr, execPatience
	if interactive {
		cmd.Stdin = os.Stdin
	} else {
		inGroup(cmd)
	}
	err = cmd.Start()
	_ = write.Close() // the program has it
	if err != nil {
		return nil, p.explain(err)
	}
	disconnect := func() { _ = read.Close() }
	defer context.AfterFunc(ctx, disconnect)()
	var out []byte
	var readErr error
	all := make(chan struct{})
	go func() {
		defer close(all)
		out, readErr = io.ReadAll(io.LimitReader(read, maxExecOutput+1))
		if len(out) > maxExecOutput {
			_ = cmd.Cancel() // it may go on although nobody reads
		}
	}()
	err = cmd.Wait()
	defer time.AfterFunc(execPatience, disconnect).Stop()
	<-all
	switch {
	case len(out) > maxExecOutput:
		return nil, fmt.Errorf("it prints more than %d bytes", maxExecOutput)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return nil, fmt.Errorf("%w (its messages are on the standard error)", err)
	case errors.Is(readErr, os.ErrClosed):
		return out, nil // what the program itself has printed is read
	}
	return out, readErr
}

// explain says what to do about a program that cannot be started.
func (p *execPlugin) explain(err error) error {
	if !errors.Is(err, exec.ErrNotFound) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// A hint may have paragraphs. Control characters of other kinds are taken out, since
	// it is shown on a terminal.
	hint := strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, p.cfg.InstallHint))
	hint = cmp.Or(hint, "install it, or check the command and PATH")
	return fmt.Errorf("%w: %s", err, hint)
}

// info is the value of KUBERNETES_EXEC_INFO.
func (p *execPlugin) info(interactive bool) (string, error) {
	spec := execSpec{Interactive: interactive}
	if p.cfg.ProvideClusterInfo {
		cluster := p.cluster
		ca, err := fileOrData("TLS.CAFile", p.caFile, cluster.CAData)
		if err != nil {
			return "", err
		}
		cluster.CAData, cluster.Config = ca, p.cfg.ClusterConfig
		spec.Cluster = &cluster
	}
	data, err := json.Marshal(execCredential{APIVersion: p.cfg.APIVersion, Kind: execKind, Spec: spec})
	return string(data), err
}

// stdinIsTerminal reports whether somebody can be asked.
func stdinIsTerminal() bool { return term.IsTerminal(int(os.Stdin.Fd())) }

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

type execOutcome struct {
	credential credential
	pair       []byte    // the certificate and key of the credential, PEM
	expires    time.Time // zero: the program has named no time
	at         time.Time // when the run was over
	err        error
	failures   int // runs in a row that have failed, this one included
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
			return out, fmt.Errorf("it printed an ExecCredential in which %s has the wrong type or form", meaning.JSONPointer)
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
