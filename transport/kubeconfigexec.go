package transport

import (
	"errors"
	"fmt"
)

// kubeconfigExec is a program that gives a credential, as a kubeconfig names it.
type kubeconfigExec struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Env     []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"env"`
	APIVersion         string `json:"apiVersion"`
	InstallHint        string `json:"installHint"`
	ProvideClusterInfo bool   `json:"provideClusterInfo"`
	InteractiveMode    string `json:"interactiveMode"`
}

// execExtension is the name of the extension of a cluster that programs are told.
const execExtension = "client.authentication.k8s.io/exec"

// config checks what kubectl checks.
func (e *kubeconfigExec) config(extensions []kubeconfigExtension) (*ExecConfig, error) {
	out := ExecConfig{
		Command:            e.Command,
		Args:               e.Args,
		APIVersion:         e.APIVersion,
		InstallHint:        e.InstallHint,
		ProvideClusterInfo: e.ProvideClusterInfo,
	}
	for _, v := range e.Env {
		if v.Name == "" {
			return nil, errors.New("env has an entry without a name")
		}
		out.Env = append(out.Env, v.Name+"="+v.Value)
	}
	for _, x := range extensions {
		if x.Name == execExtension && e.ProvideClusterInfo {
			out.ClusterConfig = x.Extension
		}
	}
	switch e.InteractiveMode {
	case "IfAvailable":
	case "Never":
		out.InteractiveMode = InteractiveNever
	case "Always":
		out.InteractiveMode = InteractiveAlways
	case "":
		if e.APIVersion == execV1 { // v1beta1 has a default
			return nil, errors.New("interactiveMode is missing, which client.authentication.k8s.io/v1 requires: want Never, IfAvailable or Always")
		}
	default:
		return nil, fmt.Errorf("interactiveMode is %q: want Never, IfAvailable or Always", e.InteractiveMode)
	}
	switch {
	case e.APIVersion == "":
		return nil, fmt.Errorf("apiVersion is missing: want %s or %s", execV1, execV1beta1)
	case e.Command == "":
		return nil, errors.New("command is missing")
	}
	_, err := out.check()
	return &out, err
}
