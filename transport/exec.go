package transport

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// ExecConfig is a program that is run to get a credential: it prints an
// ExecCredential, with a token, a client certificate, or both. The credential is used
// until the time that the program says it expires, or until the server refuses it by
// 401; then the program is run again, once, however many requests wait for it, and at
// most once a second.
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
type ExecConfig struct {
	// Command is the program: a path, or a name to be found in PATH.
	Command string

	// Args are its arguments. Env are variables in the form NAME=value, in addition to
	// those of this process and to KUBERNETES_EXEC_INFO, which says what is wanted.
	Args []string
	Env  []string

	// APIVersion is the version of ExecCredential that the program speaks:
	// client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1.
	// If empty, v1.
	APIVersion string

	// InstallHint is said in the error if there is no such program.
	InstallHint string

	// InteractiveMode says whether the program is given the standard input.
	InteractiveMode InteractiveMode

	// ProvideClusterInfo tells the program which server the credential is for, in
	// KUBERNETES_EXEC_INFO, and ClusterConfig (JSON) with it, if there is any.
	ProvideClusterInfo bool
	ClusterConfig      []byte

	// Stderr is where the program's messages go. If nil, to that of this process.
	// An *os.File is given to the program itself.
	Stderr io.Writer
}

// InteractiveMode says whether a program may ask the user something.
type InteractiveMode uint8

const (
	// InteractiveIfAvailable gives the program the standard input if it is a terminal.
	InteractiveIfAvailable InteractiveMode = iota

	// InteractiveNever gives it none.
	InteractiveNever

	// InteractiveAlways makes it an error if the standard input is not a terminal.
	InteractiveAlways
)

// String returns the name that a kubeconfig has for the mode.
func (m InteractiveMode) String() string {
	switch m {
	case InteractiveIfAvailable:
		return "IfAvailable"
	case InteractiveNever:
		return "Never"
	case InteractiveAlways:
		return "Always"
	}
	return "unknown interactive mode"
}

// The versions of ExecCredential that are spoken here.
const (
	execV1      = "client.authentication.k8s.io/v1"
	execV1beta1 = "client.authentication.k8s.io/v1beta1"
)

// check returns the configuration with its defaults.
func (e ExecConfig) check() (ExecConfig, error) {
	if e.APIVersion == "" {
		e.APIVersion = execV1
	}
	if e.Stderr == nil {
		e.Stderr = os.Stderr
	}
	switch {
	case e.Command == "":
		return e, errors.New("the program of Exec has no Command")
	case e.APIVersion != execV1 && e.APIVersion != execV1beta1:
		return e, fmt.Errorf("the program of Exec speaks %q: want %s or %s; a newer release of %s may have it", e.APIVersion, execV1, execV1beta1, e.Command)
	case e.InteractiveMode > InteractiveAlways:
		return e, fmt.Errorf("Exec.InteractiveMode %d is unknown", e.InteractiveMode)
	}
	for i, variable := range e.Env {
		if name, _, ok := strings.Cut(variable, "="); !ok || name == "" {
			return e, fmt.Errorf("Exec.Env[%d] is not of the form NAME=value", i) // it may be a secret
		}
	}
	return e, nil
}
