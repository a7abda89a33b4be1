package transport

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// kubeconfig is the part of one file, or of several merged, that is used, and what
// must not be ignored.
type kubeconfig struct {
	APIVersion     string            `json:"apiVersion"`
	Kind           string            `json:"kind"`
	CurrentContext string            `json:"current-context"`
	Contexts       []kubeconfigEntry `json:"contexts"`
	Clusters       []kubeconfigEntry `json:"clusters"`
	Users          []kubeconfigEntry `json:"users"`
}

// kubeconfigEntry is an entry of any of the three lists; one field is set.
type kubeconfigEntry struct {
	Name    string            `json:"name"`
	Context kubeconfigContext `json:"context"`
	Cluster kubeconfigCluster `json:"cluster"`
	User    kubeconfigUser    `json:"user"`
}

type kubeconfigContext struct {
	Cluster   string `json:"cluster"`
	User      string `json:"user"`
	Namespace string `json:"namespace"`
}

type kubeconfigCluster struct {
	Server        string                `json:"server"`
	CAFile        string                `json:"certificate-authority"`
	CAData        pemData               `json:"certificate-authority-data"`
	Insecure      bool                  `json:"insecure-skip-tls-verify"`
	TLSServerName string                `json:"tls-server-name"`
	ProxyURL      string                `json:"proxy-url"`
	Uncompressed  bool                  `json:"disable-compression"`
	Extensions    []kubeconfigExtension `json:"extensions"`
}

type kubeconfigExtension struct {
	Name      string         `json:"name"`
	Extension jsontext.Value `json:"extension"`
}

type kubeconfigUser struct {
	CertFile     string              `json:"client-certificate"`
	CertData     pemData             `json:"client-certificate-data"`
	KeyFile      string              `json:"client-key"`
	KeyData      pemData             `json:"client-key-data"`
	Token        string              `json:"token"`
	TokenFile    string              `json:"tokenFile"`
	Username     string              `json:"username"`
	Password     string              `json:"password"`
	Exec         *kubeconfigExec     `json:"exec"`
	AuthProvider *authProvider       `json:"auth-provider"`
	As           string              `json:"as"`
	AsUID        string              `json:"as-uid"`
	AsGroups     []string            `json:"as-groups"`
	AsExtra      map[string][]string `json:"as-user-extra"`
}

// decodeKubeconfig reads a file's bytes; dir is what its relative paths start from.
func decodeKubeconfig(data []byte, dir string) (kubeconfig, error) {
	var file kubeconfig
	if err := unmarshalYAML(data, &file); err != nil {
		return file, err
	}
	if file.Kind != "" && file.Kind != "Config" || file.APIVersion != "" && file.APIVersion != "v1" {
		return file, fmt.Errorf("the file is a %q of %q: a kubeconfig is a Config of v1", file.Kind, file.APIVersion)
	}
	for _, list := range []struct {
		name    string
		entries []kubeconfigEntry
	}{{"contexts", file.Contexts}, {"clusters", file.Clusters}, {"users", file.Users}} {
		seen := make(map[string]bool)
		for _, e := range list.entries {
			if seen[e.Name] {
				return file, fmt.Errorf("%s has two entries %q", list.name, e.Name)
			}
			seen[e.Name] = true
		}
	}
	under := func(path *string) {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
	for i := range file.Clusters {
		under(&file.Clusters[i].Cluster.CAFile)
	}
	for i := range file.Users {
		user := &file.Users[i].User
		under(&user.CertFile)
		under(&user.KeyFile)
		under(&user.TokenFile)
		// A name without a separator is one to be found in PATH.
		if e := user.Exec; e != nil && strings.ContainsRune(e.Command, filepath.Separator) {
			under(&e.Command)
		}
	}
	return file, nil
}

// add adds a file that comes later in the list. An entry whose name is there already
// is not used, not even its fields that the other lacks.
func (k *kubeconfig) add(later kubeconfig) {
	if k.CurrentContext == "" {
		k.CurrentContext = later.CurrentContext
	}
	k.Contexts = addEntries(k.Contexts, later.Contexts)
	k.Clusters = addEntries(k.Clusters, later.Clusters)
	k.Users = addEntries(k.Users, later.Users)
}

func addEntries(to, later []kubeconfigEntry) []kubeconfigEntry {
	for _, e := range later {
		if _, ok := find(to, e.Name); !ok {
			to = append(to, e)
		}
	}
	return to
}

func find(entries []kubeconfigEntry, name string) (kubeconfigEntry, bool) {
	i := slices.IndexFunc(entries, func(e kubeconfigEntry) bool { return e.Name == name })
	if i < 0 {
		return kubeconfigEntry{}, false
	}
	return entries[i], true
}

// known lists names for an error, in order.
func known(what string, entries []kubeconfigEntry) string {
	if len(entries) == 0 {
		return "the file has no " + what
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	slices.Sort(names)
	return "known " + what + ": " + strings.Join(names, ", ")
}
